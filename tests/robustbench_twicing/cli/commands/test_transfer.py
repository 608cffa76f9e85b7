"""transfer: from a run with saved images to accuracies and rates of other models."""

import csv
import re
from pathlib import Path

import pytest

from reports import merge, results, with_worst
from reports.metrics.sweeps import budget_curves
from robustbench_twicing.cli.app import main
from robustbench_twicing.records.run_folder import RunFolder
from tests.robustbench_twicing.cli.conftest import Site, make_site, one_line

pytestmark = pytest.mark.slow
SHIFTED = '''
import torch
from network import Brightness


class Shifted(Brightness):
    """Class 1 where the mean pixel is above 131.5 of 255."""

    def forward(self, x):
        return super().forward(x - 4 / 255)


def build():
    return Shifted()


class Ten(Brightness):
    def forward(self, x):
        return super().forward(x)[:, :10]


def ten():
    return Ten()
'''
ON_CPU = ("--crop", "8", "--batch-size", "4", "--device", "cpu")


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A run of the half space at 127.5, with all images saved; its copy at 131.5 beside it."""
    site = make_site(tmp_path_factory.mktemp("attacked"))
    source = (site.root / "network.py").read_text()
    (site.root / "shifted.py").write_text(
        source + SHIFTED.replace("from network import Brightness\n", "")
    )
    arguments = ("--attacks", "clean,fgsm,pgd", "--eps", "8/255", "--save-adversarial", "20")
    assert site.eval(*arguments, "--label", "half") == 0
    return site


def transfer(site: Site, *arguments: str, function: str = "build", out: str = "transfer") -> int:
    model = ("--model", f"{site.root / 'shifted.py'}:{function}", "--label", "shifted")
    run = str(site.root / "run")
    return main(["transfer", run, *model, *ON_CPU, "--out", str(site.root / out), *arguments])


@pytest.fixture(scope="module")
def transferred(attacked: Site) -> Site:
    assert transfer(attacked) == 0
    return attacked


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_rows_stand_under_the_target(transferred: Site) -> None:
    """Right are 3 of 5 dark images that were made 8 brighter, and 2 bright ones."""
    results = transferred.results("transfer")
    names = [re.sub("[0-9a-f]{8}", "HASH", name) for name in results]
    assert names == ["clean", "noise@8/255", "transfer/HASH/fgsm:8/255", "transfer/HASH/pgd:8/255"]
    assert {row["label"] for row in results.values()} == {"shifted"}
    assert float(results["clean"]["top1"]) == pytest.approx(100 * 8 / 11)
    fgsm = next(row for name, row in results.items() if "fgsm" in name)
    assert float(fgsm["top1"]) == pytest.approx(100 * 5 / 11)
    assert (fgsm["attack"], fgsm["eps"], fgsm["n_attacked"]) == ("transfer", "8/255", "")
    assert not any("saved" in row["flags"] for row in results.values())


def test_rates_are_over_images_that_both_have_right(
    transferred: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 8 such images 3 are wrong, all of them among the 4 that fool the source."""
    root, out = transferred.root, transferred.root / "report"
    folders = [str(root / "run"), str(root / "transfer")]
    assert main(["report", *folders, "--preset", "transfer", "--out", str(out), "--plots"]) == 0
    both, other = (row for row in rows(out / "transfer.csv") if row["attack"] == "fgsm@8/255")
    assert (both["source"], both["target"], both["condition"]) == ("half", "half", "fgsm@8/255")
    assert (both["n_both_right"], both["n_transferred"]) == ("10", "6")
    assert float(both["rate"]) == 60
    assert (other["source"], other["target"]) == ("half", "shifted")
    counts = ("n_images", "n_both_right", "n_transferred", "n_fooled", "n_fooled_transferred")
    assert [other[name] for name in counts] == ["11", "8", "3", "4", "3"]
    assert (float(other["rate"]), float(other["rate_fooled"])) == (37.5, 75)
    assert other["control"] == "noise@8/255"
    assert (out / "transfer-fgsm-8-255.png").exists()
    assert "made on" in (out / "transfer-photos-pixel.md").read_text()


def test_without_the_sources_run_there_is_no_rate(
    transferred: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(transferred.root / "transfer"), "--preset", "transfer"]) == 0
    assert "No rate for images of half" in " ".join(capsys.readouterr().out.split())
    first = rows(transferred.root / "transfer" / "transfer.csv")[0]
    assert (first["rate"], first["n_images"]) == ("", "11")


