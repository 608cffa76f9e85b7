"""Console, CSV, LaTeX and the page say what pandas counts in the raw Parquet, and nothing else."""

import html
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from reports import Runs, merge, print_results, results
from reports.page import write_page
from reports.statistics.comparison import compare
from reports.tables.formats.as_latex import as_latex
from reports.tables.formats.as_text import as_csv, as_json
from reports.tables.presets import preset_tables
from tests.reports.made import Outcomes, write_run

IMAGES = 60
CONDITIONS = ("clean", "fgsm@1/255", "fgsm@4/255", "pgd@1/255", "pgd@4/255")
LABELS = ("one", "two", "three")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of random outcomes, one of them in two shards."""
    root = tmp_path_factory.mktemp("runs")
    draw = np.random.default_rng(7)

    def ranks(hardness: float) -> list[int | str | None]:
        right = draw.random(IMAGES) > hardness
        return [0 if each else int(draw.integers(1, 9)) for each in right]

    made: dict[str, Outcomes] = {
        label: {name: ranks(0.15 + 0.15 * at) for at, name in enumerate(CONDITIONS)}
        for label in LABELS
    }
    for shard in (1, 2):
        two = {label: made[label] for label in LABELS[:2]}
        write_run(root / f"a{shard}", two, part_size=7, shard=(shard, 2))
    write_run(root / "b", {LABELS[2]: made[LABELS[2]]}, part_size=7)
    return root


@pytest.fixture(scope="module")
def runs(folder: Path) -> Runs:
    from robustbench_twicing.records.run_folder import RunFolder

    return merge([RunFolder.open(path) for path in sorted(folder.iterdir())])


@pytest.fixture(scope="module")
def raw(folder: Path) -> pd.DataFrame:
    """Every record on disk, read without any of the package's code."""
    parts = [pq.read_table(path).to_pandas() for path in folder.rglob("*.parquet")]
    names = ["label", "condition"]
    whole: pd.DataFrame = pd.concat(parts).astype(dict.fromkeys(names, str))
    return whole.sort_values("index")


def counted(raw: pd.DataFrame) -> Iterator[tuple[str, str, dict[str, float]]]:
    """By label and condition, the numbers as plain arithmetic gives them."""
    for label in LABELS:
        clean = raw[(raw["label"] == label) & (raw["condition"] == "clean")].set_index("image")
        for condition in CONDITIONS:
            own = raw[(raw["label"] == label) & (raw["condition"] == condition)].set_index("image")
            right = own["rank"] == 0
            low, high = proportion_confint(int(right.sum()), IMAGES, method="wilson")
            both = right & (clean["rank"].reindex(own.index) == 0)
            yield (
                label,
                condition,
                {
                    "top1": 100 * right.sum() / IMAGES,
                    "top5": 100 * (own["rank"] < 5).sum() / IMAGES,
                    "top1_ci_low": 100 * low,
                    "top1_ci_high": 100 * high,
                    "robust_top1": 100 * both.sum() / IMAGES,
                    "n_images": len(own),
                },
            )


@pytest.mark.slow
def test_results_are_what_pandas_counts(runs: Runs, raw: pd.DataFrame) -> None:
    table = results(runs).set_index(["label", "condition"])
    assert len(table) == len(LABELS) * len(CONDITIONS)
    for label, condition, wanted in counted(raw):
        for name, value in wanted.items():
            assert table.loc[(label, condition), name] == pytest.approx(value, abs=1e-9), name


