"""All benchmarks in one run, onto one page.

    python -m benchmarks [--out docs/benchmarks.md] [--only pgd_time ...] [--threads 1]

Every benchmark is a script of its own as well; there its sizes can be chosen.
"""

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path

from benchmarks.machine import describe
from benchmarks.table import Table
from benchmarks.timing import set_up
from robustbench_twicing.files.atomic import write_atomically

BENCHMARKS = (
    *("pgd_time", "sweep_time", "spsa_time", "fmn_time"),
    *("kernels_time", "attention_time", "model_time", "analysis_time"),
    *("corruption_speed", "cache_time", "forms_time", "workers_time", "processes_time"),
    *("conditions_time", "overhead", "report_speed", "start_time", "script_time", "passes"),
)
INTRODUCTION = """\
# Benchmarks

Written by `make bench`, which runs the scripts in `benchmarks/` one after the other. Ways to do one
thing are timed in alternation in one process, and a ratio is the median over rounds of the times of
one round, so that what else the machine does meets all ways alike. A ratio below 1 is faster than
what the column names. What one thread computes is timed by the processor, everything else by the
wall clock. Times are of this machine at this load; ratios carry over better. Models have random
weights, on which the time does not depend. What is behind "At full size, and before" was measured
by the commands that it names, and is kept when the rest is written anew.
"""
KEPT = "## At full size, and before"
"""Heading of the end of the page, which is written by hand."""


def tables_of(names: Sequence[str]) -> Iterator[Table]:
    """The tables of these benchmarks, printed as they come, with the time each took."""
    for name in names:
        begun = time.perf_counter()
        for table in import_module(f"benchmarks.{name}").measure():
            print(table.markdown(), flush=True)
            yield table
        print(f"({name}: {time.perf_counter() - begun:.0f} s)\n", flush=True)


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="Markdown page to write")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=BENCHMARKS)
    parser.add_argument("--threads", type=int, default=1, help="CPU threads, default 1")
    asked = parser.parse_args()
    set_up(asked.threads)
    started, load = datetime.now(UTC), os.getloadavg()[0]
    tables = list(tables_of(asked.only))
    page = "\n".join(
        [INTRODUCTION, *(table.markdown() for table in (describe(started, load), *tables))]
    )
    if asked.out is not None:
        write_atomically(asked.out, partial(_write, f"{page}{kept(asked.out)}"))


def kept(page: Path) -> str:
    """The end of a page that is already there, from its heading on; empty where there is none."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    _, heading, end = text.partition(f"\n{KEPT}\n")
    return heading + end


def _write(page: str, path: Path) -> None:
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