def test_two_targets_are_compared_under_one_source(
    transferred: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    """The source itself is one of them; its rows are those of its attack."""
    run, out = str(transferred.root / "run"), str(transferred.root / "itself")
    model = ("--model", transferred.model, "--label", "half")
    assert main(["transfer", run, *model, *ON_CPU, "--out", out]) == 0
    itself, attack = transferred.results("itself"), transferred.results("run")
    for name, row in itself.items():
        if name.startswith("transfer/"):
            same = attack[name.split("/", 2)[2].replace(":", "@")]
            assert [row[key] for key in ("top1", "top5", "linf_255_max")] == [
                same[key] for key in ("top1", "top5", "linf_255_max")
            ]
    folders = [run, out, str(transferred.root / "transfer")]
    assert main(["compare", *folders, "--out", str(transferred.root / "compared")]) == 0
    compared = rows(transferred.root / "compared" / "comparison.csv")
    assert [row["condition"].split("/")[-2] for row in compared if "transfer" in row["condition"]]
    assert main(["report", *folders, "--preset", "transfer"]) == 0
    assert "worst" not in {row["attack"] for row in transferred.results("transfer").values()}


def test_the_worst_case_is_over_attacks_that_know_the_network(transferred: Site) -> None:
    """Beside the target's own attacks, in one report; nor are the rows points of a curve."""
    model = ("--model", f"{transferred.root / 'shifted.py'}:build", "--label", "shifted")
    attack = ("--attacks", "clean,fgsm,pgd", "--eps", "8/255")
    data, own = ("--data", str(transferred.data)), transferred.root / "own"
    assert main(["eval", *model, *data, *attack, *ON_CPU, "--out", str(own)]) == 0
    runs = with_worst(merge([RunFolder.open(own), RunFolder.open(transferred.root / "transfer")]))
    (worst,) = (entry.condition for entry in runs.entries if entry.condition.is_worst)
    assert worst.settings["members"] == "fgsm@8/255, noise@8/255, pgd@8/255"
    table = results(runs)
    assert set(budget_curves(table)["attack"]) == {"fgsm", "pgd", "noise", "worst"}
    assert list(table["status"]) == ["ok"] * len(table)


def test_the_page_shows_the_matrix(transferred: Site) -> None:
    folders = [str(transferred.root / name) for name in ("run", "transfer")]
    out = transferred.root / "page"
    assert main(["report", *folders, "--format", "html", "--out", str(out)]) == 0
    page = (out / "index.html").read_text()
    assert "Adversarial images of one network on others" in page
    assert "Transfer of fgsm@8/255" in page


def test_the_same_command_finds_nothing_to_do(transferred: Site) -> None:
    path = transferred.root / "transfer" / "results.csv"
    before = path.read_text()
    assert transfer(transferred) == 0
    assert path.read_text() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--crop", "4"), "crop 4 and not 8, resize 4 and not 9. They are never resized; give"),
        (("--resize", "8"), "resize 8 and not 9. They are never resized; give --resize 9 if"),
        (("--interpolation", "nearest"), "interpolation nearest and not bicubic"),
    ],
)
def test_other_pixels_are_refused(
    attacked: Site, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert transfer(attacked, *arguments, out="other") == 1
    line = one_line(capsys)
    assert "shifted sees other pixels than half, on which the images were made" in line
    assert message in line
    assert not (attacked.root / "other").exists()


def test_other_classes_are_refused(attacked: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert transfer(attacked, function="ten", out="other") == 1
    assert "shifted has 10 classes" in one_line(capsys)


def test_a_run_without_images_is_refused(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.eval("--attacks", "clean,fgsm", "--eps", "8/255") == 0
    capsys.readouterr()
    arguments = ["--model", site.model, *ON_CPU, "--out", str(site.root / "other")]
    assert main(["transfer", str(site.root / "run"), *arguments]) == 1
    assert "evaluate again with --save-adversarial N" in one_line(capsys)


def test_a_target_must_be_named(attacked: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transfer", str(attacked.root / "run")]) == 1
    assert "no --model is given" in one_line(capsys)


def test_budgets_in_normalised_units_need_one_std(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another std is fine under pixel."""
    data = ("--data", "fashion-mnist:test1000", "--limit", "4", "--device", "cpu")
    model = ("--model", "fmnist_deit=bundled")
    other = (*model, "--label", "other", "--std", "0.5,0.5,0.5", "--device", "cpu")
    for protocol in ("pixel", "paper"):
        run, out = str(tmp_path / protocol), str(tmp_path / f"{protocol}-other")
        attack = ("--protocol", protocol, "--attacks", "clean,fgsm", "--eps", "4/255")
        assert main(["eval", *model, *data, *attack, "--save-adversarial", "4", "--out", run]) == 0
        capsys.readouterr()
        assert main(["transfer", run, *other, "--out", out]) == (protocol == "paper")
    line = one_line(capsys)
    assert "protocol paper has budgets in normalised units, and std is" in line
    assert "(0.5, 0.5, 0.5) of other: they are not the same budgets" in line


def test_two_bundled_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each on each: the diagonal is the white box, and weaker off it; only ten images are saved."""
    models = ("--model", "fmnist_deit=bundled", "--model", "fmnist_fan=bundled")
    made, out = str(tmp_path / "made"), str(tmp_path / "transfer")
    data = ("--data", "fashion-mnist:test1000", "--limit", "12", "--device", "cpu")
    attack = ("--attacks", "clean,fgsm", "--eps", "8/255", "--save-adversarial", "10")
    assert main(["eval", *models, *data, *attack, "--out", made]) == 0
    assert main(["transfer", made, *models, "--device", "cpu", "--out", out]) == 0
    report = tmp_path / "report"
    assert main(["report", out, "--preset", "transfer", "--out", str(report)]) == 0
    rates = {(row["source"], row["target"]): row for row in rows(report / "transfer.csv")}
    assert len(rates) == 4
    assert {row["n_images"] for row in rates.values()} == {"10"}
    for name in ("fmnist_deit", "fmnist_fan"):
        itself = rates[name, name]
        others = [row for (source, target), row in rates.items() if source == name != target]
        assert all(float(itself["rate"]) >= float(row["rate"]) for row in others)
    assert "saved-10-of-12" in (tmp_path / "transfer" / "results.csv").read_text()


TWO = ("--model", "fmnist_deit=bundled", "--model", "fmnist_fan=bundled")
FASHION = ("--data", "fashion-mnist:test1000", "--limit", "8", "--device", "cpu")
FGSM = ("--attacks", "clean,fgsm", "--eps", "8/255")


def test_eval_shows_every_model_the_images_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On its own images a model has the rows of its own attack; a second run has nothing to do."""
    command = ["eval", *TWO, *FASHION, *FGSM, "--transfer", "--out", str(tmp_path / "run")]
    assert main(command) == 0
    assert "Adversarial images of one network on others" in capsys.readouterr().out
    folders = [RunFolder.open(tmp_path / "run"), RunFolder.open(tmp_path / "run" / "transfer")]
    table = results(merge(folders))
    fgsm = {row["label"]: row for row in table[table["attack"] == "fgsm"].to_dict("records")}
    transferred = table[table["attack"] == "transfer"]
    assert len(transferred) == 4
    for label, manifest in ((name, folders[1].manifest) for name in fgsm):
        itself = next(
            condition.id
            for condition in manifest.conditions
            if condition.settings.get("source_label") == label
        )
        row = transferred[(transferred["condition"] == itself) & (transferred["label"] == label)]
        assert row["top1"].item() == fgsm[label]["top1"]
        assert row["linf_255_max"].item() == fgsm[label]["linf_255_max"]
    before = (tmp_path / "run" / "transfer" / "results.csv").read_text()
    assert main(command) == 0
    assert (tmp_path / "run" / "transfer" / "results.csv").read_text() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--model", "fmnist_deit=bundled", *FGSM), "give two --model at least"),
        ((*TWO, *FGSM, "--survivors"), "leave --survivors out"),
        ((*TWO, *FGSM, "--shard", "1/2"), "--transfer follows a run that one process finishes"),
        ((*TWO, "--attacks", "clean,noise", "--eps", "8/255"), "--transfer needs an attack"),
        (
            (*TWO[:2], "--label", "a", *TWO[:2], "--label", "b", *FGSM),
            "a and b are one network; --transfer needs different ones",
        ),
    ],
)
def test_eval_refuses_before_it_starts_what_cannot_be_transferred(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    out = tmp_path / "run"
    assert main(["eval", *arguments, *FASHION, "--transfer", "--out", str(out)]) == 1
    assert message in one_line(capsys)
    assert not out.exists()


def test_eval_refuses_models_that_see_unlike_pixels(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    """DeiT-tiny resizes to 256, and timm's test_vit to another size."""
    models = ("--model", "deit_tiny_patch16_224=random:0", "--model", "timm:test_vit=random:0")
    out = site.root / "unlike"
    data = ("--data", str(site.data), "--device", "cpu", "--out", str(out))
    assert main(["eval", *models, *data, *FGSM, "--transfer"]) == 1
    assert "sees other pixels than deit_tiny_patch16_224" in one_line(capsys)
    assert not out.exists()
