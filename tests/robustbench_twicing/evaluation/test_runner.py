"""The loop: counts over images, whatever the batch size."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

import robustbench_twicing
from attacks import ATTACKS, pgd
from robustbench_twicing import evaluate
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.condition import BACKWARD_COST, clean
from robustbench_twicing.data.loader import pixels_hash
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.options import Shard
from robustbench_twicing.evaluation.progress import Step
from robustbench_twicing.evaluation.rows import score
from robustbench_twicing.evaluation.runner import Options, evaluate_models, units
from robustbench_twicing.evaluation.tasks import make_task
from robustbench_twicing.models.family import ModelRecord
from robustbench_twicing.records.schema import Status
from tests.tiny import (
    PREPROCESSING,
    ConvNet,
    column,
    convnet,
    greys,
    halfspace,
    noise,
    quick_conditions,
    run,
    table,
    text,
)

BUDGETS = [Fraction(n, 255) for n in (0, 1, 4, 16)]


@pytest.mark.parametrize("batch_size", [1, 3, 4, 11, 64])
def test_accuracy_is_a_count_over_images_not_a_mean_of_batch_means(
    batch_size: int, tmp_path: Path
) -> None:
    data = greys([200] * 11, [1] * 8 + [0] * 3)
    done = run(halfspace(), data, [clean()], tmp_path / "run", batch_size=batch_size)
    row = table(done)["clean"]
    assert row["top1"] == 100 * 8 / 11
    assert row["n_images"] == 11
    assert row["status"] == "ok"


@pytest.mark.parametrize("attack", ["fgsm", "pgd"])
@pytest.mark.parametrize("batch_size", [3, 64])
def test_robust_accuracy_is_what_the_margins_say(
    attack: str, batch_size: int, tmp_path: Path
) -> None:
    """An image of level 127.5 + n/2 keeps its class under a budget of e exactly when n > 2e."""
    odd = [1, 3, 7, 15, 31]
    data = greys(
        [127 - n // 2 for n in odd] + [128 + n // 2 for n in odd] + [255], [0] * 5 + [1] * 5 + [0]
    )
    conditions = [clean(), *(ATTACKS[attack].condition(eps) for eps in BUDGETS)]
    rows = table(run(halfspace(), data, conditions, tmp_path / "run", batch_size=batch_size))
    for eps in (0, 1, 4, 16):
        row = rows[f"{attack}@{eps}/255"]
        robust = 2 * sum(n > 2 * eps for n in odd)
        assert row["robust_top1"] == 100 * robust / 11, eps
        assert row["linf_255_max"] == pytest.approx(eps, abs=1e-4)
    assert rows["clean"]["top1"] == rows["clean"]["robust_top1"] == 100 * 10 / 11


def test_an_image_that_was_wrong_before_is_never_robust(tmp_path: Path) -> None:
    """An attack towards the true class makes it right: accuracy rises, robust accuracy does not."""
    data = greys([120, 136], [1, 1])
    helped = {"help@16/255": lambda model, x, y, *, generator: x + 16 / 255}
    done = evaluate(halfspace(), data, {"clean": None, **helped}, out=tmp_path / "run")
    assert column(done, "top1") == [50, 100]
    assert column(done, "robust_top1") == [50, 50]


def test_records_hold_the_facts_of_each_image(tmp_path: Path) -> None:
    model, data = convnet(), noise(7)
    done = run(model, data, quick_conditions("clean", "fgsm"), tmp_path / "run", batch_size=3)
    records = done.records()
    assert len(records) == 14
    x = torch.stack(
        [torch.from_numpy(data.pixels(n, PREPROCESSING)).permute(2, 0, 1) for n in range(7)]
    ).float()
    scores = score(model(x / 255), torch.tensor(data.labels))
    for name, rows in records.groupby("condition", observed=True):
        assert rows["index"].tolist() == list(range(7))
        assert rows["image"].tolist() == list(data.ids)
        assert rows["target"].tolist() == list(data.labels)
        assert rows["clean_prediction"].tolist() == scores.prediction.tolist()
        assert rows["clean_rank"].tolist() == scores.rank.tolist()
        assert rows["clean_loss"].tolist() == pytest.approx(scores.loss.tolist(), rel=1e-5)
        assert set(rows["status"]) == {Status.OK}
        hashes = [pixels_hash(data.pixels(n, PREPROCESSING)) for n in range(7)]
        assert rows["pixels_sha256"].tolist() == hashes
        if name == "clean":
            assert rows["prediction"].tolist() == rows["clean_prediction"].tolist()
            assert rows["linf"].tolist() == [0] * 7
        else:
            assert rows["linf"].tolist() == pytest.approx([4 / 255] * 7, abs=1e-6)
            assert (rows["loss"] >= rows["clean_loss"]).all()


@pytest.mark.parametrize("attack", ["fgsm", "pgd", "spsa", "noise"])
def test_no_budget_gives_the_clean_row(attack: str, tmp_path: Path) -> None:
    conditions = [clean(), *quick_conditions(attack, budgets=[Fraction(0)])]
    records = run(convnet(), noise(7), conditions, tmp_path / "run", batch_size=4).records()
    rows = [records[records["condition"] == each.id] for each in conditions]
    plain, attacked = (text(each.drop(columns="condition").assign(condition="")) for each in rows)
    assert plain == attacked


def test_the_python_interface_takes_functions(tmp_path: Path) -> None:
    conditions: dict[str, Any] = {"clean": None, "pgd@4/255": partial(pgd, eps=4 / 255, steps=3)}
    done = evaluate(convnet(), noise(7), conditions, out=tmp_path / "run", batch_size=3)
    again = evaluate(convnet(), noise(7), conditions, batch_size=3)
    assert done.complete
    assert column(done, "status") == ["ok", "ok"]
    assert text(done.records()) == text(again.records())
    assert evaluate is robustbench_twicing.evaluate
    other = evaluate(convnet(), noise(7), conditions, batch_size=3, seed=1)
    loss = [each.records()["loss"].tolist() for each in (done, other)]
    assert loss[0] != loss[1]


def test_a_label_may_be_given(tmp_path: Path) -> None:
    done = evaluate(halfspace(), greys([1], [0]), {"clean": None}, label="mine [x]")
    assert done.records()["label"].tolist() == ["mine [x]"]
    assert column(done, "model") == ["halfspace"]


def test_two_models_go_into_one_run(tmp_path: Path) -> None:
    models = {"a": convnet(0), "b": convnet(1)}
    done = evaluate_models(
        models,
        [make_task(noise(7), quick_conditions("clean", "pgd"))],
        out=tmp_path / "run",
        options=Options(),
    )
    records = done.records()
    assert records.groupby("label", sort=False).size().to_dict() == {"a": 14, "b": 14}
    alone = evaluate_models(
        {"b": convnet(1)},
        [make_task(noise(7), quick_conditions("clean", "pgd"))],
        out=tmp_path / "alone",
        options=Options(),
    )
    assert text(records[records["label"] == "b"]) == text(alone.records())


def test_a_model_in_train_mode_is_evaluated_in_eval_mode_and_given_back(tmp_path: Path) -> None:
    network = ConvNet()
    model = Classifier(network, PREPROCESSING, ModelRecord("net"))
    conditions = quick_conditions("clean", "fgsm", "pgd", "spsa")
    wanted = run(model, noise(7), conditions, tmp_path / "eval", batch_size=3).records()
    model.train()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    found = run(model, noise(7), conditions, tmp_path / "train", batch_size=3).records()
    assert text(wanted) == text(found)
    assert all(module.training for module in model.modules())
    assert all(torch.equal(network.state_dict()[name], before[name]) for name in before)


def test_labels_beyond_the_models_classes_are_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="halfspace has 2 classes, tiny has labels up to 7;"):
        run(halfspace(), greys([1, 2], [0, 7]), [clean()], tmp_path / "run")
    ten = replace(greys([1, 2], [0, 1]), num_classes=10)
    with pytest.raises(UserError, match="halfspace has 2 classes, tiny needs 10;"):
        run(halfspace(), ten, [clean()], tmp_path / "run")
    assert not (tmp_path / "run").exists(), "the right model could not be evaluated there"


def test_a_model_whose_clean_logits_are_no_numbers_is_the_users_mistake(tmp_path: Path) -> None:
    network = ConvNet()
    network.head.weight.data.fill_(float("nan"))
    model = Classifier(network, PREPROCESSING, ModelRecord("net", checkpoint="net.pth"))
    with pytest.raises(UserError, match=r"not finite.* on clean images; .* weights \(net.pth\)"):
        run(model, noise(2), [clean()], tmp_path / "run")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "--batch-size 0 is not a positive number"),
        ({"on_bad_image": "ignore"}, "--on-bad-image 'ignore' is unknown. Known: stop, skip"),
        ({"device": "tpu"}, "--device 'tpu' is unknown"),
    ],
)
def test_bad_options_say_what_is_wrong(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        run(halfspace(), greys([1], [0]), [clean()], tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_no_condition_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no condition is given"):
        run(halfspace(), greys([1], [0]), [], tmp_path / "run")


@pytest.mark.parametrize("done_before", [[], [1], [0, 1, 2]])
def test_what_is_reported_adds_up_to_the_work(done_before: Sequence[int], tmp_path: Path) -> None:
    conditions = quick_conditions("clean", "fgsm", "pgd")
    data, out = noise(7), tmp_path / "run"
    for part in done_before:
        run(convnet(), data, conditions, out, batch_size=3, shard=Shard(part + 1, 3))
    steps: list[Step] = []
    evaluate_models(
        {"convnet": convnet()},
        [make_task(data, conditions)],
        out=out,
        options=Options(batch_size=3),
        report=steps.append,
    )
    resumed = [step for step in steps if step.resumed]
    fresh = [step for step in steps if not step.resumed]
    assert sum(step.images for step in resumed) == sum([3, 3, 1][part] for part in done_before)
    assert sum(step.images for step in resumed + fresh) == 7
    assert sum(step.units for step in resumed + fresh) == 7 * units(conditions)
    assert units(conditions) == 1 + (1 + BACKWARD_COST) + (4 + 3 * BACKWARD_COST)
