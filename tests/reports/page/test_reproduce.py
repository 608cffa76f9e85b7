"""What a reader needs to repeat a run: the command as it was typed, and what computed it."""

from reports.merging.sessions import Session
from reports.page.sections.provenance import commands, software


def session(*command: str, started: str = "2026-01-02T03:04:05+00:00") -> Session:
    return Session.model_validate(
        {
            "started": started,
            "command": list(command),
            "robustbench_twicing": "0.1.0",
            "git": {"commit": "a" * 40, "dirty": False},
            "python": "3.11.7",
            "versions": {"torch": "2.14.1", "timm": None, "numpy": "2.0"},
            "device": "cpu (x86_64)",
            "threads": 2,
        }
    )


def test_commands_can_be_typed_again() -> None:
    typed = [
        session("/somewhere/run_eval.py", "eval", "--model", "twicing[3-4]=a b.pth"),
        session("/elsewhere/run_eval.py", "eval", "--model", "twicing[3-4]=a b.pth"),
        session("/usr/bin/robustbench-twicing", "demo"),
        session(),
    ]
    assert commands(typed) == [
        "python run_eval.py eval --model 'twicing[3-4]=a b.pth'",
        "robustbench-twicing demo",
    ]


def test_versions_and_machine_are_one_line_of_the_last_process() -> None:
    line = (
        "robustbench_twicing 0.1.0 (aaaaaaaaaa), Python 3.11.7, torch 2.14.1, cpu (x86_64), "
        "2 threads, started 2026-01-02 03:04 UTC"
    )
    assert software([session("a")]) == line
    assert software([session("a", started="2025"), session("a")]) == (
        f"{line}; and 1 other process, see below"
    )
    assert software([]) == ""
