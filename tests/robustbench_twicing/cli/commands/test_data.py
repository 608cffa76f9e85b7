"""``data``: what it prints, and when it fails."""

import csv
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from robustbench_twicing.cli.app import main
from robustbench_twicing.cli.commands.data import register
from robustbench_twicing.data.imagenet import subset_indices, wnids
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError
from tests.palette import OBJECTNET, wnid_folders, write, write_mappings


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)
    return app


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes, five pictures of two sizes; one truncated, one no image, one HEIC."""
    root = tmp_path / "[odd] name"
    noise = np.random.default_rng(0).integers(0, 256, (300, 400, 3), dtype=np.uint8)
    for name in ("n01440764/a.png", "n01443537/b.jpeg", "n01443537/c.jpeg", "n01443537/d.jpeg"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(noise[: 300 - 10 * (name[-6] == "d")]).save(root / name)
    truncated = root / "n01443537" / "c.jpeg"
    truncated.write_bytes(truncated.read_bytes()[:-9000])
    (root / "n01440764" / "page.jpg").write_text("<html>")
    (root / "n01440764" / "e.heic").write_text("1")
    return root


def run(app: typer.Typer, *arguments: str | Path, columns: int = 80) -> str:
    result = CliRunner(env={"COLUMNS": str(columns)}).invoke(app, ["data", *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.slow
def test_says_what_was_understood(app: typer.Typer, folder: Path) -> None:
    output = run(app, folder, columns=200)
    for line in (
        "data set     [odd] name",
        "labels       folders named by wnid",
        "images       5 in 2 of 1000 classes",
        "per class    2 (0 n01440764) to 3 (1 n01443537)",
        "sizes        290 to 400 pixels a side; 400 x 300 (3), 400 x 290 (1)",
        "kinds        JPEG RGB (3), PNG RGB (1)",
        "headers only; --full decodes everything",
        f"fingerprint  {open_dataset(folder).fingerprint}",
        "n01440764/e.heic: not an image by its ending (.heic)",
        f"{folder}/n01440764/page.jpg is an HTML page",
        "Cannot be decoded (1)",
        "Suspicions (1)",
        "files-left-out-1: 1 file was left out: not an image by its ending (.heic) "
        "(1: n01440764/e.heic)",
    ):
        assert line in output


def test_full_decodes(app: typer.Typer, folder: Path) -> None:
    output = run(app, folder, "--full", columns=300)
    assert "Cannot be decoded (2)" in output
    assert "c.jpeg is a truncated or damaged JPEG" in output
    assert "every pixel" in output


def test_fits_eighty_columns(app: typer.Typer, folder: Path) -> None:
    output = run(app, folder, "--full")
    assert max(len(line) for line in output.splitlines()) <= 80
    assert open_dataset(folder).fingerprint in output


def test_limit_and_seed(app: typer.Typer, folder: Path) -> None:
    output = run(app, folder, "--limit", "2", "--limit-seed", "3")
    assert "flag         limit-2-of-5" in output
    assert "(limit seed 3)" in output
    assert output == run(app, folder, "--limit", "2", "--seed", "3")  # its name before
    assert open_dataset(folder, limit=2, seed=3).fingerprint in output


def test_labels_classes_and_suspicions(app: typer.Typer, tmp_path: Path) -> None:
    Image.new("RGB", (32, 32)).save(tmp_path / "a.png")
    (tmp_path / "labels.txt").write_text("a.png dog\n")
    (tmp_path / "classes.txt").write_text("cat\ndog\n")
    output = run(
        app, tmp_path, "--labels", tmp_path / "labels.txt", "--classes", tmp_path / "classes.txt"
    )
    assert "1 in 1 of 2 classes" in output
    assert "label file labels.txt" in output
    assert "no image is larger than 32 pixels" in output


def test_arrays(app: typer.Typer, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=np.zeros((3, 99, 80), np.uint8), labels=[0, 1, 2])
    output = run(app, tmp_path / "a.npz")
    assert "3 in 3 classes (number of classes not known)" in output
    assert "array grey (3)" in output


def test_long_lists_are_cut(app: typer.Typer, folder: Path) -> None:
    for number in range(30):
        (folder / "n01440764" / f"{number}.heic").write_text("1")
    output = run(app, folder)
    assert "Left out (31)" in output
    assert "and 21 more" in output
    assert output.count(".heic:") == 10


def test_sizes_that_are_not_named_are_counted(app: typer.Typer, tmp_path: Path) -> None:
    for number in range(5):
        image = Image.new("RGB", (300 + number, 200))
        (tmp_path / "n01440764").mkdir(exist_ok=True)
        image.save(tmp_path / "n01440764" / f"{number}.png")
        if number == 3:
            assert "302 x 200 (1) and 1 other\n" in run(app, tmp_path, columns=99).replace("  ", "")
    assert "302 x 200 (1) and 2 others" in run(app, tmp_path, columns=99)


def test_unusable_data_is_the_users_mistake(app: typer.Typer, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no data at"):
        run(app, tmp_path / "gone")
    (tmp_path / "n01440764").mkdir()
    (tmp_path / "n01440764" / "a.png").write_bytes(b"")
    with pytest.raises(UserError, match=r"no image can be read, of 1 in all.*a\.png is empty"):
        run(app, tmp_path)


@pytest.mark.slow
def test_known_sets_are_checked_by_name(app: typer.Typer, tmp_path: Path) -> None:
    partial = wnid_folders(subset_indices("imagenet-a")[1:], images=2)
    root = write(tmp_path / "imagenet-a", partial)
    output = run(app, f"imagenet-a={root}", columns=300)
    for line in (
        "data set     imagenet-a",
        "images       398 in 199 of 200 classes, scored over 200 logits",
        "1 of its 200 classes have no image here: n01498041",
        "398 images in imagenet-a, 7,500 in the published set",
    ):
        assert line in output
    with pytest.raises(
        UserError, match="is not ImageNet-R: its 199 classes are among those of ImageNet-A"
    ):
        run(app, f"imagenet-r={root}")


def test_objectnets_classes_are_named_by_all_their_wnids(app: typer.Typer, tmp_path: Path) -> None:
    write(tmp_path / "images", {"chair/a.png": 559, "helmet/a.png": 3, "helmet/b.png": 4}, border=2)
    write_mappings(tmp_path / "mappings", OBJECTNET)
    output = run(app, f"objectnet={tmp_path}", columns=300)
    assert "3 in 2 of 3 classes, scored over all 1000 logits" in output
    names = [wnids()[index] for index in (423, 559, 765, 518, 560)]
    assert f"1 (1 {'/'.join(names[:3])}) to 2 (2 {'/'.join(names[3:])})" in output


def test_eval_records_what_data_finds(
    app: typer.Typer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "train"
    exif = Image.Exif()
    exif[0x0112] = 6
    for label in (1, 2, 3):
        (root / str(label)).mkdir(parents=True)
        for name in ("a.png", "b.jpg", ".hidden.png"):
            picture = Image.new("RGB", (224, 224), (60 * label, 9, 9 * (name == "a.png")))
            picture.save(root / str(label) / name, exif=exif)
    (root / "1" / "left.svg").write_text("<svg/>")
    (root / "1" / "copy.png").write_bytes((root / "1" / "a.png").read_bytes())
    (root / "4").symlink_to(tmp_path / "gone")
    flags = [
        *("training-images", "labels-from-1", "cropped-before-224px", "copies-1"),
        *("exif-orientation-7-of-7", "dangling-links-1", "files-left-out-2", "hidden-3"),
    ]
    output = " ".join(run(app, root, columns=300).split())
    assert [flag for flag in flags if f"- {flag}: " in output] == flags
    out = tmp_path / "run"
    options = ["--model", "timm:test_vit=random:0", "--attacks", "clean", "--out", str(out)]
    assert main(["eval", *options, "--data", str(root), "--device", "cpu"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    (row,) = csv.DictReader((out / "results.csv").read_text().splitlines())
    assert set(flags) <= set(row["flags"].split(";"))
    assert (
        "2 files were left out: not an image by its ending (.svg) (1: 1/left.svg); a link to a "
        "file that is not there (1: 4)" in printed
    )
    assert "labels are 1 to 3 without a gap and never 0" in printed
    assert main(["report", str(out)]) == 0
    assert "1 link leads to nothing" in " ".join(capsys.readouterr().out.split())


def test_no_command_prints_a_name_as_more_than_a_part_of_a_line(
    app: typer.Typer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names of files may hold ends of lines and colours; what is left out is known by them."""
    root = tmp_path / "data"
    for name in ("1", "2"):
        (root / name).mkdir(parents=True)
        Image.new("RGB", (60, 60), (60, 9, int(name))).save(root / name / "a.png")
    for name in ("no\nimage.png", "no\nimage.heic", ".no\nimage"):
        (root / "1" / name).write_bytes(b"text")
    (root / "1" / "no\nlink.png").symlink_to("gone")
    Image.new("RGB", (200, 100)).save(root / "2" / "no\ngood.png")
    expected = [r"1/no\nimage.heic", r"1/no\nlink.png", r"1/.no\nimage", r"1/no\nimage.png is "]
    options = ["--model", "timm:test_vit=random:0", "--data", str(root), "--max-pixels", "4000"]
    evaluate = ["--attacks", "clean", "--on-bad-image", "skip", "--out", str(tmp_path / "run")]
    commands = [
        ["data", str(root), "--max-pixels", "4000"],
        ["eval", *options, *evaluate],
        ["report", str(tmp_path / "run")],
    ]
    for command in commands:
        assert main([*command]) == 0
        out, err = capsys.readouterr()
        printed = out + err
        for text in (*expected, r"2/no\ngood.png is 200 x 100, more than 4,000 pixels"):
            assert "".join(text.split()) in "".join(printed.split())  # long lines are cut
        assert "no\n" not in printed
        assert "--on-bad-image" not in printed
    assert main(["report", str(tmp_path / "run"), "--format", "md"]) == 0
    assert "no\n" not in capsys.readouterr().out
    assert main(["eval", *options, "--attacks", "clean"]) == 1
    assert r"no\nimage.png is text, not an image; put the orig" in capsys.readouterr().err


def test_what_has_no_labels_is_described_and_says_so(app: typer.Typer, tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        Image.new("RGB", (300, 200), (9, 9, 9 * (name == "a.png"))).save(tmp_path / name)
    output = run(app, tmp_path, columns=300)
    assert "labels       no labels" in output
    assert "per class" not in output
    assert "no labels: " in output
    assert "is a flat folder: 2 images and no class folders" in output
    assert "give --labels FILE" in output
