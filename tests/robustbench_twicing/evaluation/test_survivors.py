"""Survivors mode gives the worst case of a full run, and attacks only what is left of it."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from attacks import ATTACKS
from attacks.declaration import sweep_of
from reports import merge
from robustbench_twicing import evaluate
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.condition import Condition, clean, condition_id
from robustbench_twicing.conditions.threat_model import PIXEL
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.options import Shard
from robustbench_twicing.evaluation.rows import WITNESSED, Scores
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.evaluation.survivors import Fooled, in_ascending_cost
from robustbench_twicing.models.family import ModelRecord
from tests.tiny import (
    PREPROCESSING,
    ConvNet,
    convnet,
    greys,
    halfspace,
    noise,
    quick_conditions,
    run,
    table,
    text,
)

IMAGES = 16
BUDGETS = [Fraction(n, 255) for n in (4, 32, 96)]
CONDITIONS = quick_conditions("clean", "pgd", "fgsm", "noise", "spsa", budgets=BUDGETS)


class Exact(ConvNet):
    """Computes in float64, so that an image's logits are those that it has alone."""

    def __init__(self) -> None:
        super().__init__()
        self.double()

    def forward(self, x: Tensor) -> Tensor:
        """Network input (N, 3, H, W) to logits (N, classes)."""
        return super().forward(x.double()).float()


def exact() -> Classifier:
    return Classifier(Exact(), PREPROCESSING, ModelRecord("exact"))


def labelled() -> Dataset:
    """Noise, most of it with the network's own answers as labels."""
    data = noise(IMAGES)
    answers = evaluate(exact(), data, "clean").records()["prediction"].tolist()
    labels = [label if i % 5 == 0 else int(answers[i]) for i, label in enumerate(data.labels)]
    return replace(data, labels=tuple(labels))


DATA = labelled()


