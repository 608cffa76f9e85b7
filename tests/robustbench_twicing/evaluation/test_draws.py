"""Networks that draw random numbers: several draws of each score, and the same ones every time."""

import io
import json
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from rich.console import Console
from torch import Tensor, nn

from reports import merge, print_results, results, with_worst
from reports.page.sections.summary import headlines
from reports.tables.presets import Choices, preset_tables
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.cli.app import main
from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.options import Options, Shard
from robustbench_twicing.evaluation.rows import right_in_draws
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.models.family import ModelRecord
from robustbench_twicing.records.parts import META, META_HASH, digest
from robustbench_twicing.records.run_folder import RunFolder
from tests.tiny import (
    PREPROCESSING,
    Halfspace,
    convnet,
    flags,
    greys,
    noise,
    quick_conditions,
    table,
    text,
)
from tests.tiny import run as evaluated

DRAWS, SIZE = 5, 0.02
LEVELS = [128 + distance for distance in (-9, -3, -1, 1, 2, 4, 8, 20)] * 4
"""Greys of which those above 127.5 are of class 1; all are labelled so."""


class Drawing(Halfspace):
    """The half-space with normal noise on the mean pixel, from the global generator of torch."""

    def forward(self, x: Tensor) -> Tensor:
        """Pixels (N, 3, H, W) to logits (N, 2)."""
        drawn = SIZE * torch.randn(len(x), 1, dtype=x.dtype)
        return super().forward(x) + torch.cat([-drawn, drawn], 1)


