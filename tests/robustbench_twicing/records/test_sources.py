"""Saved adversarial images are scored on other networks as they were made, or not at all."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attacks import ATTACKS
from robustbench_twicing.conditions.condition import Condition, clean
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.progress import Step
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.evaluation.tasks import make_task
from robustbench_twicing.records.adversarial import AdversarialImage, read_adversarial
from robustbench_twicing.records.sources import Source, read_sources, saved_dataset, transferred
from tests.tiny import convnet, noise, quick_conditions, run, table, text

IMAGES, BATCH = 10, 4
BUDGETS = (Fraction(1, 255), Fraction(8, 255))
ATTACKED = [
    clean(),
    *quick_conditions("fgsm", "pgd", "noise", budgets=BUDGETS),
    ATTACKS["fmn"].condition(overrides={"steps": 3}),
    *quick_conditions("pgd-any", budgets=[Fraction(0)]),
]
FACTS = [
    *("index", "image", "pixels_sha256", "target", "clean_prediction", "clean_rank", "clean_loss"),
    *("prediction", "rank", "loss", "rank_8bit", "linf", "l2", "l0", "status"),
]


def made(out: Path, saved: int = IMAGES, data: Dataset | None = None, **options: object) -> Run:
    """A run of the source."""
    settings = {"batch_size": BATCH, "save_adversarial": saved, **options}
    return run(convnet(), data or noise(IMAGES), ATTACKED, out, **settings)


@pytest.fixture(scope="module")
def source_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return made(tmp_path_factory.mktemp("made") / "run")


@pytest.fixture(scope="module")
def source(source_run: Run) -> Source:
    (source,) = read_sources(source_run.folder)
    return source


def scored(
    source: Source, out: Path, conditions: Sequence[Condition] | None = None, seed: int = 0
) -> Run:
    """On another network of the same shape, or on the source itself with seed 0."""
    chosen = [clean(), *(transferred([source]) if conditions is None else conditions)]
    return run(convnet(seed), saved_dataset([source]), chosen, out, batch_size=BATCH)


def facts(records: pd.DataFrame, condition: str) -> str:
    return text(records[records["condition"] == condition][[*FACTS, "condition"]]).replace(
        condition, "CONDITION"
    )


def test_attacks_on_the_network_are_its_conditions(source: Source) -> None:
    """Neither the control, nor a budget of 0, nor an attack that finds distances."""
    ids = [condition.id for condition in transferred([source])]
    names = ("fgsm:1/255", "fgsm:8/255", "pgd:1/255", "pgd:8/255")
    assert ids == [f"transfer/{source.digits}/{name}" for name in names]
    first = transferred([source])[0]
    assert (first.attack, first.is_attacked, first.is_sweep) == ("transfer", False, False)
    assert {name: first.settings[name] for name in ("source_label", "source_condition")} == {
        "source_label": "convnet",
        "source_condition": "fgsm@1/255",
    }
    assert transferred([source])[2].settings["steps"] == 3
    assert transferred([source])[2].changed == {"steps": 20}


def test_images_are_those_of_the_data_set(source: Source) -> None:
    data = saved_dataset([source])
    assert (data.name, data.fingerprint) == ("tiny", noise(IMAGES).fingerprint)
    assert (data.ids, data.labels) == (noise(IMAGES).ids, noise(IMAGES).labels)


def test_on_the_source_itself_the_rows_are_those_of_the_attack(
    source_run: Run, source: Source, tmp_path: Path
) -> None:
    before, now = source_run.records(), scored(source, tmp_path / "run").records()
    for condition in transferred([source]):
        made_under = str(condition.settings["source_condition"])
        assert facts(now, condition.id) == facts(before, made_under)
    assert facts(now, "clean") == facts(before, "clean")


def test_the_number_is_the_other_networks(source: Source, tmp_path: Path) -> None:
    """Of these images, scored without the suite."""
    import torch

    done = scored(source, tmp_path / "run", seed=1)
    network = convnet(1)
    for condition in transferred([source]):
        place = f"pixel:{condition.settings['source_condition']}"
        files = [source.files[place][image] for image in noise(IMAGES).ids]
        x_adv = torch.stack([torch.from_numpy(read_adversarial(file).x_adv) for file in files])
        right = (network(x_adv).argmax(1) == torch.tensor(noise(IMAGES).labels)).sum().item()
        row = table(done)[condition.id]
        assert row["top1"] == 100 * right / IMAGES
        assert (row["attack"], row["eps"]) == ("transfer", condition.id.rpartition(":")[2])


def test_a_part_of_the_images_has_a_name_of_its_own(tmp_path: Path) -> None:
    (source,) = read_sources(made(tmp_path / "made", saved=6).folder)
    data = saved_dataset([source])
    assert (data.name, data.flags) == ("tiny/saved-6", ("saved-6-of-10",))
    assert data.ids == noise(IMAGES).ids[:6]
    assert data.fingerprint != noise(IMAGES).fingerprint
    done = scored(source, tmp_path / "run", seed=1)
    assert {row["n_images"] for row in table(done).values()} == {6}


def test_an_image_that_was_not_saved_is_an_error_row(tmp_path: Path) -> None:
    folder = made(tmp_path / "made").folder
    (source,) = read_sources(folder)
    source.files["pixel:fgsm@8/255"]["image9.png"].unlink()
    (source,) = read_sources(folder)
    rows = table(scored(source, tmp_path / "run", seed=1))
    failed = [name for name, row in rows.items() if row["status"] == "error"]
    assert failed == [f"transfer/{source.digits}/fgsm:8/255"]


def test_a_run_that_was_killed_goes_on(source: Source, tmp_path: Path) -> None:
    whole = scored(source, tmp_path / "whole", seed=1)

    def stop(step: Step) -> None:
        if step.images and not step.resumed:
            raise KeyboardInterrupt

    from robustbench_twicing.evaluation.runner import Options, evaluate_models

    conditions = [clean(), *transferred([source])]
    task = make_task(saved_dataset([source]), conditions)
    out, options = tmp_path / "killed", Options(batch_size=BATCH)
    with pytest.raises(KeyboardInterrupt):
        evaluate_models({"convnet": convnet(1)}, [task], out=out, options=options, report=stop)
    done = scored(source, out, seed=1)
    assert text(done.records()) == text(whole.records())


@pytest.mark.parametrize("change", ["budget", "clean pixels", "format"])
def test_images_that_are_not_what_was_evaluated_are_refused(tmp_path: Path, change: str) -> None:
    folder = made(tmp_path / "made").folder
    (source,) = read_sources(folder)
    path = source.files["pixel:pgd@8/255"]["image0.png"]
    image = read_adversarial(path)
    changed = {
        "budget": image._replace(x_adv=1 - image.x_adv),
        "clean pixels": image._replace(x=np.clip(image.x + 1 / 255, 0, 1).astype(np.float32)),
        "format": image._replace(x_adv=(image.x_adv * 255).astype(np.uint8)),
    }[change]
    rewrite(path, changed)
    row = table(scored(source, tmp_path / "run", seed=1))[f"transfer/{source.digits}/pgd:8/255"]
    assert row["status"] == "error"


def rewrite(path: Path, image: AdversarialImage) -> None:
    with path.open("wb") as file:
        np.savez(file, x=image.x, x_adv=image.x_adv, image=np.array(image.image))


def test_clean_pixels_that_are_not_those_of_the_record_end_the_run(tmp_path: Path) -> None:
    folder = made(tmp_path / "made").folder
    (source,) = read_sources(folder)
    for file in folder.path.glob("adversarial/*/*/*/*/000000.npz"):
        image = read_adversarial(file)
        rewrite(file, image._replace(x=np.zeros_like(image.x)))
    with pytest.raises(UserError, match=r"000000\.npz is damaged \(its clean pixels are not"):
        scored(source, tmp_path / "run")


def test_a_run_without_saved_images_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"no saved images of convnet on tiny; .*--save-adversarial"
    ):
        read_sources(made(tmp_path / "run", saved=0).folder)


def test_a_run_without_attacks_is_refused(tmp_path: Path) -> None:
    folder = run(convnet(), noise(2), quick_conditions("clean", "noise"), tmp_path / "run").folder
    with pytest.raises(UserError, match="no attack with a budget"):
        read_sources(folder)


def test_a_run_of_survivors_is_refused(tmp_path: Path) -> None:
    conditions = quick_conditions("clean", "fgsm", "pgd")
    folder = run(convnet(), noise(2), conditions, tmp_path / "run", survivors=True).folder
    with pytest.raises(UserError, match="with --survivors, whose attacks left out"):
        read_sources(folder)


def test_a_run_that_is_not_finished_is_refused(tmp_path: Path) -> None:
    folder = made(tmp_path / "run").folder
    (evaluation,) = folder.manifest.evaluations
    folder.part_path(evaluation, 1).unlink()
    with pytest.raises(UserError, match="is not finished; give its eval again"):
        read_sources(folder)


def test_models_with_the_same_weights_are_told_apart(source: Source) -> None:
    """As a plain network and one with twicing layers are; but not one network under two labels."""
    record = source.evaluation.record
    plain, twicing = (
        source._replace(
            evaluation=replace(
                source.evaluation,
                label=name,
                record=replace(record, model=name, weights_sha256="12345678" * 8),
            )
        )
        for name in ("plain", "twicing")
    )
    ids = [condition.id for condition in transferred([plain, twicing])]
    assert (ids[0], ids[-1]) == (
        "transfer/12345678/plain/fgsm:1/255",
        "transfer/12345678/twicing/pgd:8/255",
    )
    with pytest.raises(UserError, match="fgsm@1/255 on plain and on plain is one attack on one"):
        transferred([plain, plain])


def test_sources_of_unlike_images_are_refused(source: Source, tmp_path: Path) -> None:
    other = made(tmp_path / "other", data=noise(IMAGES, seed=1))
    with pytest.raises(UserError, match="unlike images called tiny"):
        saved_dataset([source, *read_sources(other.folder)])


def test_labels_that_the_images_do_not_tell_are_refused(source: Source) -> None:
    from robustbench_twicing.data.imagenet import LabelSpaceRecord

    space = LabelSpaceRecord("objectnet", 113, True, "mapped-113", "")
    record = replace(source.evaluation.dataset, space=space)
    objectnet = source._replace(evaluation=replace(source.evaluation, dataset=record))
    with pytest.raises(UserError, match="objectnet has a label space of its own"):
        saved_dataset([objectnet])
