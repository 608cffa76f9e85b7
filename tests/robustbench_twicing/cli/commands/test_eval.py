"""eval from the command line to results.csv and the exit status."""

import re
import shutil
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest

from robustbench_twicing.cli.app import main
from robustbench_twicing.cli.results import exit_status
from tests.robustbench_twicing.cli.conftest import Site, grey

MARGINS = (3, 7, 15, 31, 63)


def robust(levels: float) -> float:
    """Percent of the eleven images that keep their right class, worked out on paper."""
    return 100 * 2 * sum(margin > 2 * levels for margin in MARGINS) / 11


def test_the_default_is_the_quick_suite_and_all_is_right(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.eval() == 0
    rows = site.results()
    assert list(rows) == [
        "clean",
        *(f"fgsm@{eps}/255" for eps in ("0.5", "1", "4", "64")),
        *(f"pgd@{eps}/255" for eps in ("0.5", "1", "4")),
        "noise@4/255",
        *(f"worst@{eps}/255" for eps in ("0.5", "1", "4", "64")),
    ]
    for name, row in rows.items():
        levels = float(row["eps_255"])
        moved = 0 if row["attack"] == "noise" else levels  # whose signs cancel in the mean
        assert float(row["robust_top1"]) == robust(moved), name
        assert row["status"] == "ok"
        assert (row["n_images"], row["n_skipped"], row["seed"]) == ("11", "0", "0")
        assert float(row["linf_255_max"]) == pytest.approx(levels, abs=1e-4)
    out, err = capsys.readouterr()
    assert f"results: {site.root / 'run' / 'results.csv'}" in out
    assert "90.91" in out
    assert err.startswith(f"run folder: {site.root / 'run'}\n")
    assert re.search(r"^done in 0:\d\d, 100 %, ([\d,]+) of \1 passes, ", err, re.MULTILINE)
    assert "Traceback" not in err


@pytest.mark.slow
def test_attacks_and_budgets_replace_the_suites(site: Site) -> None:
    assert site.eval("--attacks", "clean,pgd", "--eps", "0:2/255:1/255,8/510") == 0
    rows = site.results()
    assert list(rows) == ["clean", "pgd@0/255", "pgd@1/255", "pgd@2/255", "pgd@4/255"]
    assert [float(row["robust_top1"]) for row in rows.values()] == [
        robust(levels) for levels in (0, 0, 1, 2, 4)
    ]


@pytest.mark.slow
def test_a_suite_of_ones_own(site: Site) -> None:
    suite = site.root / "mine.yaml"
    suite.write_text("conditions:\n- attack: clean\n- {attack: fgsm, eps: [2/255]}\n")
    assert site.eval("--suite", str(suite)) == 0
    assert list(site.results()) == ["clean", "fgsm@2/255"]


@pytest.mark.slow
def test_the_label_and_the_seed_are_written(site: Site) -> None:
    assert site.eval("--attacks", "clean", "--label", "mine", "--seed", "7") == 0
    (row,) = site.results().values()
    assert (row["label"], row["seed"]) == ("mine", "7")
    assert row["model"].endswith("network.py:build")


@pytest.mark.slow
def test_attack_seeds_vary_on_the_same_images(site: Site) -> None:
    def images(*options: str) -> list[str]:
        out = site.root / "-".join(options).strip("-")
        command = [*options, "--attacks", "clean", "--limit", "5", "--out", str(out)]
        assert site.eval(*command) == 0
        parts = out.glob("parts/*/*/*.parquet")
        return sorted(image for part in parts for image in pd.read_parquet(part)["image"])

    assert images("--seed", "1") == images("--seed", "2") == images("--limit-seed", "0")
    assert images("--limit-seed", "1") != images("--limit-seed", "0")


@pytest.mark.slow
def test_a_subset_of_before_is_continued_with_its_seed(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    """What --seed 5 --limit 5 began when one seed was for both."""
    options = ["--attacks", "clean", "--limit", "5", "--seed", "5"]
    assert site.eval(*options, "--limit-seed", "5") == 0
    settings = site.root / "run" / "run.json"
    text = settings.read_text().replace("(limit seed 5)", "(seed 5)")
    settings.write_text(text.replace('"limit_seed": 5', '"typical_side": null'))
    assert "limit_seed" not in settings.read_text()
    shutil.rmtree(settings.parent / "parts")
    capsys.readouterr()
    assert site.eval(*options) == 1
    words = "is 5 there and 0 here; give the same --limit and --limit-seed, or use another --out"
    assert words in capsys.readouterr().err
    assert site.eval(*options, "--limit-seed", "5") == 0


@pytest.mark.slow
def test_several_models_go_into_one_run(site: Site) -> None:
    other = site.model.replace(":build", ":other")
    assert site.eval("--model", other, "--attacks", "clean", "--label", "a", "--label", "b") == 0
    text = (site.root / "run" / "results.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in text[1:]] == ["a", "b"]


@pytest.mark.slow
def test_the_same_name_twice_is_told_apart_by_the_weights(site: Site) -> None:
    arguments = ["--model", "timm:test_vit=random:0", "--model", "timm:test_vit=random:1"]
    command = ["eval", *arguments, "--data", str(site.data), "--attacks", "clean"]
    assert main([*command, "--out", str(site.root / "run"), "--device", "cpu"]) == 0
    text = (site.root / "run" / "results.csv").read_text().splitlines()
    labels = [line.split(",")[0] for line in text[1:]]
    assert len(set(labels)) == 2
    assert all(label.startswith("timm:test_vit#") and len(label) == 22 for label in labels)


@pytest.mark.slow
def test_the_same_command_again_continues_and_another_is_refused(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.eval("--attacks", "clean") == 0
    before = (site.root / "run" / "results.csv").read_text()
    next((site.root / "run").rglob("part-000001.parquet")).unlink()
    assert main(["report", str(site.root / "run")]) == 4
    assert site.results()["clean"]["status"] == "incomplete"
    assert site.results()["clean"]["top1"] == ""
    assert site.eval("--attacks", "clean") == 0
    after = (site.root / "run" / "results.csv").read_text()
    assert without_seconds(after) == without_seconds(before)
    capsys.readouterr()
    assert site.eval("--attacks", "clean", "--seed", "1") == 1
    err = capsys.readouterr().err.splitlines()[-1]
    assert (
        "was made with other settings: seed is 0 there and 1 here; give the same --seed, or" in err
    )


def without_seconds(text: str) -> list[list[str]]:
    rows = [line.split(",") for line in text.splitlines()]
    place = rows[0].index("seconds")
    return [row[:place] + row[place + 1 :] for row in rows]


@pytest.mark.slow
def test_shares_are_done_one_by_one_and_the_last_completes(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.eval(out="whole") == 0
    assert site.eval("--shard", "2/2") == 0
    assert "shard 2/2 is done" in capsys.readouterr().out
    assert site.results()["clean"]["status"] == "incomplete"
    assert site.eval("--shard", "1/2") == 0
    tables = [(site.root / out / "results.csv").read_text() for out in ("run", "whole")]
    assert without_seconds(tables[0]) == without_seconds(tables[1])


@pytest.mark.slow
def test_a_broken_attack_ends_with_status_3_and_an_empty_row(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    code = site.root / "attacks_of_mine.py"
    code.write_text(
        "def far(model, x, y, *, eps, generator=None):\n    return (x + 2 * eps).clamp(0, 1)\n"
    )
    assert site.eval("--attacks", f"clean,{code}:far,fgsm", "--eps", "4/255") == 3
    rows = list(site.results().values())
    assert [row["status"] for row in rows] == ["ok", "error", "ok", "error"]
    assert [row["top1"] == "" for row in rows] == [False, True, False, True]
    out = " ".join(capsys.readouterr().out.split())
    assert "failed and is not scored: left its ball of 4/255 by 4/255 in " in out
    assert main(["report", str(site.root / "run")]) == 3
    assert main(["report", str(site.root / "run"), "--format", "csv"]) == 3


@pytest.mark.slow
def test_a_share_with_a_broken_attack_ends_with_status_3(site: Site) -> None:
    code = site.root / "attacks_of_mine.py"
    code.write_text("def far(model, x, y, *, eps, generator=None):\n    return x + 2 * eps\n")
    arguments = ("--attacks", f"{code}:far", "--eps", "4/255")
    assert site.eval(*arguments, "--shard", "1/2") == 3
    assert site.eval(*arguments, "--shard", "2/2") == 3


@pytest.fixture
def damaged(site: Site) -> Path:
    path = site.data / sorted(site.data.iterdir())[0].name / "07.png"
    path.write_bytes(path.read_bytes()[:40])
    return path


@pytest.mark.slow
def test_an_unreadable_image_stops_with_its_path(
    site: Site, damaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.eval() == 1
    err = capsys.readouterr().err.splitlines()[-1]
    assert str(damaged) in err


@pytest.mark.slow
def test_an_unreadable_image_is_skipped_listed_and_counted(
    site: Site, damaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.eval("--attacks", "clean", "--on-bad-image", "skip") == 0
    (row,) = site.results().values()
    assert (row["n_images"], row["n_skipped"]) == ("10", "1")
    assert float(row["top1"]) == 90
    assert str(damaged) in capsys.readouterr().out.replace("\n", "")


@pytest.mark.slow
def test_no_readable_image_is_incomplete(site: Site) -> None:
    data = site.root / "bad"
    name = sorted(site.data.iterdir())[0].name
    grey(data / name / "a.png", 0)
    (data / name / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert site.eval("--attacks", "clean", "--on-bad-image", "skip", data=data) == 4


@pytest.mark.slow
def test_images_may_come_from_arrays(site: Site) -> None:
    import numpy as np

    images = np.full((4, 8, 8, 3), 200, np.uint8)
    np.save(site.root / "images.npy", images)
    np.save(site.root / "labels.npy", np.array([1, 1, 0, 1]))
    labels = str(site.root / "labels.npy")
    data = site.root / "images.npy"
    assert site.eval("--attacks", "clean", "--labels", labels, "--resize", "8", data=data) == 0
    assert site.results()["clean"]["top1"] == "75.0"


@pytest.mark.slow
def test_a_limit_is_marked_on_every_row(site: Site) -> None:
    assert site.eval("--attacks", "clean,fgsm", "--limit", "4") == 0
    assert all("limit-4-of-11" in row["flags"].split(";") for row in site.results().values())


@pytest.mark.slow
def test_without_out_the_run_goes_below_runs(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(site.root)
    command = ["eval", "--model", site.model, "--data", str(site.data), "--crop", "8"]
    assert main([*command, "--attacks", "clean", "--label", "a b"]) == 0
    (folder,) = (site.root / "runs").iterdir()
    assert "-a_b-" in folder.name
    assert (folder / "results.csv").is_file()


def test_the_worst_row_gives_the_status() -> None:
    import pandas as pd

    table = pd.DataFrame({"status": ["ok", "incomplete", "error"]})
    assert [exit_status(table[:count]) for count in (1, 2, 3)] == [0, 4, 3]


@pytest.mark.slow
def test_a_checkpoint_is_the_same_by_whatever_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bundled = files("robustbench_twicing.checkpoints.bundled") / "fmnist_deit.safetensors"
    (tmp_path / "a.safetensors").write_bytes(bundled.read_bytes())
    (tmp_path / "b.safetensors").write_bytes(bundled.read_bytes())
    monkeypatch.chdir(tmp_path)
    rest = "--data fashion-mnist:test1000 --limit 4 --attacks clean --part-size 2 --out run"
    for path in ("a.safetensors", "./a.safetensors", str(tmp_path / "b.safetensors")):
        next(iter(tmp_path.rglob("part-000001.parquet")), tmp_path / "none").unlink(missing_ok=True)
        assert main(["eval", "--model", f"fmnist_deit={path}", *rest.split()]) == 0, path
    (tmp_path / "c.safetensors").write_bytes(
        (
            files("robustbench_twicing.checkpoints.bundled") / "fmnist_neutreno.safetensors"
        ).read_bytes()
    )
    capsys.readouterr()
    command = ["eval", "--model", "fmnist_deit=c.safetensors", "--arch-override", *rest.split()]
    assert main(command) == 1
    assert "give the same --model, --checkpoint and --weights, or use" in capsys.readouterr().err
