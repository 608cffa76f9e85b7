"""Several right labels an image: what is told of right and wrong follows the best placed one."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import timm
import torch
from timm.data import RealLabelsImagenet

from attacks import corruption_condition
from attacks.corruptions.folder import Recipe, write_folder
from attacks.corruptions.layout import class_and_stem
from reports import merge, results
from reports.exports.images import save_images
from reports.statistics.comparison import compare
from robustbench_twicing.conditions.condition import Condition, clean
from robustbench_twicing.data.dataset import Dataset, limit_dataset
from robustbench_twicing.data.imagenet import subset_indices, wnids
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.checks.input_conventions import convention_flags
from robustbench_twicing.evaluation.class_subsets import count_images, right_positions
from robustbench_twicing.evaluation.rows import right_in_draws, score
from robustbench_twicing.evaluation.runner import Options, Run, evaluate_models
from robustbench_twicing.evaluation.tasks import make_task, with_clean_subsets
from tests.palette import PALETTE, SIDE, palette, subset_folders, write
from tests.tiny import convnet, noise, quick_conditions, several

JUDGE: Any = RealLabelsImagenet
IMAGES = 300
REAL = Path(timm.__file__).parent / "data" / "_info" / "imagenet_real_labels.json"
"""The reassessed labels as timm ships them."""


class Made(NamedTuple):
    """A run over the first images under the reassessed labels, and what is known beforehand."""

    run: Run
    data: Dataset
    shown: dict[str, int]
    real: dict[str, list[int]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Two images in three show one of their right classes, the others any class at all."""
    root = tmp_path_factory.mktemp("real")
    draw = np.random.default_rng(0)
    labels = json.loads(REAL.read_text())[:IMAGES]
    real = {f"ILSVRC2012_val_{number:08d}.png": right for number, right in enumerate(labels, 1)}
    shown = {
        name: int(draw.choice(right))
        if right and draw.random() < 2 / 3
        else int(draw.integers(1000))
        for name, right in real.items()
    }
    data = open_dataset(write(root / "val", shown), labels=REAL, labels_superset=True)
    return Made(evaluate(data, root / "run"), data, shown, real)


def evaluate(data: Dataset, out: Path, label: str = "palette") -> Run:
    options = Options(batch_size=128)
    return evaluate_models(
        {label: palette()}, [make_task(data, [clean()])], out=out, options=options
    )


def paired(first: Run, second: Run, *, intersect: bool) -> None:
    runs = merge([first.folder, second.folder])
    compare(runs, results(runs), intersect=intersect)


def logits_of(made: Made, names: list[str]) -> torch.Tensor:
    """The palette's logits of flat pictures."""
    colours = torch.tensor(PALETTE[[made.shown[name] for name in names]]) / 255
    pixels = colours.float()[:, :, None, None].expand(-1, -1, SIDE, SIDE)
    logits: torch.Tensor = palette()(pixels).detach()
    return logits


def test_accuracy_is_that_of_timm(made: Made, tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text(json.dumps(list(made.real.values())))
    names = [name.replace(".png", ".JPEG") for name in made.real]
    judge: Any = JUDGE(names, tmp_path / "real.json")
    judge.add_result(logits_of(made, list(made.real)))
    (row,) = results(made.run.folder).to_dict("records")
    assert row["n_images"] == sum(map(bool, made.real.values())) < IMAGES
    assert row["top1"] == pytest.approx(judge.get_accuracy(1), abs=1e-9)
    assert row["top5"] == pytest.approx(judge.get_accuracy(5), abs=1e-9)
    assert 50 < row["top1"] < 100


def test_rank_and_loss_are_those_of_the_best_placed_label(made: Made, tmp_path: Path) -> None:
    records = merge([made.run.folder]).records.sort_values("index")
    names = records["image"].tolist()
    logits = logits_of(made, names).double().numpy()
    losses = np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True))
    losses = losses + logits.max(1, keepdims=True) - logits
    places = logits.argsort(1)[:, ::-1].argsort(1)
    right = [made.real[name] for name in names]
    rank = [min(row[of]) for row, of in zip(places, right, strict=True)]
    assert records["rank"].tolist() == rank
    best = [min(row[of]) for row, of in zip(losses, right, strict=True)]
    assert records["loss"].to_numpy() == pytest.approx(best, abs=1e-4)
    assert records["target"].tolist() == [min(of) for of in right]
    save_images(merge([made.run.folder]), tmp_path / "images.csv")
    lines = pd.read_csv(tmp_path / "images.csv")
    answered = [answer in of for answer, of in zip(lines["prediction"], right, strict=True)]
    assert lines["right"].astype(bool).tolist() == answered
    assert (lines["right"].astype(bool) & (lines["target"] != lines["prediction"])).any()


