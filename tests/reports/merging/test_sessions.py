"""Processes that were not alike are seen, and said on every number of their run."""

import json
from pathlib import Path
from typing import Any

import pytest

from reports import merge, results
from reports.merging.sessions import Session, mixtures, read_sessions
from robustbench_twicing.errors import UserError
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.session import add_session
from tests.reports.made import Outcomes, write_run

ALIKE: dict[str, Any] = {
    "started": "2026-01-01T00:00:00+00:00",
    "robustbench_twicing": "0.1.0",
    "git": {"commit": "a" * 40, "dirty": False},
    "python": "3.11.7",
    "versions": {"torch": "2.3.0", "timm": "1.0.3", "foolbox": None},
    "device": "cpu (x86_64)",
    "cpu_capability": "AVX2",
    "threads": 1,
    "command": ["run_eval.py", "eval"],
}
NEWER = {"versions": {"torch": "2.4.0", "timm": "1.0.3", "foolbox": None}}
RANKS: Outcomes = {"clean": [0, 1, 0], "pgd@1/255": [1, 1, 0]}


def session(**changed: Any) -> Session:
    return Session.model_validate(ALIKE | changed)


def note(folder: RunFolder, *changes: dict[str, Any]) -> RunFolder:
    """Write one session for each change, one after the other."""
    for second, change in enumerate(changes):
        add_session(folder, ALIKE | {"started": f"2026-01-01T00:00:{second:02}+00:00"} | change)
    return folder


@pytest.mark.parametrize(
    ("change", "flag", "words"),
    [
        (NEWER, "mixed-versions", "torch 2.3.0 and 2.4.0"),
        ({"python": "3.12.1"}, "mixed-versions", "Python 3.11.7 and 3.12.1"),
        ({"robustbench_twicing": "0.2.0"}, "mixed-versions", "robustbench_twicing 0.1.0 and 0.2.0"),
        (
            {"git": {"commit": "b" * 40, "dirty": True}},
            "mixed-versions",
            f"commit {'a' * 10} and {'b' * 10} (changed)",
        ),
        ({"git": None}, "mixed-versions", f"commit {'a' * 10} and no checkout"),
        ({"versions": {"torch": "2.3.0"}}, "mixed-versions", "timm 1.0.3 and none"),
        ({"device": "cuda:0 (H100)"}, "mixed-machines", "device cpu (x86_64) and cuda:0 (H100)"),
        ({"cpu_capability": "AVX512"}, "mixed-machines", "CPU capability AVX2 and AVX512"),
    ],
)
def test_what_differs_is_named(change: dict[str, Any], flag: str, words: str) -> None:
    assert list(mixtures([session(), session(**change), session()])) == [(flag, words)]


def test_kernels_and_batch_sizes_differ_only_where_they_are_known() -> None:
    plain, other = session(kernels="plain", batch_size=32), session(kernels="onednn", batch_size=8)
    assert not list(mixtures([session(), plain]))
    assert list(mixtures([session(), plain, other])) == [
        ("mixed-machines", "kernels plain and onednn, batch size 32 and 8")
    ]


@pytest.mark.slow
def test_shards_of_unlike_kernels_are_one_run_and_say_so(tmp_path: Path) -> None:
    """Of an early version, which noted the kernels in the manifest alone; and of this one."""
    for name, noted in (("early", {}), ("now", {"kernels": "onednn contiguous"})):
        folders = []
        for number, kernels in enumerate(("plain", "onednn"), start=1):
            details = {"kernels": kernels, "memory_format": "contiguous"}
            shard = write_run(
                tmp_path / name / kernels,
                {"a": RANKS},
                models={"a": {"details": details}},
                part_size=2,
                shard=(number, 2),
            )
            folders.append(note(shard, noted if kernels == "onednn" else {}))
        runs = merge(folders)
        assert results(runs)["flags"].tolist() == ["mixed-machines"] * 2
        assert results(runs)["status"].tolist() == ["ok"] * 2
        (sentence,) = runs.notes
        assert "kernels plain contiguous and onednn contiguous" in sentence


@pytest.mark.parametrize("change", [{}, {"threads": 8}, {"started": "x"}, {"command": []}])
def test_what_changes_no_number_is_no_difference(change: dict[str, Any]) -> None:
    assert not list(mixtures([session(), session(**change)]))
    assert not list(mixtures([]))


def test_of_many_values_a_few_are_named() -> None:
    several = [session(python=f"3.11.{number}") for number in range(9)]
    ((_, words),) = mixtures(several)
    assert words == "Python 3.11.0, 3.11.1, 3.11.2, 3.11.3 and 5 more"


@pytest.mark.slow
def test_a_run_of_unlike_processes_is_flagged_and_said(tmp_path: Path) -> None:
    mixed = note(write_run(tmp_path / "mixed", {"a": RANKS}), {}, NEWER, {"device": "cuda:0"})
    alike = note(write_run(tmp_path / "alike", {"b": RANKS}), {}, {"threads": 4})
    runs = merge([mixed, alike])
    table = results(runs)
    assert table["flags"].tolist() == ["mixed-versions;mixed-machines"] * 2 + [""] * 2
    assert runs.notes == (
        f"{mixed.path}: unlike processes worked on it: torch 2.3.0 and 2.4.0.",
        f"{mixed.path}: unlike processes worked on it: device cpu (x86_64) and cuda:0.",
    )


@pytest.mark.slow
def test_shards_of_unlike_machines_are_one_run(tmp_path: Path) -> None:
    folders = [
        note(write_run(tmp_path / name, {"a": RANKS}, part_size=2, shard=(number, 2)), change)
        for number, (name, change) in enumerate({"x": {}, "y": NEWER}.items(), start=1)
    ]
    table = results(merge(folders))
    assert table["flags"].tolist() == ["mixed-versions"] * 2
    assert set(results(folders[0])["flags"]) == {""}


def test_runs_that_differ_from_each_other_are_said_and_not_flagged(tmp_path: Path) -> None:
    folders = [
        note(write_run(tmp_path / name, {name: RANKS}), change)
        for name, change in {"a": {}, "b": NEWER}.items()
    ]
    runs = merge(folders)
    assert set(results(runs)["flags"]) == {""}
    assert runs.notes == ("The runs were not all computed alike: torch 2.3.0 and 2.4.0.",)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", "{}", '{"started": 3}', "\0", '{"started": "x", "versions": "y"}']
    + [json.dumps(ALIKE | {name: 3.5}) for name in ("git", "command", "device")],
)
def test_a_damaged_file_is_one_line(content: str, tmp_path: Path) -> None:
    folder = note(write_run(tmp_path / "run", {"a": RANKS}), {})
    (file,) = (folder.path / "sessions").iterdir()
    assert read_sessions(folder.path) == [session()]
    file.write_text(content)
    with pytest.raises(UserError, match=r"sessions/.*; it only says .*: delete it to report"):
        merge([folder])