class Alternating(nn.Module):
    """Right on every second call: class 1, class 0, class 1, ..."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        """Pixels (N, 3, H, W) to logits (N, 2)."""
        self.calls += 1
        logits = torch.tensor([0.0, 1.0]) if self.calls % 2 else torch.tensor([1.0, 0.0])
        return logits.expand(len(x), 2) + 0 * x.flatten(1).sum(1, keepdim=True)


def classifier(network: nn.Module) -> Classifier:
    return Classifier(network, PREPROCESSING, ModelRecord("net"), normalize=False)


def data() -> Dataset:
    return greys(LEVELS, [1] * len(LEVELS))


def conditions() -> list[Condition]:
    return quick_conditions("clean", "fgsm", "pgd")


def run(out: Path, draws: int = 1, **options: Any) -> Run:
    """Two parts of four batches."""
    given = {"batch_size": 4, "part_size": 16, "draws": draws, **options}
    return evaluated(classifier(Drawing()), data(), conditions(), out, **given)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(tmp_path_factory.mktemp("draws") / "run", DRAWS)


def bits(records: pd.DataFrame, draws: int = DRAWS) -> np.ndarray[Any, Any]:
    """Whether each record is right in each draw (D, N)."""
    values = records["draws_right"].to_numpy(np.int64)
    return np.array([values >> draw & 1 for draw in range(draws)])


def test_bits_say_which_draw_is_right() -> None:
    right, wrong = torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.0])
    draws = [torch.stack(of) for of in ([right, wrong], [right, right], [wrong, right])]
    y = torch.tensor([1, 1])
    assert right_in_draws(draws, y) is not None
    assert right_in_draws(draws, y).tolist() == [0b011, 0b110]  # type: ignore[union-attr]
    assert right_in_draws(draws[:1], y) is None
    many = right_in_draws([torch.stack([right])] * 32, y[:1])
    assert many is not None
    assert many.tolist() == [2**32 - 1]


def test_the_first_draw_is_the_run_without_draws(drawn: Run, tmp_path: Path) -> None:
    single = run(tmp_path / "single")
    records = drawn.records()
    assert single.records()["draws_right"].isna().all()
    assert text(records.drop(columns="draws_right")) == text(
        single.records().drop(columns="draws_right")
    )
    assert np.array_equal(bits(records)[0], records["rank"] == 0)
    first, rows = table(single), table(drawn)
    for name, row in rows.items():
        assert (row["draws"], first[name]["draws"]) == (DRAWS, 1)
        assert math.isnan(first[name]["top1_mean"])
        assert math.isnan(first[name]["top1_sd"])
        assert row["top1"] == first[name]["top1"]
        assert row["n_forward"] == first[name]["n_forward"] + (DRAWS - 1) * len(LEVELS)
        assert row["n_backward"] == first[name]["n_backward"]


def test_mean_and_deviation_are_those_of_the_records(drawn: Run) -> None:
    for name, records in drawn.records().groupby("condition", observed=True):
        accuracies = 100 * bits(records).mean(1)
        row = table(drawn)[str(name)]
        assert row["top1_mean"] == pytest.approx(accuracies.mean(), abs=1e-12)
        assert row["top1_sd"] == pytest.approx(accuracies.std(ddof=1), abs=1e-12)
        assert row["top1_sd"] > 0
    assert "not-deterministic" in flags(drawn)
    assert "draws-equal" not in flags(drawn)


def test_clean_accuracy_over_many_draws_is_that_of_the_normal_distribution(tmp_path: Path) -> None:
    done = evaluated(
        classifier(Drawing()), data(), quick_conditions("clean"), tmp_path / "run", draws=32
    )
    row = table(done)["clean"]
    right = [math.erfc(-(level / 255 - 0.5) / SIZE / math.sqrt(2)) / 2 for level in LEVELS]
    spread = 100 * math.sqrt(sum(share * (1 - share) for share in right)) / len(right)
    assert row["top1_mean"] == pytest.approx(100 * np.mean(right), abs=3 * spread / math.sqrt(32))
    assert row["top1_sd"] == pytest.approx(spread, rel=0.4)


def test_draws_that_alternate_have_the_deviation_of_a_coin(tmp_path: Path) -> None:
    images = greys([128] * 3, [1] * 3)
    done = evaluated(
        classifier(Alternating()), images, quick_conditions("clean"), tmp_path / "run", draws=4
    )
    row = table(done)["clean"]
    assert set(done.records()["draws_right"]) <= {0b0101, 0b1010}
    assert (row["top1_mean"], row["top1_sd"]) == (50, pytest.approx(math.sqrt(4 * 2500 / 3)))


def test_of_a_network_that_does_not_draw_all_draws_are_equal(tmp_path: Path) -> None:
    names = ("clean", "fgsm", "noise")
    plain, several = (
        evaluated(convnet(), noise(6), quick_conditions(*names), tmp_path / str(draws), draws=draws)
        for draws in (1, 3)
    )
    assert "draws-equal" in flags(several)
    assert "draws-equal" not in flags(plain)
    without = "draws_right"
    assert text(several.records().drop(columns=without)) == text(
        plain.records().drop(columns=without)
    )
    for row in table(several).values():
        assert (row["top1_mean"], row["top1_sd"]) == (pytest.approx(row["top1"]), 0)


def states() -> list[Any]:
    legacy = np.random.get_state(legacy=True)  # noqa: NPY002
    return [random.getstate(), str(legacy), torch.get_rng_state().tolist()]


def test_the_same_command_gives_the_same_records_and_leaves_the_generators(
    drawn: Run, tmp_path: Path
) -> None:
    torch.rand(7)
    before = states()
    again = run(tmp_path / "again", DRAWS)
    assert states() == before
    assert text(again.records()) == text(drawn.records())
    assert text(run(tmp_path / "seed", DRAWS, seed=1).records()) != text(drawn.records())


def test_shards_have_the_draws_of_the_whole(drawn: Run, tmp_path: Path) -> None:
    parts = [run(tmp_path / str(index), DRAWS, shard=Shard(index, 2)).records() for index in (2, 1)]
    records = pd.concat(parts).sort_values("index", kind="stable", ignore_index=True)
    assert text(records) == text(drawn.records())


def test_what_an_attack_meets_does_not_depend_on_the_budgets_before_it(tmp_path: Path) -> None:
    """FGSM's mean gradient is computed at its first budget, and serves all."""
    budgets = [Fraction(1, 255), Fraction(4, 255)]
    both = quick_conditions("clean", "fgsm", "pgd", budgets=budgets)
    last = quick_conditions("clean", "fgsm", "pgd", budgets=budgets[1:])
    wanted = {condition.id for condition in last}
    lines = []
    for name, asked in (("both", both), ("last", last)):
        averaged = [item.averaging(2) if item.white_box else item for item in asked]
        records = evaluated(
            classifier(Drawing()), data(), averaged, tmp_path / name, batch_size=8
        ).records()
        lines.append(text(records[records["condition"].isin(wanted)]))
    assert lines[0] == lines[1]


@pytest.mark.parametrize("draws", [0, 33])
def test_there_are_1_to_32_draws(draws: int) -> None:
    with pytest.raises(UserError, match=f"--draws {draws} is not a number of draws from 1 to 32"):
        Options(draws=draws)


def test_survivors_mode_has_no_use_for_draws() -> None:
    with pytest.raises(UserError, match="--survivors refuses these; leave one of them out"):
        Options(draws=2, survivors=True)


def test_a_run_goes_on_with_its_own_draws(drawn: Run) -> None:
    line = "draws are 5 there and 4 here; give the same --draws, or use another --out"
    with pytest.raises(UserError, match=line):
        run(drawn.folder.path, 4)


