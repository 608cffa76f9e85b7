"""ImageNet-C from the command line: eval, plan, corrupt and report together."""

import csv
import importlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from attacks.corruptions import frost_textures
from robustbench_twicing.cli.app import main
from robustbench_twicing.data.imagenet import wnids
from robustbench_twicing.data.imagenet_c import EXTRA, MAIN
from robustbench_twicing.errors import UserError
from tests.cases import BuildCase
from tests.robustbench_twicing.cli.conftest import Site

pytestmark = pytest.mark.slow

OVERALL = ("mCE", "relative mCE", "mean corruption error", "mean corruption accuracy")


def scores(site: Site, out: str = "run") -> dict[str, dict[str, str]]:
    """corruption_scores.csv by number, as text."""
    with (site.root / out / "corruption_scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {f"{row['number']} {row['corruption']}".strip(): row for row in rows}


@pytest.fixture
def without_frost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any package that has the photographs."""
    module = importlib.import_module("attacks.corruptions.frost_textures")
    monkeypatch.setattr(module, "PACKAGES", {})


@pytest.fixture
def with_frost() -> None:
    try:
        frost_textures()
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture
def scene(site: Site, build_case: BuildCase, tmp_path: Path) -> Site:
    """The scene of case h14 as the one image of the site's data."""
    folder, _ = build_case("h14", tmp_path / "cases")
    data = tmp_path / "scene" / wnids()[1]
    data.mkdir(parents=True)
    with Image.open(folder / "scene.png") as image:
        image.save(data / "scene.png")
    return site._replace(data=data.parent)


@pytest.mark.usefixtures("with_frost")
def test_case_h14_all_fifteen_run_and_count(
    scene: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scene.eval("--corruptions", "main") == 0
    rows = scene.results()
    corrupted = [f"imagenet-c/{name}/{severity}" for name in MAIN for severity in range(1, 6)]
    assert list(rows) == ["clean", *corrupted]
    assert {row["status"] for row in rows.values()} == {"ok"}
    numbers = scores(scene)
    assert all(numbers[name]["status"] == "ok" for name in OVERALL)
    right = sum(float(rows[name]["top1"]) for name in corrupted) / 75
    assert float(numbers["mean corruption accuracy"]["percent"]) == pytest.approx(right)
    text = capsys.readouterr().out
    assert "mCE: " in text
    assert "generated-jpeg85" in text
    assert all(name in text for name in MAIN)


@pytest.mark.usefixtures("without_frost")
def test_case_h14_without_its_photographs_frost_is_an_error_and_no_mean_is_made(
    scene: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scene.eval("--corruptions", "main") == 3
    rows = scene.results()
    failed = [name for name, row in rows.items() if row["status"] == "error"]
    assert failed == [f"imagenet-c/frost/{severity}" for severity in range(1, 6)]
    assert all(rows[name]["top1"] == "" for name in failed)
    assert len(rows) == 76
    numbers = scores(scene)
    for name in (*OVERALL, "CE frost"):
        assert (numbers[name]["status"], numbers[name]["percent"]) == ("incomplete", ""), name
        assert numbers[name]["missing"] == "frost/1-5"
    assert numbers["CE fog"]["status"] == "ok"
    captured = capsys.readouterr()
    warning = captured.err.splitlines()[0]
    assert warning.startswith("warning: imagenet-c/frost/1, imagenet-c/frost/2, ")
    assert "extra [frost]" in warning
    message = " ".join(captured.out.split())
    assert "incomplete, no value (generated-jpeg85); missing: frost/1-5" in message
    assert "imagenet-c/frost/5 failed and is not scored: frost needs five photographs" in message


def test_workers_give_the_same_table(site: Site) -> None:
    command = ["--corruptions", "fog,gaussian_noise", "--severities", "2,4"]
    assert site.eval(*command) == 0
    assert site.eval(*command, "--workers", "2", out="other") == 0
    one, other = site.results(), site.results("other")
    for row in (*one.values(), *other.values()):
        row.pop("seconds")
    assert one == other
    assert site.eval(*command, "--workers", "0", out="none") == 1


def test_corrupt_then_eval_is_eval_on_the_fly(site: Site) -> None:
    names = ["--corruptions", "fog,gaussian_noise", "--severities", "1,5"]
    out = site.root / "c"
    for jpeg in ("85", "none"):
        folder = out / jpeg
        how = ["--imagenet-c-jpeg", jpeg]
        assert main(["corrupt", "--data", str(site.data), "--out", str(folder), *names, *how]) == 0
        assert site.eval(*names, *how, out=f"fly{jpeg}") == 0
        assert site.eval(*names, "--imagenet-c", str(folder), out=f"files{jpeg}") == 0
        fly, files = site.results(f"fly{jpeg}"), site.results(f"files{jpeg}")
        for row in (*fly.values(), *files.values()):
            row.pop("seconds")
        assert fly == files
        wanted = {"85": "generated-jpeg85", "none": "generated-memory"}[jpeg]
        assert {row["source"] for row in files.values()} == {"files", wanted}


def test_a_partial_download_is_named_before_and_after(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = site.root / "c"
    made = ["--corruptions", "fog", "--severities", "1-5"]
    assert main(["corrupt", "--data", str(site.data), "--out", str(folder), *made]) == 0
    (folder / "corrupted.json").unlink()
    next((folder / "fog" / "2").rglob("*.JPEG")).unlink()
    capsys.readouterr()
    assert site.eval("--corruptions", "fog,snow", "--imagenet-c", str(folder)) == 4
    warnings = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    snow = ", ".join(f"imagenet-c/snow/{severity}" for severity in range(1, 6))
    assert warnings == [
        f"warning: imagenet-c/fog/2: 1 of 11 images have no file in {folder}: incomplete",
        f"warning: {snow}: 11 of 11 images have no file in {folder}: incomplete",
    ]
    rows = site.results()
    assert rows["imagenet-c/fog/1"]["source"] == "official"
    assert (rows["imagenet-c/fog/1"]["status"], rows["imagenet-c/fog/1"]["n_images"]) == (
        "ok",
        "11",
    )
    assert (rows["imagenet-c/fog/2"]["status"], rows["imagenet-c/fog/2"]["n_images"]) == (
        "incomplete",
        "10",
    )
    assert rows["imagenet-c/fog/2"]["top1"] == ""
    assert "files-missing-1-of-11" in rows["imagenet-c/fog/2"]["flags"]
    assert rows["imagenet-c/snow/3"]["n_images"] == "0"
    assert scores(site)["CE fog"]["missing"] == "fog/2"


def test_files_of_other_images_are_refused_before_any_work(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    (site.root / "c" / "fog" / "3" / "n01440764").mkdir(parents=True)
    arguments = ["--attacks", "imagenet-c/fog/3", "--imagenet-c", str(site.root / "c")]
    assert site.eval(*arguments) == 1
    assert "no image of photos (11 in all) has a file in" in capsys.readouterr().err
    assert not (site.root / "run").exists()


def test_files_of_another_size_are_refused_before_any_work(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = site.root / "c"
    made = ["--corruptions", "fog", "--severities", "3", "--imagenet-c-size", "64"]
    assert main(["corrupt", "--data", str(site.data), "--out", str(folder), *made]) == 0
    (folder / "corrupted.json").unlink()
    capsys.readouterr()
    assert site.eval("--attacks", "imagenet-c/fog/3", "--imagenet-c", str(folder)) == 1
    size = "has images of 64 x 64 pixels, and those of source official are 224 x 224; give these"
    assert capsys.readouterr().err.startswith(
        f"robustbench-twicing: --imagenet-c {folder}: imagenet-c/fog/3 {size}"
    )
    assert not (site.root / "run").exists()


@pytest.mark.parametrize("below", ["fog", "fog/3"])
def test_a_folder_below_that_of_all_corruptions_is_refused(
    below: str, site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = site.root / "c" / below
    (site.root / "c" / "fog" / "3" / "n01440764").mkdir(parents=True)
    assert site.eval("--corruptions", "fog", "--imagenet-c", str(folder)) == 1
    message = capsys.readouterr().err
    assert f"--imagenet-c {folder} has no folder for imagenet-c/fog/1, " in message
    assert "give the one that holds fog/1" in message


def test_a_run_of_ones_own_is_the_normaliser(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--corruptions", "fog,contrast", "--label"]
    assert site.eval(*command, "mine") == 0
    two = ["--model", site.model.replace(":build", ":other"), "--label", "other"]
    assert site.eval(*command, "base", *two, out="unit") == 0
    run, unit = str(site.root / "run"), str(site.root / "unit")
    capsys.readouterr()

    assert main(["report", run, "--normaliser", f"{unit}:base"]) == 0
    assert scores(site)["mCE"]["normaliser"] == "base (unit)"
    assert scores(site)["mCE"]["normaliser_images"] == "11 images of photos, generated-jpeg85"
    for name in ("CE fog", "CE contrast"):
        assert float(scores(site)[name]["percent"]) == pytest.approx(100), name
    assert main(["report", run, "--normaliser", f"{unit}:other"]) == 0
    own = float(scores(site)["mean error fog"]["percent"])
    assert float(scores(site)["CE fog"]["percent"]) == pytest.approx(100 * own / (100 - own))
    assert main(["report", run, "--normaliser", run]) == 0
    capsys.readouterr()

    for text, message in {
        unit: "has several models, data sets or protocols under ImageNet-C; name one",
        f"{unit}:nobody": "label 'nobody' has no corruptions; its labels are base, other",
        str(site.root / "nowhere"): "there is no such file, nor a folder",
    }.items():
        assert main(["report", run, "--normaliser", text]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line


def test_a_run_without_corruptions_is_no_normaliser(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.eval("--attacks", "clean", "--label", "a") == 0
    run = str(site.root / "run")
    assert not (site.root / "run" / "corruption_scores.csv").exists()
    assert main(["report", run, "--normaliser", run]) == 1
    assert "it has no corruptions; its labels are a" in capsys.readouterr().err


def test_plan_counts_passes_and_the_making_of_images(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["plan", "--model", site.model, "--data", str(site.data), "--crop", "8"]
    seconds: dict[str, float] = {"pixel:imagenet-c/fog/1": 2.0, "pixel:imagenet-c/fog/2": 1.0}
    assert main([*command, "--corruptions", "fog", "--severities", "1-2"]) == 0
    text = capsys.readouterr().out
    assert "imagenet-c/fog/2" in text
    assert "Making the corrupted images takes about 0:0" in " ".join(text.split())

    def measured(*arguments: Any) -> dict[str, float]:
        return seconds

    monkeypatch.setattr("robustbench_twicing.cli.commands.plan.measure_making", measured)
    assert main([*command, "--corruptions", "fog", "--severities", "1-2"]) == 0
    text = capsys.readouterr().out
    assert "0:22" in text, "eleven images of two seconds"
    assert "takes about 0:33 of one process" in " ".join(text.split())
    seconds.clear()
    assert main([*command, "--attacks", "clean"]) == 0
    text = capsys.readouterr().out
    assert "its images" not in text
    assert "corrupted" not in text


def test_suites_mix_attacks_and_corruptions(site: Site) -> None:
    suite = site.root / "mine.yaml"
    suite.write_text(
        "conditions:\n- attack: clean\n- {corruption: extra, severity: 3}\n"
        "- {attack: fgsm, eps: [1/255]}\n- {corruption: [fog], severity: [1, 2]}\n"
    )
    assert site.eval("--suite", str(suite)) == 0
    assert list(site.results()) == [
        "clean",
        *(f"imagenet-c/{name}/3" for name in EXTRA),
        "fgsm@1/255",
        "imagenet-c/fog/1",
        "imagenet-c/fog/2",
    ]
    suite.write_text("conditions:\n- attack: clean\n- corruption: rain\n")
    assert site.eval("--suite", str(suite), out="other") == 1


def test_another_size_is_no_imagenet_c(site: Site) -> None:
    assert site.eval("--corruptions", "fog", "--imagenet-c-size", "32") == 0
    row = site.results()["imagenet-c/fog/3"]
    assert (row["status"], row["source"]) == ("ok", "generated-jpeg85")
    assert "not-imagenet-c-32px" in row["flags"]
    assert scores(site)["CE fog"]["status"] == "not-comparable"
    assert scores(site)["mean error fog"]["status"] == "ok"
