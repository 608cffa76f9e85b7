"""Targeted PGD: its goals, what it does to them, and that a label is never one."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attacks import ATTACKS, pgd
from attacks.pgd_t import goal_classes, pgd_t
from reports import results
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.condition import Condition, clean
from robustbench_twicing.conditions.threat_model import PROTOCOLS
from robustbench_twicing.data.imagenet import LabelSpace
from robustbench_twicing.errors import BrokenAttackError, UserError
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.models.family import ModelRecord
from robustbench_twicing.seeds import derive_seed
from tests.tiny import PREPROCESSING, Linear, column, convnet, noise, run, table

EPS = Fraction(8, 255)
COUNT = 6
NAMES = [f"{number}.png" for number in range(COUNT)]


def images() -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.rand(COUNT, 3, 8, 8, generator=generator, dtype=torch.float64)


class Fixed(nn.Module):
    """The same logits for every image."""

    logits: Tensor

    def __init__(self, *logits: float) -> None:
        super().__init__()
        self.register_buffer("logits", torch.tensor(logits))

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to logits (N, K)."""
        return self.logits.expand(len(x), -1) + 0 * x.flatten(1).sum(1, keepdim=True)


def goals(model: nn.Module, y: Sequence[int], rule: Any, count: int = 9, seed: int = 0) -> Tensor:
    batch = AttackBatch(
        model, images()[: len(y)].float(), torch.tensor(y), images=NAMES[: len(y)], seed=seed
    )
    return goal_classes(batch, rule, count)


def test_goals_follow_the_clean_logits_without_the_label() -> None:
    model = Fixed(3, 1, 1, 5, 4)
    assert goals(model, [3, 1, 4, 2], "least-likely").tolist() == [[1, 2, 1, 1]]
    assert goals(model, [3, 1, 4, 2], "second").tolist() == [[4, 3, 3, 3]]
    assert goals(model, [3, 0], "top").T.tolist() == [[4, 0, 1, 2], [3, 4, 1, 2]]
    assert goals(model, [3, 0], "top", 2).T.tolist() == [[4, 0], [3, 4]]


def test_random_goals_depend_on_seed_and_image_alone() -> None:
    y = [0, 1, 2, 3, 4, 0]
    wanted = []
    for name, label in zip(NAMES, y, strict=True):
        drawn = derive_seed(0, name, "target") % 4
        wanted.append(drawn + (drawn >= label))
    assert goals(Fixed(*range(5)), y, "random").tolist() == [wanted]
    assert goals(convnet(), y, "random").tolist() == [wanted]
    assert goals(convnet(), y[:2], "random").tolist() == [wanted[:2]]
    assert goals(convnet(), y, "random", seed=1).tolist() != [wanted]


@pytest.mark.parametrize("rule", ["random", "least-likely", "second", "top"])
def test_no_goal_is_the_label(rule: str) -> None:
    for label in range(5):
        assert (goals(convnet(), [label] * COUNT, rule) != label).all()
    assert goals(Fixed(1, 2), [0, 1], rule).tolist() == [[1, 0]]
    with pytest.raises(BrokenAttackError, match="one class"):
        goals(Fixed(1), [0], rule)


@pytest.mark.parametrize("rule", ["random", "least-likely", "second", "top"])
def test_logits_that_no_label_names_are_no_goals(rule: str) -> None:
    """As on ObjectNet, where they stand behind the labels' own."""
    space = LabelSpace("made up", ((10, 11), (20,), (30,)), others_count=True, convention="")
    model = Classifier(Fixed(*range(1000)), PREPROCESSING, ModelRecord("fixed"))
    assert goals(model.answering_in(space), [0, 1, 2, 0, 1, 2], rule).max() <= 2


@pytest.mark.parametrize("protocol", ["pixel", "l2"])
def test_of_two_classes_it_is_untargeted_pgd(protocol: str) -> None:
    model, threat = Linear(2).double(), PROTOCOLS[protocol].threat
    x, y = images(), torch.tensor([0, 1] * 3)
    constants: dict[str, Any] = {"eps": float(EPS), "threat": threat, "random_start": False}
    untargeted = pgd(model, x, y, **constants)
    for rule in ("random", "least-likely", "second", "top"):
        x_adv = pgd_t(model, x, y, goal=rule, **constants)
        if protocol == "pixel":
            assert torch.equal(x_adv, untargeted)
        else:  # the length of the same direction is rounded otherwise
            assert torch.allclose(x_adv, untargeted, rtol=0, atol=1e-9)


