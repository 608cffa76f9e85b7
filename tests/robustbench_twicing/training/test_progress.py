"""Lines of progress: rate and time left count from where this process began."""

import pytest

import robustbench_twicing.training.progress as progress
from robustbench_twicing.training.progress import Lines, Progress


def test_rate_and_time_left_leave_out_what_was_done_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter((0.0, 5.0, 20.0, 40.0))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    lines = Lines("net", 8)
    for step in (100, 105, 120, 220):
        lines(Progress(3, step, 220, 1.5, 1e-3))
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "net: epoch 3, step 120/220, loss 1.500, lr 1.00e-03, 8 images/s, 1.7 min left",
        "net: epoch 3, step 220/220, loss 1.500, lr 1.00e-03, 24 images/s, 0.0 min left",
    ]