def test_runs_of_unlike_draws_are_not_merged_under_one_label(drawn: Run, tmp_path: Path) -> None:
    other = evaluated(
        classifier(Drawing()), data(), quick_conditions("noise"), tmp_path / "run", batch_size=4
    )
    with pytest.raises(UserError, match=r"label net is two things: draws are 5 in .* and 1 in "):
        merge([drawn.folder, other.folder])


def test_a_folder_from_before_there_were_draws_is_read_and_continued(tmp_path: Path) -> None:
    done = run(tmp_path / "run")
    wanted, rows = text(done.records()), results(done.folder)
    settings = done.folder.path / "run.json"
    values = json.loads(settings.read_text())
    assert values.pop("draws") == 1
    settings.write_text(json.dumps(values))
    folder = RunFolder.open(done.folder.path)
    (evaluation,) = folder.manifest.evaluations
    folder.part_path(evaluation, 1).unlink()
    path = folder.part_path(evaluation, 0)
    part = pq.read_table(path).drop_columns("draws_right")
    meta = json.loads(part.schema.metadata[META])
    meta["belongs_to"] = folder.belongs_to(evaluation, range(1))
    about = {META: json.dumps(meta), META_HASH: digest(json.dumps(meta))}
    pq.write_table(part.replace_schema_metadata(about), path, write_page_checksum=True)
    continued = run(folder.path)
    assert text(continued.records()) == wanted
    unlike = ["seconds", "flags"]
    pd.testing.assert_frame_equal(
        results(continued.folder).drop(columns=unlike), rows.drop(columns=unlike)
    )
    (source,) = merge([continued.folder]).sources
    assert [len(files.paths) for files in source.files] == [1, 1]


def test_the_worst_case_is_of_the_first_draw(drawn: Run) -> None:
    rows = results(drawn.folder)
    worst = rows[rows["attack"] == "worst"].iloc[0]
    assert worst["draws"] == 1
    assert math.isnan(worst["top1_mean"])
    runs = with_worst(merge([drawn.folder]))
    assert runs.query("SELECT count(draws_right) AS n FROM records WHERE condition LIKE 'worst%'")[
        "n"
    ].tolist() == [0]
    assert runs.query("SELECT max(draws_right) AS most FROM records")["most"][0] == 2**DRAWS - 1


def shown(folders: Sequence[RunFolder]) -> str:
    console = Console(file=io.StringIO(), width=200, color_system=None)
    runs = merge(folders)
    print_results(runs, results(runs), console)
    file: Any = console.file
    output: str = file.getvalue()
    return output


def test_mean_and_spread_are_shown_with_the_number_of_draws(drawn: Run, tmp_path: Path) -> None:
    row = table(drawn)["clean"]
    spread = f"{row['top1_mean']:.2f} ± {row['top1_sd']:.2f}"
    output = " ".join(shown([drawn.folder]).split())
    assert "mean of draws %" in output
    assert f"net: top-1 is of the first of {DRAWS} draws of the network; mean ± " in output
    assert f"deviation over all of them: clean {spread}, fgsm@4/255 " in output
    runs = with_worst(merge([drawn.folder]))
    rows = results(runs)
    assert f"; of {DRAWS} draws {spread} %)" in next(headlines(rows))
    (whole,) = preset_tables("results", runs, rows, Choices())
    names = [column.name for column in whole.columns]
    assert whole.cell(0, names.index("mean of draws")) == f"{row['top1_mean']:.2f}"
    assert whole.cell(0, names.index("their sd")) == f"{row['top1_sd']:.2f}"
    assert "mean of draws" not in shown([run(tmp_path / "single").folder])


def test_options_of_the_command_line_are_counted_by_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fixed = ["--model", "fmnist_deit=bundled", "--data", "fashion-mnist:test1000", "--limit", "2"]
    attacks = ["--attacks", "clean,noise", "--eps", "4/255"]
    corrupted = ["--corruptions", "gaussian_noise", "--severities", "1"]
    command = [*fixed, *attacks, *corrupted, "--draws", "3"]
    assert main(["plan", *command]) == 0
    plan = capsys.readouterr().out
    assert main(["eval", *command, "--out", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    rows = results(RunFolder.open(tmp_path / "run")).set_index("condition")
    assert rows["n_forward"].to_list() == [6, 7, 6]
    for name in rows.index:
        (line,) = (line for line in plan.splitlines() if name in line)
        assert [int(cell) for cell in line.split("│")[2:4]] == [rows["n_forward"][name], 0]
    assert rows["top1_mean"].tolist() == pytest.approx(rows["top1"].tolist())
    assert set(rows["draws"]) == {3}
    assert main(["eval", *fixed, "--draws", "0", "--out", str(tmp_path / "other")]) == 1
    assert "--draws 0 is not a number of draws from 1 to 32" in capsys.readouterr().err
