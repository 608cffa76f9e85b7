"""analyze: its files, what it prints, and mistakes before any work."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from robustbench_twicing.cli.app import main

VIT = ("--model", "timm:test_vit=random:0")
PHOTOS = ("--data", "samples:imagenet")
LAYERS = 6


def analyze(*arguments: str) -> int:
    return main(["analyze", "--device", "cpu", *arguments])


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def unlabelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four images side by side, without a class; and a fifth file that is none."""
    folder = tmp_path_factory.mktemp("unlabelled")
    rng = np.random.default_rng(0)
    for number in range(4):
        pixels = rng.integers(0, 256, (180, 180, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    (folder / "broken.png").write_bytes(b"no image")
    return folder


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, unlabelled: Path) -> Path:
    """Two models on the images that can be decoded."""
    out = tmp_path_factory.mktemp("done") / "analysis"
    second = ("--model", "timm:test_vit=random:1", "--label", "one", "--label", "two")
    data = ("--data", str(unlabelled), "--on-bad-image", "skip", "--batch-size", "3")
    maps = ("--pictures", "1", "--layers", "1,6")
    assert analyze(*VIT, *second, *data, *maps, "--out", str(out)) == 0
    return out


@pytest.mark.slow
def test_tables(done: Path) -> None:
    table = rows(done / "similarity.csv")
    per_layer = LAYERS * 2 + LAYERS + 1 + 1  # attention and mix; block with input and last norm
    assert len(table) == 2 * 2 * per_layer
    assert {row["n_images"] for row in table} == {"4"}
    assert {row["flags"] for row in table} == {"random-weights"}
    for row in table:
        low, mean, high = (
            float(row[name]) for name in ("similarity_ci_low", "similarity", "similarity_ci_high")
        )
        assert -1 <= low <= mean <= high <= 1
    by_image = rows(done / "similarity_by_image.csv")
    assert len(by_image) == 4 * len(table)
    of_one = [
        float(row["similarity"])
        for row in by_image
        if [row[key] for key in ("label", "tensor", "tokens", "layer")]
        == ["two", "mix", "patches", "3"]
    ]
    (mean,) = (
        float(row["similarity"])
        for row in table
        if [row[key] for key in ("label", "tensor", "tokens", "layer")]
        == ["two", "mix", "patches", "3"]
    )
    assert np.mean(of_one) == pytest.approx(mean)
    differences = rows(done / "similarity_differences.csv")
    assert len(differences) == len(table) / 2
    assert {row["baseline"] for row in differences} == {"one"}


@pytest.mark.slow
def test_the_record_says_what_the_numbers_are_of(done: Path) -> None:
    record = json.loads((done / "analysis.json").read_text())
    assert list(record["models"]) == ["one", "two"]
    assert record["models"]["one"]["preprocessing"]["crop"] == 160
    assert len(record["models"]["one"]["weights_sha256"]) == 64
    assert record["dataset"]["images"] == [*(f"{number}.png" for number in range(4)), "broken.png"]
    assert list(record["left_out"]["two"]["clean"]) == ["broken.png"]
    assert record["conditions"] == []
    assert record["settings"] == {
        "analyses": ["similarity", "attention"],
        "tensors": ["attention", "block", "mix"],
        "tokens": "all",
        "seed": 0,
        "maps": {
            **{"pictures": 1, "layers": "1,6", "rows": "class", "matrix": "softmax"},
            **{"heads": "mean", "scale": "shared"},
        },
    }


@pytest.mark.slow
def test_pictures_in_three_formats(done: Path) -> None:
    assert {path.name for path in done.iterdir()} == {
        *("similarity.csv", "similarity_by_image.csv", "similarity_differences.csv"),
        *("attention.csv", "analysis.json"),
        *(
            f"{name}.{form}"
            for name in ("similarity", "attention-0", "layers-0")
            for form in ("png", "pdf", "svg")
        ),
    }


@pytest.mark.slow
def test_batch_size_and_order_change_nothing(
    done: Path, unlabelled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ("--data", str(unlabelled), "--on-bad-image", "skip", "--batch-size", "1")
    tensors = ("--tensor", "mix,block", "--pictures", "0")
    assert analyze(*VIT, *tensors, *data, "--out", str(tmp_path)) == 0
    shown = capsys.readouterr()
    assert "timm:test_vit" in shown.out
    assert "5 of 5 passes" in shown.err
    alone = {
        (row["image"], row["tensor"], row["tokens"], row["layer"]): float(row["similarity"])
        for row in rows(tmp_path / "similarity_by_image.csv")
    }
    together = {
        (row["image"], row["tensor"], row["tokens"], row["layer"]): float(row["similarity"])
        for row in rows(done / "similarity_by_image.csv")
        if row["label"] == "one" and row["tensor"] != "attention"
    }
    assert alone == pytest.approx(together, abs=1e-6)
    assert not (tmp_path / "similarity_differences.csv").exists()
    assert not list(tmp_path.glob("attention-*"))
    batches = [rows(folder / "attention.csv") for folder in (done, tmp_path)]
    assert [row["layer"] for row in batches[1]] == [str(layer) for layer in range(1, LAYERS + 1)]
    for together_row, alone_row in zip(*batches, strict=False):
        for name in ("class_entropy", "class_max", "class_self", "row_entropy", "participation"):
            assert float(together_row[name]) == pytest.approx(float(alone_row[name]), abs=1e-4)


@pytest.mark.slow
def test_eigenvalues_of_some_of_the_images(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ("--analysis", "spectrum", "--spectrum-images", "2")
    assert analyze(*VIT, *PHOTOS, *chosen, "--out", str(tmp_path)) == 0
    shown = capsys.readouterr()
    assert "2 of 20 images" in shown.out
    assert "2 of 2 passes" in shown.err
    assert {path.name for path in tmp_path.iterdir()} == {
        *("spectrum.csv", "spectrum_curves.csv", "analysis.json"),
        *("spectrum.png", "spectrum.pdf", "spectrum.svg"),
    }
    table = rows(tmp_path / "spectrum.csv")
    assert [row["layer"] for row in table] == [str(layer) for layer in range(1, LAYERS + 1)]
    for row in table:
        assert row["n_images"] == "2"
        assert row["mean_abs"] == row["mean_abs_effective"]  # plain attention
        assert 0 < float(row["second_abs"]) < 1
        assert float(row["max_abs_effective"]) == pytest.approx(1)
    record = json.loads((tmp_path / "analysis.json").read_text())
    assert len(record["settings"]["spectrum_images"]) == 2


@pytest.fixture(scope="module")
def under(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled photographs as they are, under an attack, and corrupted."""
    out = tmp_path_factory.mktemp("under") / "analysis"
    conditions = ("--under", "PGD@1/255,imagenet-c/contrast/5", "--set", "pgd.steps=2")
    analyses = ("--analysis", "similarity,attention,spectrum", "--limit", "3")
    assert analyze(*VIT, *PHOTOS, *analyses, *conditions, "--out", str(out)) == 0
    return out


@pytest.mark.slow
def test_tables_under_conditions(under: Path) -> None:
    conditions = ["", "pgd@1/255", "imagenet-c/contrast/5"]
    for name in ("similarity", "similarity_by_image", "attention", "spectrum", "spectrum_curves"):
        table = rows(under / f"{name}.csv")
        assert list(dict.fromkeys(row["under"] for row in table)) == conditions
        assert {row.get("n_images", "3") for row in table} == {"3"}
    differences = rows(under / "similarity_differences.csv")
    assert {(row["under"], row["baseline_under"]) for row in differences} == {
        (condition, "") for condition in conditions[1:]
    }
    of_attack = [row["flags"] for row in rows(under / "attention.csv") if row["under"][:3] == "pgd"]
    assert all("steps=2" in flags for flags in of_attack)


@pytest.mark.slow
def test_the_record_names_the_conditions(under: Path) -> None:
    record = json.loads((under / "analysis.json").read_text())
    attack, corruption = record["conditions"]
    assert (attack["id"], attack["protocol"], attack["settings"]["steps"]) == (
        "pgd@1/255",
        "pixel",
        2,
    )
    assert (corruption["id"], corruption["images"]["side"]) == ("imagenet-c/contrast/5", 224)
    assert record["left_out"] == {}


def test_an_attack_needs_labels(
    unlabelled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--data", str(unlabelled), "--under", "pgd@1/255", "--out", str(tmp_path / "out"))
    assert analyze(*VIT, *given) == 1
    line = capsys.readouterr().err
    assert "so the classes are unknown; give --labels FILE" in line
    assert line.count("\n") == 1


@pytest.mark.slow
def test_the_papers_figures(unlabelled: Path, tmp_path: Path) -> None:
    data = ("--data", str(unlabelled), "--on-bad-image", "skip")
    assert analyze(*VIT, *data, "--picture-style", "paper", "--out", str(tmp_path)) == 0
    assert {path.stem for path in tmp_path.glob("*.svg")} == {"similarity", "layers"}
    settings = json.loads((tmp_path / "analysis.json").read_text())["settings"]
    assert settings["maps"]["pictures"] == 4


def test_kernels_need_neither_model_nor_images(tmp_path: Path) -> None:
    assert analyze("--analysis", "kernels", "--out", str(tmp_path)) == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        *("kernels.csv", "kernels.png", "kernels.pdf", "kernels.svg")
    }
    (first, *_, last) = rows(tmp_path / "kernels.csv")
    assert (first["n"], last["n"]) == ("1", "12")
    assert float(first["kappa_p"]) == 0.5
    assert float(last["kappa_p_hat"]) == pytest.approx(0.248169, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((*PHOTOS,), "no --model is given"),
        ((*VIT,), "no --data is given"),
        ((*VIT, *PHOTOS, *PHOTOS), "one --data, not of 2"),
        ((*VIT, *PHOTOS, "--analysis", "heads"), "Known: similarity, attention, spectrum, kernels"),
        ((*VIT, *PHOTOS, "--spectrum-images", "2"), "--spectrum-images is for --analysis spectrum"),
        (
            (*VIT, *PHOTOS, "--analysis", "spectrum", "--spectrum-images", "0"),
            "--spectrum-images 0 is not a positive number",
        ),
        ((*VIT, *PHOTOS, "--analysis", "kernels"), "looks at no model; leave --model"),
        (("--analysis", "kernels", "--limit", "3"), "looks at no model; leave --limit out"),
        ((*VIT, *PHOTOS, "--analysis", "attention", "--tensor", "mix"), "--tensor is for"),
        ((*VIT, *PHOTOS, "--analysis", "attention", "--tokens", "patches"), "--tokens is for"),
        ((*VIT, *PHOTOS, "--tensor", "heads"), "--tensor 'heads' is unknown. Known: attention"),
        ((*VIT, *PHOTOS, "--tokens", "some"), "--tokens 'some' is unknown. Known: all, patches"),
        ((*VIT, *PHOTOS, "--under", "pgd"), "--under pgd has no budget; write it like pgd@1/255"),
        ((*VIT, *PHOTOS, "--under", "fog@3"), "write it like imagenet-c/fog/3"),
        ((*VIT, *PHOTOS, "--under", "fmn@1/255"), "finds distances and has no budget"),
        ((*VIT, *PHOTOS, "--under", "pgd@4"), "is above 1, the whole pixel range; write 4/255"),
        ((*VIT, *PHOTOS, "--under", "pgd@1/255,pgd@1/255"), "is asked for twice"),
        (
            (*VIT, *PHOTOS, "--under", "pgd@1/255", "--set", "fgsm.steps=1"),
            "attack fgsm has no constant 'steps'",
        ),
        ((*VIT, *PHOTOS, "--protocol", "l2"), "--protocol is for attacks; name one with --under"),
        (
            (*VIT, *PHOTOS, "--under", "pgd@1/255", "--frost-dir", "."),
            "--frost-dir is for corruptions; name one with --under",
        ),
        (("--analysis", "kernels", "--under", "pgd@1/255"), "looks at no model"),
        ((*VIT, *PHOTOS, "--rows", "key"), "--rows 'key' is unknown. Known: class, received"),
        ((*VIT, *PHOTOS, "--heads", "1"), "--heads '1' is unknown. Known: mean, each"),
        (
            (*VIT, *PHOTOS, "--layers", "7"),
            "which has layers 1 to 6; write it like 6, 1-6, 1,6 or all",
        ),
        ((*VIT, *PHOTOS, "--pictures", "-1"), "--pictures -1 is not 0 or a positive number"),
        (
            (*VIT, *PHOTOS, "--pictures", "0", "--scale", "each"),
            "--scale is for maps, and --pictures 0 draws none",
        ),
        (
            (*VIT, *PHOTOS, "--analysis", "similarity", "--heads", "each"),
            "--heads is for --analysis attention",
        ),
        (("--analysis", "kernels", "--picture-style", "paper"), "--picture-style paper is for"),
        (
            (*VIT, *PHOTOS, "--picture-style", "its"),
            "'its' is unknown. Known: ours",
        ),
        (("--analysis", "kernels", "--pictures", "2"), "--pictures is for --analysis attention"),
        ((*VIT, *PHOTOS, "--under", ""), "--under names no condition; write it like --under pgd@"),
        ((*VIT, *PHOTOS, "--under", "pgdd@1/255"), "autoattack, fgsm, noise, patch"),
        ((*VIT, *PHOTOS, "--batch-size", "0"), "--batch-size '0' is not a positive number"),
        (("--model", "timm:resnet18=random:0", *PHOTOS), "supported are DeiT and its variants"),
    ],
)
def test_mistakes_are_one_line(
    arguments: tuple[str, ...],
    line: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert analyze(*arguments, "--out", str(tmp_path / "out")) == 1
    shown = capsys.readouterr()
    assert line in shown.err
    assert shown.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_image_that_cannot_be_decoded_ends_it(
    unlabelled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert analyze(*VIT, "--data", str(unlabelled), "--out", str(tmp_path / "out")) == 1
    assert "broken.png" in capsys.readouterr().err


def test_models_of_unlike_depth_are_told_and_quiet_leaves_the_sentences_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ("--model", "fmnist_deit=bundled", *VIT, "--data", "fashion-mnist:test1000")
    rest = ("--limit", "1", "--analysis", "similarity", "--out", str(tmp_path / "out"))
    assert analyze(*small, *rest) == 0
    spoken = capsys.readouterr().out
    assert "nan" not in spoken, "one image has no interval"
    assert "its last layer is 6, and fmnist_deit's 4, so no difference is shown" in spoken
    assert analyze(*small, *rest, "--quiet") == 0
    quiet = capsys.readouterr()
    assert quiet.err == ""
    lines = spoken.splitlines()
    assert quiet.out.splitlines() == [line for line in lines if line[:1] in "┏┃┡│└"]
