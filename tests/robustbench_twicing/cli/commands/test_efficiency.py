"""efficiency: the table, the file, and mistakes before any work."""

import csv
from pathlib import Path

import pytest
from safetensors.torch import save_file

from robustbench_twicing.classifiers.loading import load_model
from robustbench_twicing.cli.app import main

COLUMNS = (
    "label,ms_per_image_median,ms_p25,ms_p75,gmacs,params_million,peak_mib,"
    "batch_size,threads,device"
)


def efficiency(*arguments: str) -> int:
    return main(["efficiency", "--device", "cpu", "--rounds", "2", *arguments])


@pytest.mark.slow
def test_table_and_file_of_two_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "cost.csv"
    models = ("--model", "timm:test_vit", "--model", "timm:test_vit2=random:1")
    labels = ("--label", "A", "--label", "[b]B[/b]")
    assert efficiency(*models, *labels, "--batch-size", "2", "--out", str(out)) == 0
    shown = capsys.readouterr().out
    assert "[b]B[/b]" in shown
    assert "batch size 2" in shown
    assert out.read_text().splitlines()[0] == COLUMNS
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == ["A", "[b]B[/b]"]
    for row in rows:
        low, middle, high = (
            float(row[name]) for name in ("ms_p25", "ms_per_image_median", "ms_p75")
        )
        assert 0 < low <= middle <= high
        assert float(row["gmacs"]) > 0
        assert float(row["peak_mib"]) > float(row["params_million"]) * 4e6 / 2**20
        assert row["batch_size"] == "2"


@pytest.mark.slow
def test_long_names_are_whole(capsys: pytest.CaptureFixture[str]) -> None:
    label = "x" * 60 + "end"
    assert efficiency("--model", "timm:test_vit", "--label", label) == 0
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert "end" in shown


@pytest.mark.slow
def test_own_code_needs_no_weights(tmp_path: Path) -> None:
    code = tmp_path / "own.py"
    code.write_text(
        "import torch\n\n\ndef build():\n"
        "    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 224 * 224, 2))\n"
    )
    out = tmp_path / "cost.csv"
    assert efficiency("--model", f"{code}:build", "--out", str(out)) == 0
    (row,) = csv.DictReader(out.read_text().splitlines())
    assert float(row["gmacs"]) == pytest.approx(3 * 224 * 224 * 2 / 1e9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "."), "is a folder; name a file"),
        (("--device", "tpu"), "Known: auto, cpu, cuda"),
        (("--threads", "0"), "not a positive number"),
        (("--rounds", "0"), "rounds"),
        (("--batch-size", "0"), "batch-size"),
        (("--batch-size", "auto"), "efficiency measures at one batch size; give a number"),
        (("--label", "a", "--label", "b"), "give one for each"),
        (("--model", "timm:test_vt"), "test_vt"),
        (("--attention", "flash"), "flash"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert efficiency("--model", "timm:test_vit", *arguments) == 1
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert message in err


def test_the_network_is_the_one_that_eval_takes(tmp_path: Path) -> None:
    """Another head, another size of input, and a file of weights for all."""
    network = load_model("timm:test_vit", "random:0", num_classes=7, crop=96).network
    save_file(network.state_dict(), tmp_path / "w.safetensors")
    size = ["--num-classes", "7", "--crop", "96", "--rounds", "1"]
    given = ["--model", "timm:test_vit", "--checkpoint", str(tmp_path / "w.safetensors"), *size]
    assert efficiency(*given, "--out", str(tmp_path / "e.csv")) == 0
    (row,) = csv.DictReader((tmp_path / "e.csv").read_text().splitlines())
    parameters = sum(parameter.numel() for parameter in network.parameters())
    assert float(row["params_million"]) == pytest.approx(parameters / 1e6)


def test_report_says_how_the_csv_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "efficiency.csv"
    file.write_text("label\n")
    assert main(["report", str(file)]) == 1
    assert "is a file; give the folder" in (said := capsys.readouterr().err)
    assert "for the CSV of efficiency, --preset efficiency" in said
