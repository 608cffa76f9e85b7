"""Lines of progress: rate and time left count from where this process began."""

import time

import pytest

from robustbench_twicing.training.progress import Lines, Progress


def test_rate_and_time_left_leave_out_what_was_done_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Lines("net", 8)
    for step, clock in ((100, 0.0), (105, 5.0), (120, 20.0), (220, 40.0)):
        with monkeypatch.context() as patch:
            patch.setattr(time, "monotonic", lambda clock=clock: clock)
            lines(Progress(3, step, 220, 1.5, 1e-3))
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "net: epoch 3, step 120/220, loss 1.500, lr 1.00e-03, 8 images/s, 1.7 min left",
        "net: epoch 3, step 220/220, loss 1.500, lr 1.00e-03, 24 images/s, 0.0 min left",
    ]