def test_the_probability_of_the_goal_rises() -> None:
    model = Linear(3).double()
    x = images() / 2 + 0.25
    y = torch.zeros(COUNT, dtype=torch.int64)
    goal = torch.where(model(x)[:, 1] > model(x)[:, 2], 1, 2)
    x_adv = pgd_t(model, x, y, eps=float(EPS), goal="second", random_start=False)
    with torch.no_grad():
        before, after = model(x).log_softmax(1), model(x_adv).log_softmax(1)
    rows = torch.arange(COUNT)
    assert (after[rows, goal] > before[rows, goal]).all()


def condition(protocol: str = "pixel", eps: Fraction = EPS, **settings: Any) -> Condition:
    return ATTACKS["pgd-t"].condition(eps, protocol, {"steps": 4, **settings})


def swept(model: nn.Module, y: Tensor, **settings: Any) -> tuple[Tensor, Tensor]:
    """Adversarial images and their goals."""
    asked = condition(**settings)
    assert asked.sweep is not None
    batch = AttackBatch(model, images().float(), y, images=NAMES)
    (x_adv,) = asked.sweep(batch, [EPS], threat=asked.threat, settings=asked.settings)
    assert batch.goal is not None
    return x_adv, batch.goal


def test_of_several_goals_the_one_counts_that_fools_and_then_hurts_most() -> None:
    """Each goal by itself starts at the same point, so the best of them is the result."""
    model = convnet()
    with torch.no_grad():
        y = model(images().float()).argmax(1)
    x_adv, kept = swept(model, y, goal="top")
    alone = [swept_towards(model, y, goal) for goal in goals(model, y.tolist(), "top")]
    with torch.no_grad():
        losses = torch.stack(
            [
                nn.functional.cross_entropy(model(x).double(), y, reduction="none")
                + 1e6 * (model(x).argmax(1) != y)
                for x in alone
            ]
        )
    best = losses.argmax(0)
    rows = torch.arange(COUNT)
    assert torch.equal(x_adv, torch.stack(alone)[best, rows])
    assert torch.equal(kept, goals(model, y.tolist(), "top")[best, rows])
    assert len(set(best.tolist())) > 1


def swept_towards(model: nn.Module, y: Tensor, goal: Tensor) -> Tensor:
    """Descent towards given goals, from the starts that the sweep draws."""
    asked = condition()
    batch = AttackBatch(model, images().float(), y, images=NAMES)
    drawn_with = {name: asked.settings[name] for name in ("steps", "rel_step", "random_start")}
    generators = batch.generators("pgd", drawn_with, EPS)
    return pgd(
        model,
        batch.x,
        y,
        eps=float(EPS),
        steps=4,
        rel_step=-0.15,
        target=goal,
        generator=generators,
    )


def test_of_several_restarts_the_one_nearest_to_the_goal_counts() -> None:
    model, y = convnet(), torch.zeros(COUNT, dtype=torch.int64)
    losses = []
    for restarts in (1, 4):
        x_adv, goal = swept(model, y, restarts=restarts, steps=1)
        with torch.no_grad():
            logits = model(x_adv).double()
        hit = logits.argmax(1) == goal
        loss = nn.functional.cross_entropy(logits, goal, reduction="none")
        losses.append(loss - 1e6 * hit)
    assert (losses[1] <= losses[0]).all()
    assert (losses[1] < losses[0]).any()


def test_passes_and_flags_follow_from_the_constants() -> None:
    assert condition().passes == (4 + 1, 4)
    assert condition(restarts=2).passes == (2 * 5 + 1, 2 * 4)
    assert condition(goal="top").passes == (9 * 5 + 1, 9 * 4)
    assert condition(goal="top", goals=3, restarts=2).passes == (3 * 11 + 1, 3 * 8)
    assert condition(goal="top").about.few_classes == {"fewer-goals-than-9": 10}
    assert condition(goal="second").about.few_classes == {}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"goals": 3}, "goal random is one class; goals counts those of goal=top alone"),
        ({"restarts": 2, "random_start": False}, "restarts without a random start"),
        ({"protocol": "paper"}, "pgd-t cannot follow protocol paper; it knows pixel, l2"),
    ],
)
def test_what_would_do_nothing_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        condition(**settings)


def aimed_at(goal_of: Callable[[Tensor], Tensor]) -> Condition:
    """A targeted attack that changes nothing, with goals made from the labels."""

    def sweep(batch: AttackBatch, budgets: Sequence[Fraction], **_: Any) -> Iterator[Tensor]:
        for _eps in budgets:
            batch.aim(goal_of(batch.y))
            yield batch.x.clone()

    return replace(condition(), id="aimed@8/255", attack="aimed", sweep=sweep)