def test_flags_stand_on_every_number_and_none_is_of_the_lowest_label(made: Made) -> None:
    (row,) = results(made.run.folder).to_dict("records")
    flags = row["flags"].split(";")
    assert {"several-labels", f"unlabelled-{IMAGES - row['n_images']}-of-{IMAGES}"} < set(flags)
    assert not {"at-chance", "labels-of-other-classes"} & set(flags)
    record = made.run.folder.manifest.evaluations[0].dataset
    assert record.right_labels_sha256 == made.data.several.sha256  # type: ignore[union-attr]
    assert any("any of the image's labels in imagenet_real_labels.json" in n for n in record.notes)


def test_answers_that_are_right_by_a_label_that_is_not_the_lowest_are_no_guesses(
    tmp_path: Path,
) -> None:
    """Each image has the class that it shows, and the one before: by the latter all are wrong."""
    shown = {f"{number}.png": number % 10 + 1 for number in range(40)}
    labels = {name: [of - 1, of] for name, of in shown.items()}
    (tmp_path / "real.json").write_text(json.dumps(labels))
    data = open_dataset(write(tmp_path / "val", shown), labels=tmp_path / "real.json")
    (row,) = results(evaluate(data, tmp_path / "run").folder).to_dict("records")
    assert (row["top1"], row["status"]) == (100, "ok")
    flags = row["flags"].split(";")
    assert flags[0] == "several-labels"
    assert not [flag for flag in flags if flag.startswith(("at-chance", "looks-like"))]


def test_other_pixels_are_not_blamed_where_any_label_is_right() -> None:
    """Each image has the class that it shows, and the one that it would show in BGR."""
    x = torch.tensor(PALETTE[100:500:10] / 255).float()[:, :, None, None].expand(-1, -1, SIDE, SIDE)
    model = palette()
    logits, turned = model(x).detach(), model(x.flip(1)).detach()
    y = torch.stack([turned.argmax(1), logits.argmax(1)], 1)
    blamed = list(convention_flags(model, x, y[:, 0], logits))
    assert blamed == ["looks-like-channels-in-bgr-order"]
    assert not list(convention_flags(model, x, y, logits))


def test_other_labels_of_the_same_images_are_other_images(made: Made, tmp_path: Path) -> None:
    """Even where one label of each is the same, and the images that both have are asked for."""
    pairs = zip(made.data.ids, made.data.labels, strict=True)
    (tmp_path / "one.csv").write_text("".join(f"{name},{label}\n" for name, label in pairs))
    (tmp_path / "real.json").write_text(json.dumps(made.real))
    root = made.data.path
    assert root is not None
    again = open_dataset(root, labels=tmp_path / "real.json")
    assert again.fingerprint == made.data.fingerprint
    alone = limit_dataset(again, 200)
    single = open_dataset(
        write(tmp_path / root.name, {name: made.shown[name] for name in made.data.ids}),
        labels=tmp_path / "one.csv",
    )
    assert single.labels == made.data.labels
    run = evaluate(single, tmp_path / "run", "other")
    for intersect in (False, True):
        with pytest.raises(UserError, match="other labels count as right for the one"):
            paired(made.run, run, intersect=intersect)
    assert merge([made.run.folder, run.folder]).entries[0].dataset.startswith("val#")
    with pytest.raises(
        UserError, match=r"label palette on val is two things: dataset\.fingerprint"
    ):
        merge([made.run.folder, evaluate(single, tmp_path / "same").folder])
    with pytest.raises(UserError, match=r"other settings: images of val\.fingerprint"):
        evaluate(single, made.run.folder.path)
    part = evaluate(alone, tmp_path / "part", "part")
    with pytest.raises(UserError, match="other labels count"):  # by name, under another list
        paired(made.run, part, intersect=True)


