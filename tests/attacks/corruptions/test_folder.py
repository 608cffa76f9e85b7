"""Writing ImageNet-C's folder layout from a clean folder, and the command that does it."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from attacks.corruptions import corrupt, image_rng
from attacks.corruptions.folder import Recipe, write_folder
from attacks.corruptions.generated import clean_crop
from attacks.corruptions.layout import RECORD
from robustbench_twicing.cli.app import main
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError

pytestmark = pytest.mark.slow

QUICK = Recipe(("contrast", "gaussian_noise"), (1, 3))


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    """Five noisy images in two wnid folders."""
    rng = np.random.default_rng(0)
    root = tmp_path / "clean"
    for number in range(5):
        folder = root / ("n01440764" if number % 2 else "n01443537")
        folder.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 256, (270, 300, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"image{number}.png")
    return root


def files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != RECORD
    }


def test_the_layout_and_the_pixels_are_those_of_the_benchmark(
    photographs: Path, tmp_path: Path
) -> None:
    data = open_dataset(photographs)
    assert list(write_folder(data, tmp_path / "c", QUICK)) == [4] * 5
    written = files(tmp_path / "c")
    assert len(written) == 5 * 4
    index = data.ids.index("n01443537/image2.png")
    clean = data.pixels(index, clean_crop())
    wanted = corrupt(
        clean, "gaussian_noise", 3, image_rng(0, "gaussian_noise", 3, "n01443537/image2.png")
    )
    with Image.open(tmp_path / "c/gaussian_noise/3/n01443537/image2.JPEG") as found:
        assert found.format == "JPEG"
        assert np.array_equal(np.asarray(found), wanted)


def test_without_the_second_jpeg_the_pixels_are_kept_as_they_are(
    photographs: Path, tmp_path: Path
) -> None:
    data = open_dataset(photographs)
    list(write_folder(data, tmp_path / "c", Recipe(("contrast",), (5,), jpeg=False)))
    clean = data.pixels(0, clean_crop())
    rng = image_rng(0, "contrast", 5, data.ids[0])
    with Image.open(tmp_path / "c/contrast/5" / data.ids[0]) as found:
        assert np.array_equal(
            np.asarray(found), corrupt(clean, "contrast", 5, rng, jpeg_quality=None)
        )


def test_a_stopped_run_is_continued_and_workers_change_nothing(
    photographs: Path, tmp_path: Path
) -> None:
    data = open_dataset(photographs)
    whole = tmp_path / "whole"
    list(write_folder(data, whole, QUICK))
    stopped = tmp_path / "stopped"
    steps = write_folder(data, stopped, QUICK)
    next(steps)
    next(steps)
    (stopped / "contrast/1/n01440764/image1.JPEG").unlink()
    assert sum(write_folder(data, stopped, QUICK, workers=2)) == 5 * 4 - 2 * 4 + 1
    assert files(stopped) == files(whole)


def test_more_corruptions_can_be_added_but_not_another_recipe(
    photographs: Path, tmp_path: Path
) -> None:
    data = open_dataset(photographs)
    out = tmp_path / "c"
    list(write_folder(data, out, QUICK))
    assert sum(write_folder(data, out, Recipe(("contrast", "fog"), (1,)))) == 5
    for recipe in (Recipe(("contrast",), seed=1), Recipe(("contrast",), jpeg=False)):
        with pytest.raises(UserError, match=r"was made with (seed|jpeg)"):
            list(write_folder(data, out, recipe))
    with pytest.raises(UserError, match="was made with fingerprint"):
        list(write_folder(open_dataset(photographs, limit=3), out, QUICK))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match="not empty"):
        list(write_folder(data, tmp_path / "mine", QUICK))


def test_two_images_of_one_name_are_refused(photographs: Path, tmp_path: Path) -> None:
    folder = photographs / "n01443537"
    (folder / "image0.bmp").write_bytes((folder / "image0.png").read_bytes())
    with pytest.raises(UserError, match=r"2 images would be written as n01443537/image0\.JPEG"):
        list(write_folder(open_dataset(photographs), tmp_path / "c", QUICK))


def test_a_file_in_place_of_the_folder_is_one_line(
    photographs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    assert main(["corrupt", "--data", str(photographs), "--out", str(file)]) == 1
    assert f"--out {file}: {file} is a file; name a folder" in capsys.readouterr().err


def test_what_was_written_can_be_evaluated(
    photographs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "c"
    command = ["corrupt", "--data", str(photographs), "--out", str(out)]
    assert main([*command, "--corruptions", "contrast", "--severities", "2"]) == 0
    said = capsys.readouterr().out
    assert "5 files written, 0 were there" in said
    asked = f"eval --data {photographs} --corruptions contrast --imagenet-c {out} --severities 2\n"
    assert said.endswith(asked)
    assert main([*command, "--corruptions", "contrast", "--severities", "2"]) == 0
    assert "0 files written, 5 were there" in capsys.readouterr().out
    assert open_dataset(out / "contrast/2").labels == open_dataset(photographs).labels


def test_small_images_are_named_one_by_one(
    photographs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Image.new("RGB", (300, 100)).save(photographs / "n01443537" / "small.png")
    command = ["corrupt", "--data", str(photographs), "--out", str(tmp_path / "c")]
    assert main([*command, "--corruptions", "contrast", "--severities", "2"]) == 0
    said = capsys.readouterr().err
    assert "warning: " in said
    assert "n01443537/small.png" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--corruptions", "rain"], "no corruption is called 'rain'"),
        (["--severities", "0,6"], "severities '0,6' are not of 1 to 5"),
        (["--imagenet-c-jpeg", "90"], "Known: 85, none"),
        (["--frost-dir", "nowhere", "--corruptions", "frost"], "nowhere"),
        (["--frost-dir", "nowhere", "--corruptions", "fog"], "--frost-dir nowhere is not there"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str],
    message: str,
    photographs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "c"
    assert main(["corrupt", "--data", str(photographs), "--out", str(out), *arguments]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not out.exists()


def test_images_without_labels_are_corrupted_like_those_with(
    photographs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flat, out = tmp_path / "flat", tmp_path / "c"
    flat.mkdir()
    for file in sorted(photographs.rglob("*.*")):
        (flat / f"{file.parent.name}_{file.name}").write_bytes(file.read_bytes())
    labels = tmp_path / "labels.csv"
    names = sorted(file.name for file in flat.iterdir())
    labels.write_text(
        "".join(f"{name},{name.partition('_')[0]}\n" for name in [*names, "n01440764_x.png"])
    )
    how = ["--corruptions", "contrast", "--severities", "2", "--data", str(flat)]
    assert main(["corrupt", *how, "--out", str(out)]) == 0
    assert "Nothing says their classes" in capsys.readouterr().out
    given = ["--labels", str(labels.with_name("labels.csv")), "--labels-superset"]
    assert main(["corrupt", *how, *given, "--out", str(tmp_path / "labelled")]) == 0
    assert f" --labels {labels} --labels-superset\n" in capsys.readouterr().out
    made = {file.name: file.read_bytes() for file in (out / "contrast/2/unlabelled").iterdir()}
    labelled = {file.name: file.read_bytes() for file in (tmp_path / "labelled").rglob("*.JPEG")}
    assert made == labelled
    assert len(made) == len(names)