def attack(out: Path, *, survivors: bool = True, **options: Any) -> Run:
    settings = {"batch_size": 1, "score_8bit": "all", "survivors": survivors, **options}
    return run(exact(), DATA, CONDITIONS, out, **settings)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return attack(tmp_path_factory.mktemp("full") / "run", survivors=False)


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run in survivors mode."""
    return attack(tmp_path_factory.mktemp("left") / "run")


def worst(records: pd.DataFrame) -> dict[Fraction, list[bool]]:
    """Per budget, whether each image is right on clean pixels and in all rows up to the budget."""
    eps = {one.id: one.eps for one in CONDITIONS}
    scored = records[records["status"] == "ok"]
    budgets = scored["condition"].map(eps)
    wrong = {
        budget: set(scored["index"][(budgets <= budget) & (scored["rank"] > 0)])
        for budget in BUDGETS
    }
    return {budget: [i not in wrong[budget] for i in range(IMAGES)] for budget in BUDGETS}


def test_every_image_of_the_worst_case_is_that_of_a_full_run(full: Run, left: Run) -> None:
    wanted = worst(full.records())
    assert worst(left.records()) == wanted
    counts = [sum(wanted[budget]) for budget in BUDGETS]
    assert IMAGES > counts[0] > counts[1] > counts[2]


def test_those_that_are_fooled_are_not_attacked_and_carry_the_witness(left: Run) -> None:
    records = left.records()
    eps = {one.id: one.eps for one in CONDITIONS}
    rows = {(row["condition"], row["index"]): row for row in records.to_dict("records")}
    inherited = records[records["status"] == "inherited"]
    assert len(inherited) > IMAGES
    for row in inherited.to_dict("records"):
        witness = rows[row["witness"], row["index"]]
        assert witness["status"] == "ok"
        assert witness["rank"] > 0
        assert eps[row["witness"]] <= eps[row["condition"]]
        for name in ("prediction", "rank", "loss", "linf", "l2", "l0", "rank_8bit"):
            assert row[name] == witness[name], name


def test_rows_that_are_there_are_those_of_a_full_run(full: Run, left: Run) -> None:
    records = left.records()
    attacked = records[records["status"] == "ok"]
    place = ["condition", "index"]
    wanted = full.records().set_index(place).loc[attacked.set_index(place).index].reset_index()
    assert text(attacked[wanted.columns]) == text(wanted)


def test_a_condition_with_inherited_rows_has_no_accuracy(left: Run) -> None:
    rows = table(left)
    assert rows["clean"]["status"] == "ok"
    for condition in CONDITIONS[1:]:
        row = rows[condition.id]
        assert row["status"] == "survivors"
        assert pd.isna(row["top1"])
        assert row["n_attacked"] < IMAGES


def cost(done: Run) -> int:
    return sum(row["n_forward"] + row["n_backward"] for row in table(done).values())


def test_it_costs_less(full: Run, left: Run) -> None:
    assert cost(left) < cost(full)


def test_attacks_follow_in_ascending_cost_and_budgets() -> None:
    unknown = [replace(one, attack="own", passes=None) for one in CONDITIONS[-3:]]
    order = [one.id for one in in_ascending_cost([*unknown, *CONDITIONS[::-1]])]
    names = list(dict.fromkeys(name.partition("@")[0] for name in order[:-3]))
    assert names == ["noise", "clean", "fgsm", "pgd", "spsa"]
    assert order[-3:] == [condition_id("spsa", eps) for eps in BUDGETS]


def test_two_shards_and_a_part_that_is_gone(left: Run, tmp_path: Path) -> None:
    out = tmp_path / "run"
    attack(out, shard=Shard(2, 2))
    done = attack(out, shard=Shard(1, 2))
    assert text(done.records()) == text(left.records())
    next(out.rglob("part-000003.parquet")).unlink()
    assert text(attack(out).records()) == text(left.records())


def test_larger_batches_of_a_network_in_float64_have_the_same_worst_case(
    full: Run, tmp_path: Path
) -> None:
    records = attack(tmp_path / "run", batch_size=5).records()
    assert worst(records) == worst(full.records())


def test_it_is_continued_in_its_own_mode_alone(full: Run, left: Run) -> None:
    for done, mode in ((full, True), (left, False)):
        with pytest.raises(UserError, match=r"mode is \w+ there and \w+ here; .* --survivors"):
            attack(done.folder.path, survivors=mode)


def test_one_label_is_not_of_both_modes(full: Run, left: Run) -> None:
    with pytest.raises(UserError, match=r"is two things: mode is full in .* and survivors in"):
        merge([full.folder, left.folder])


def own(function: Callable[..., Tensor], eps: Fraction, cost: tuple[int, int] | None) -> Condition:
    sweep = sweep_of(function, "own")
    return Condition(condition_id("own", eps), "own", eps, sweep=sweep, passes=cost)


def test_no_sweep_is_started_where_nothing_is_left(tmp_path: Path) -> None:
    """One image is wrong before, the other falls to FGSM."""

    def never(model: nn.Module, x: Tensor, y: Tensor, *, eps: float) -> Tensor:
        raise AssertionError("attacked")

    conditions = [
        clean(),
        own(never, Fraction(8, 255), None),
        *quick_conditions("fgsm", budgets=[Fraction(8, 255)]),
    ]
    done = run(halfspace(), greys([130, 200], [1, 0]), conditions, tmp_path / "run", survivors=True)
    assert table(done)["own@8/255"]["n_forward"] == 0
    rows = done.records().query("condition == 'own@8/255'")
    assert rows["status"].tolist() == ["inherited", "inherited"]
    assert rows["witness"].tolist() == ["fgsm@8/255", "clean"]


def test_an_error_is_no_witness_and_is_tried_again(tmp_path: Path) -> None:
    broken = [True]

    def sometimes(model: nn.Module, x: Tensor, y: Tensor, *, eps: float) -> Tensor:
        if broken[0]:
            raise ConnectionError("away")
        return (x - eps).clamp(0, 1)

    conditions = [
        clean(),
        own(sometimes, Fraction(8, 255), (0, 0)),
        *quick_conditions("fgsm", budgets=[Fraction(8, 255)]),
    ]
    data = greys([130, 200, 100], [1, 1, 1])
    out = tmp_path / "run"
    before = run(halfspace(), data, conditions, out, survivors=True).records()
    assert before["status"].tolist() == ["ok", "error", "ok"] * 2 + ["ok", "inherited", "inherited"]
    broken[0] = False
    after = run(halfspace(), data, conditions, out, survivors=True).records()
    assert after["status"].tolist() == ["ok", "ok", "ok"] * 2 + ["ok", "inherited", "inherited"]
    assert after["rank"][after["condition"] == "own@8/255"].tolist() == [1, 0, 1]
    assert text(after, without="own@8/255") == text(before, without="own@8/255")


class Random(ConvNet):
    """Draws random numbers."""

    def forward(self, x: Tensor) -> Tensor:
        """Network input to logits."""
        return super().forward(x) + torch.rand(len(x), 5)


def test_a_network_that_draws_random_numbers_is_refused(tmp_path: Path) -> None:
    model = Classifier(Random(), PREPROCESSING, ModelRecord("random"))
    with pytest.raises(UserError, match=r"not-deterministic.*leave --survivors out"):
        run(model, noise(4), CONDITIONS[:2], tmp_path / "run", survivors=True)
    assert not (tmp_path / "run").exists()


def test_memory_that_runs_out_halves_the_batch(left: Run, tmp_path: Path) -> None:
    class Small(Exact):
        def forward(self, x: Tensor) -> Tensor:
            if len(x) > 5:
                raise torch.OutOfMemoryError
            return super().forward(x)

    model = Classifier(Small(), PREPROCESSING, ModelRecord("exact"))
    done = run(model, DATA, CONDITIONS, tmp_path / "run", batch_size=8, survivors=True)
    assert any("batch-halved" in row["flags"] for row in table(done).values())
    assert worst(done.records()) == worst(left.records())


def test_some_images_of_a_batch_have_its_logits_and_gradient() -> None:
    model, x = convnet(), torch.rand(4, 3, 8, 8)
    whole = AttackBatch(model, x, torch.arange(4), images=list("abcd"), keep_graph=True)
    gradient = whole.gradient(PIXEL)
    part = whole.subset([1, 3])
    assert torch.equal(part.x, x[[1, 3]])
    assert part.y.tolist() == [1, 3]
    assert part.images == ("b", "d")
    assert torch.equal(part.logits, whole.logits[[1, 3]])
    assert torch.equal(part.gradient(PIXEL), gradient[[1, 3]])
    assert whole.subset(range(4)) is whole
    part.logits.zero_()
    assert part.put_back() == ["the clean logits in place"]
    assert whole.put_back() == []


def test_another_librarys_attack_is_given_what_is_left() -> None:
    names = ["clean", "torchattacks:PGD@32/255", "fgsm@32/255"]
    records = evaluate(exact(), DATA, names, survivors=True).records()
    rows = {name: records[records["condition"] == name] for name in names}
    stands = rows["fgsm@32/255"]["status"].eq("ok") & rows["fgsm@32/255"]["rank"].eq(0)
    attacked = rows["torchattacks:PGD@32/255"]["status"].eq("ok")
    assert attacked.tolist() == stands.tolist()
    assert 0 < attacked.sum() < IMAGES


def test_an_image_is_fooled_from_its_radius_on() -> None:
    """Of an attack without a budget, which attacks all that is right before."""
    scores = Scores(torch.tensor([0, 0]), torch.tensor([0, 1]), torch.zeros(2))
    fooled = Fooled(SimpleNamespace(scores=scores), "clean")  # type: ignore[arg-type]
    condition = ATTACKS["fmn"].condition()
    assert fooled.survivors(condition.eps) == [0]
    row = dict.fromkeys(WITNESSED, 1) | {"status": "ok", "rank": 3, "radius": 3 / 255}
    fooled.add(condition, 0, row)
    assert fooled.survivors(Fraction(2, 255)) == [0]
    assert fooled.survivors(Fraction(4, 255)) == []
    assert fooled.witnesses[0]["witness"] == "radius/fmn"