@pytest.mark.parametrize("name", ["pgd", "fgsm", "noise", "pgd-t"])
def test_attacks_are_refused_before_anything_is_computed(name: str, tmp_path: Path) -> None:
    data = several(noise(6), [(0, 1)] * 6)
    asked: list[Condition] = quick_conditions("clean", name)
    wanted = (
        rf"{name}@.* needs one label an image, and tiny may have several \(made up\): .*"
        r"\(--attacks clean; corruptions may stay\), or give --labels with one label an image"
    )
    for survivors in (False, True):
        with pytest.raises(UserError, match=wanted):
            evaluate_models(
                {"net": convnet()},
                [make_task(data, asked)],
                out=tmp_path / "run",
                options=Options(survivors=survivors),
            )
    assert not (tmp_path / "run").exists()


def test_scores_by_hand() -> None:
    """Classes by logit: 2, then 0 and 3 alike, then 1."""
    logits = torch.tensor([[1.0, 0.0, 2.0, 1.0]]).repeat(5, 1)
    y = torch.tensor([[1, 2], [0, 3], [1, 3], [1, 1], [0, 1]])
    scores = score(logits, y)
    assert scores.prediction.tolist() == [2] * 5
    assert scores.rank.tolist() == [0, 1, 2, 3, 1]
    total = float(torch.logsumexp(logits[0].double(), 0))
    assert scores.loss.tolist() == pytest.approx([total - best for best in (2, 1, 1, 0, 1)])
    draws = [logits, logits.flip(1)]
    assert right_in_draws(draws, y).tolist() == [0b11, 0, 0b10, 0b10, 0b10]  # type: ignore[union-attr]


def test_an_image_counts_for_each_class_of_a_subset_that_is_right(tmp_path: Path) -> None:
    """Of classes outside, inside, and both: over the subset those inside alone are right."""
    inside = subset_indices("imagenet-a")
    outside = next(index for index in range(1000) if index not in inside)
    right = [[outside], sorted([outside, inside[3]]), [inside[0], inside[3]], [inside[5]]]
    shown = {f"{number}.png": inside[3] for number in range(4)}
    names = {f"{number}.png": of for number, of in enumerate(right)}
    (tmp_path / "real.json").write_text(json.dumps(names))
    data = open_dataset(write(tmp_path / "val", shown), labels=tmp_path / "real.json")
    positions = [right_positions(data, image, "imagenet-a") for image in range(4)]
    assert positions == [(), (3,), (0, 3), (5,)]
    other = open_dataset(f"imagenet-a={write(tmp_path / 'a', subset_folders('imagenet-a'))}")
    tasks = with_clean_subsets([make_task(data, [clean()]), make_task(other, [clean()])])
    assert count_images(data, tasks[0].conditions[1]) == 3
    run = evaluate_models({"palette": palette()}, tasks, out=tmp_path / "run", options=Options())
    rows: Any = results(run.folder).set_index("condition")
    subset = rows.loc["clean/imagenet-a-classes"]
    assert (subset["n_images"], subset["top1"]) == (3, pytest.approx(200 / 3))
    assert rows.loc["clean", "top1"] == 50


@dataclass(frozen=True)
class Upside:
    """The clean images, upside down."""

    def pixels(self, data: Dataset, index: int, preprocessing: Any, *, seed: int) -> Any:
        """Image ``index``."""
        return data.pixels(index, preprocessing)[::-1].copy()

    def describe(self) -> dict[str, Any]:
        """Just the source."""
        return {"source": "made up", "side": 224}


def test_corrupted_images_have_the_same_labels(tmp_path: Path) -> None:
    """Made in memory; files lie in folders of one class each, which folders by wnid tell."""
    data = several(noise(8), [(0, 1, 2, 3, 4)] * 8)
    conditions = [clean(), replace(corruption_condition("fog", 3), images=Upside())]
    run = evaluate_models(
        {"net": convnet()}, [make_task(data, conditions)], out=tmp_path / "run", options=Options()
    )
    assert results(run.folder)["top1"].tolist() == [100, 100]
    with pytest.raises(UserError, match=r"image0\.png has several right labels; give --data with"):
        list(write_folder(data, tmp_path / "flat", Recipe(("brightness",), (1,))))
    wnid = wnids()[7]
    in_folders = replace(data, ids=tuple(f"{wnid}/{name}" for name in data.ids), num_classes=1000)
    assert str(class_and_stem(in_folders, 3)) == f"{wnid}/image3"
