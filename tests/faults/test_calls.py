"""Whatever call of an evaluation fails, it ends in one line, and the same command goes on."""

import errno
import gc
import os
from pathlib import Path

import pytest

from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.records import compaction
from robustbench_twicing.records.run_folder import RunFolder
from tests.faults.calls import Failing, watched
from tests.robustbench_twicing.cli.conftest import Site, make_site
from tests.tiny import text

pytestmark = pytest.mark.slow

TRIED = int(os.environ.get("FAULT_KILLS", "8"))
"""Calls of each kind of error, of some three hundred; `make fault` tries 40."""


def evaluate(site: Site, out: str) -> int:
    """Five parts, three of which become one file, and then the other two."""
    attacks = ("--attacks", "clean,fgsm", "--eps", "4/255")
    return site.eval(*attacks, "--limit", "5", "--batch-size", "1", out=out)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return make_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that three parts are many."""
    monkeypatch.setattr(compaction, "FEW", 1)
    monkeypatch.setattr(compaction, "MOST_RECORDS", 6)


def costs(out: Path) -> dict[int, str]:
    """Of every part that is there, in seconds, too, which are never the same twice."""
    if not (out / "run.json").exists():
        return {}
    folder = RunFolder.open(out)
    (evaluation,) = folder.manifest.evaluations
    parts = folder.some_parts(evaluation, range(5))
    return {part: repr(records.costs) for part, records in parts}


@pytest.mark.parametrize(
    "code",
    [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE],
    ids=errno.errorcode.get,
)
def test_a_call_fails(code: int, place: Site, capsys: pytest.CaptureFixture[str]) -> None:
    name = errno.errorcode[code]
    unharmed = Failing(0, code)
    unharmed.at = 10**9
    with watched(place.root / name, unharmed):
        assert evaluate(place, name) == 0
    wanted = text(Run(RunFolder.open(place.root / name)).records())
    for number in range(TRIED):
        # Of neighbouring numbers of tries, and of the five errors, none asks for the same calls.
        call = 1 + (number * unharmed.calls + code) // TRIED
        out = f"{name}-{call}"
        capsys.readouterr()
        with watched(place.root / out, Failing(call, code)):
            status = evaluate(place, out)
        err = capsys.readouterr().err
        lines = [line for line in err.splitlines() if line.startswith("robustbench-twicing: ")]
        assert status in (0, 1)
        assert len(lines) == status
        assert "Traceback" not in err
        assert all(os.strerror(code) in line for line in lines)
        kept = costs(place.root / out)
        assert status or len(kept) == 5
        gc.collect()  # a process that ended reads no more, which an error in this one still does
        assert evaluate(place, out) == 0
        assert kept.items() <= costs(place.root / out).items(), "a whole part was redone"
        assert text(Run(RunFolder.open(place.root / out)).records()) == wanted
        assert len(list((place.root / out).rglob("*part-*"))) == 2