@pytest.mark.parametrize(
    ("goal_of", "message"),
    [
        (lambda y: y, "its goal is the true class in 4 of 4 images, first image0.png"),
        (
            lambda y: (y + 1)[:1],
            r"shape \(1,\); they must be class indices, torch.int64 of shape \(4,\)",
        ),
        (lambda y: y + 1.0, "torch.float32"),
    ],
)
def test_a_label_as_goal_is_an_error_row(
    goal_of: Callable[[Tensor], Tensor], message: str, tmp_path: Path
) -> None:
    done = run(convnet(), noise(4), [clean(), aimed_at(goal_of)], tmp_path)
    assert column(done, "status")[:2] == ["ok", "error"]
    records = done.records()
    (reason,) = set(records.loc[records["condition"] == "aimed@8/255", "message"])
    assert re.search(message, reason)


def worst_and_all(done: Run) -> dict[str, dict[str, Any]]:
    """The rows of results.csv by condition."""
    listed: Any = results(done.folder).to_dict("records")
    return {row["condition"]: row for row in listed}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    conditions = [clean(), *(condition(eps=eps) for eps in (Fraction(0), EPS))]
    conditions += [ATTACKS["noise"].condition(EPS)]
    done = run(convnet(), noise(16), conditions, tmp_path_factory.mktemp("run"))
    return worst_and_all(done), done.records()


def test_hits_are_counted_over_all_images_and_over_those_right_before(
    rows: tuple[Any, Any],
) -> None:
    csv_rows, records = rows
    records = records[records["condition"] == "pgd-t@8/255"]
    hit, before = records["prediction"] == records["goal"], records["clean_rank"] == 0
    assert records["goal"].notna().all()
    assert (records["goal"] != records["target"]).all()
    row = csv_rows["pgd-t@8/255"]
    assert row["goal_hit"] == pytest.approx(100 * hit.mean())
    assert row["goal_hit_right"] == pytest.approx(100 * hit[before].mean())
    assert 0 < row["goal_hit"] <= 100 - row["top1"]
    assert "goal=random" not in row["flags"]


def test_goals_are_those_of_any_budget_and_other_rows_have_none(rows: tuple[Any, Any]) -> None:
    csv_rows, records = rows
    by_condition = {name: group.set_index("image") for name, group in records.groupby("condition")}
    assert by_condition["pgd-t@0/255"]["goal"].equals(by_condition["pgd-t@8/255"]["goal"])
    at_zero = by_condition["pgd-t@0/255"]
    assert csv_rows["pgd-t@0/255"]["goal_hit_right"] == 0
    assert csv_rows["pgd-t@0/255"]["goal_hit"] == pytest.approx(
        100 * (at_zero["clean_prediction"] == at_zero["goal"]).mean()
    )
    for name in ("clean", "noise@8/255"):
        assert by_condition[name]["goal"].isna().all()
        assert csv_rows[name]["goal_hit"] != csv_rows[name]["goal_hit"]


def test_its_wrong_images_count_in_the_worst_case(rows: tuple[Any, Any]) -> None:
    csv_rows, records = rows
    ranks = records.pivot_table(index="image", columns="condition", values="rank")
    right = (ranks[["clean", "noise@8/255", "pgd-t@8/255"]] == 0).all(axis=1)
    assert csv_rows["worst@8/255"]["top1"] == pytest.approx(100 * right.mean())
    assert csv_rows["worst@8/255"]["goal_hit"] != csv_rows["worst@8/255"]["goal_hit"]


def test_few_classes_cut_the_goals_and_say_so(tmp_path: Path) -> None:
    conditions = [clean(), condition(goal="top"), condition(goal="top", goals=4, eps=2 * EPS)]
    done = run(convnet(), noise(3), conditions, tmp_path)
    csv_rows = table(done)
    assert "fewer-goals-than-9" in csv_rows["pgd-t@8/255"]["flags"].split(";")
    assert csv_rows["pgd-t@8/255"]["n_forward"] == 3 * (4 * 5 + 1) + 1  # and a look at the network
    assert "fewer-goals" not in csv_rows["pgd-t@16/255"]["flags"]


def test_survivors_mode_attacks_what_is_left_and_inherits_goals(tmp_path: Path) -> None:
    asked = [clean(), ATTACKS["fgsm"].condition(EPS), condition(), condition(eps=2 * EPS)]
    full, left = (
        run(convnet(), noise(16), asked, tmp_path / str(mode), survivors=mode, batch_size=1)
        for mode in (False, True)
    )
    of_full, of_left = (worst_and_all(done)["worst@16/255"]["top1"] for done in (full, left))
    assert of_full == of_left
    records = left.records()
    inherited = records[records["status"] == "inherited"]
    of_targeted = inherited["witness"].str.startswith("pgd-t@")
    assert inherited["goal"].notna().equals(of_targeted)
    assert table(left)["pgd-t@8/255"]["goal_hit"] != table(left)["pgd-t@8/255"]["goal_hit"]