@pytest.mark.slow
def test_every_format_shows_these_numbers(runs: Runs, raw: pd.DataFrame) -> None:
    """Full precision in CSV and JSON, two digits in LaTeX."""
    (sheet,) = preset_tables("results", runs, results(runs))
    csv = pd.read_csv(io.StringIO(as_csv(sheet)), index_col=["model", "condition"])
    rows = json.loads(as_json(sheet))["rows"]
    values = {tuple(row["names"].values()): row["values"] for row in rows}
    latex = {
        tuple(cells[:2]): cells[2:]
        for line in as_latex(sheet).splitlines()
        for cells in [[cell.strip(" \\") for cell in line.split("&")]]
        if cells[0] in LABELS
    }
    for label, condition, wanted in counted(raw):
        order = [wanted[n] for n in ("top1", "top1_ci_low", "top1_ci_high", "top5", "robust_top1")]
        shown = ["top-1", "top1_ci_low", "top1_ci_high", "top-5", "robust"]
        assert list(csv.loc[(label, condition), shown]) == pytest.approx(order, abs=1e-9)
        assert values[label, condition][:5] == pytest.approx(order, abs=1e-9)
        assert latex[label, condition][:5] == [f"{value:.2f}" for value in order]


@pytest.mark.slow
def test_the_console_shows_these_numbers(runs: Runs, raw: pd.DataFrame) -> None:
    console = Console(file=io.StringIO(), width=100, color_system=None)
    print_results(runs, results(runs), console)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    sections = dict(zip(LABELS, re.split(r"^\w+ on val, ", text, flags=re.M)[1:], strict=True))
    for label, condition, wanted in counted(raw):
        (line,) = (row for row in sections[label].splitlines() if f" {condition} " in row)
        cells = [cell.strip() for cell in re.split("[│|]", line)[2:6]]
        assert cells == [
            f"{wanted['top1']:.2f}",
            f"{wanted['top1_ci_low']:.1f}-{wanted['top1_ci_high']:.1f}",
            f"{wanted['top5']:.2f}",
            f"{wanted['robust_top1']:.2f}",
        ]


@pytest.mark.slow
def test_the_page_has_these_numbers_in_full(runs: Runs, raw: pd.DataFrame, tmp_path: Path) -> None:
    text = write_page(runs, results(runs), tmp_path).read_text()
    text = text[text.index('<section id="all">') :].replace("<wbr>", "")
    cells_found: dict[tuple[str, str], list[float]] = {}
    for row in re.findall(r"<tr[^>]*>(.*?)</tr>", text, flags=re.S):
        names = [html.unescape(each) for each in re.findall(r'<th scope="row">(.*?)</th>', row)]
        if len(names) == 2:
            cells_found[names[0], names[1]] = [
                float(v) for v in re.findall(r'data-value="(.*?)"', row)
            ]
    for label, condition, wanted in counted(raw):
        order = [wanted[n] for n in ("top1", "top1_ci_low", "top1_ci_high", "top5", "robust_top1")]
        assert cells_found[label, condition][:5] == pytest.approx(order, abs=1e-9)


@pytest.mark.slow
def test_differences_and_p_values_are_what_scipy_says(runs: Runs, raw: pd.DataFrame) -> None:
    comparison = compare(runs, results(runs))
    rights: Any = (raw.assign(right=raw["rank"] == 0)).pivot(
        index="image", columns=["label", "condition"], values="right"
    )
    assert len(comparison.rows) == 2 * len(CONDITIONS)
    for row in comparison.rows.to_dict("records"):
        names = [(name, row["condition"]) for name in (LABELS[0], row["label"])]
        base, own = (rights[name].astype(bool) for name in names)
        lost, won = int((base & ~own).sum()), int((own & ~base).sum())
        assert (row["n_only_baseline"], row["n_only_label"]) == (lost, won)
        assert row["difference"] == pytest.approx(100 * (won - lost) / IMAGES)
        assert row["p"] == pytest.approx(binomtest(won, won + lost).pvalue)
        assert row["p"] <= row["p_holm"] <= 1
        assert row["difference_ci_low"] <= row["difference"] <= row["difference_ci_high"]
        changed = comparison.changed
        own_rows = changed[
            (changed["label"] == row["label"]) & (changed["condition"] == row["condition"])
        ]
        assert set(own_rows["image"]) == set(base.index[base != own])
