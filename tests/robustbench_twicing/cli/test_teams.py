"""Processes that share a run, from the side of one: their counters, their end, their last word."""

import time
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from torch._C._distributed_c10d import HashStore

from robustbench_twicing.cli import results
from robustbench_twicing.cli import run as evaluating
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation import distributed
from robustbench_twicing.evaluation.distributed import Team, _age
from tests.robustbench_twicing.cli.conftest import Site


class Counters:
    """What torchrun's store is to a team, while it lives."""

    def __init__(self, **values: int) -> None:
        self.values = values
        self.alive = True

    def add(self, name: str, amount: int) -> int:
        """The new value."""
        if not self.alive:
            raise RuntimeError("Failed to recv, got 0 bytes")
        self.values[name] = self.values.get(name, 0) + amount
        return self.values[name]


class OtherIsDone(Team):
    """Rank 0 of two processes, of which the other has nothing to say."""

    def gather(self, value: Any) -> list[Any]:
        """The same from both."""
        return [value, value]


def test_a_launcher_that_is_gone_is_one_line() -> None:
    counters = Counters()
    team = Team(1, 2, 1, counters)  # type: ignore[arg-type]
    team.add_progress(3, 1.5)
    assert team.progress() == (3, 1.5)
    counters.alive = False
    with pytest.raises(UserError, match="has ended; finished parts are kept, and the same command"):
        team.add_progress(1, 1)
    with pytest.raises(UserError, match="has ended"):
        team.finish(early=False, meanwhile=lambda: None)


@pytest.mark.slow
def test_a_team_with_a_shard_does_not_wait_for_the_other_shards(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def waits(seconds: float) -> None:
        raise AssertionError("it waits")

    def joined() -> Team:
        return OtherIsDone(0, 2, 0, Counters(finished=1))  # type: ignore[arg-type]

    monkeypatch.setattr("robustbench_twicing.evaluation.distributed.join_team", joined)
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=waits)
    monkeypatch.setattr("robustbench_twicing.cli.run.time", clock)
    assert site.eval("--attacks", "clean", "--shard", "1/2") == 0


def test_each_gathering_has_the_texts_of_its_own_turn() -> None:
    store = HashStore()
    first, second = Team(0, 2, 0, store), Team(1, 2, 1, store)
    store.set("gather/1/1", '"b"')
    assert first.gather("ä\n") == ["ä\n", "b"]
    store.set("gather/2/1", '"d"')
    assert first.gather("c") == ["c", "d"]
    assert second.gather("b") == ["ä\n", "b"]
    assert second.gather("d") == ["c", "d"]


def test_restarts_share_one_time_limit() -> None:
    from torch.distributed.distributed_c10d import PrefixStore

    store = HashStore()
    store.set_timeout(timedelta(seconds=5))
    assert _age(PrefixStore("attempt 0", PrefixStore("worker", store))) < 60
    store.set("robustbench_twicing/began", repr(time.time() - 7200))
    assert 7200 <= _age(PrefixStore("attempt 1", store)) < 7260
    assert evaluating._make_stop(1.9, 7200).now
    assert not evaluating._make_stop(2.1, 7200).now


@pytest.mark.slow
def test_the_last_results_are_those_of_the_complete_run(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another process finishes, and writes its results, while this one makes its table."""
    save, calls = results.save_tables, 0

    def late(*arguments: Any) -> list[Path]:
        nonlocal calls
        calls += 1
        if calls == 1:
            assert site.eval("--attacks", "clean") == 0
        return save(*arguments)

    monkeypatch.setattr(results, "save_tables", late)
    assert site.eval("--attacks", "clean", "--max-hours", "1e-9") == 0
    assert "images left" not in capsys.readouterr().err
    assert site.results()["clean"]["status"] == "ok"


def test_a_silent_process_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(distributed, "SILENCE", 0.05)
    monkeypatch.setattr(distributed, "POLL", 0.02)
    team = Team(0, 3, 0, HashStore())
    team._add("finished", 1)
    team._add("finished/2", 1)
    assert not team.finish(early=False, meanwhile=lambda: None)
    assert caplog.messages == ["process 1 of 3 has ended without a word"]
    with pytest.raises(UserError, match="process 1 of 3 has ended without a word; finished parts"):
        team.gather("")


def test_a_process_counts_as_dead_two_minutes_after_its_last_heartbeat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    team = Team(0, 2, 0, HashStore())
    silent = []
    for now, beats in ((1000, 0), (1120, 0), (1121, 0), (1122, 1), (1242, 0), (1243, 0)):
        clock = SimpleNamespace(monotonic=partial(float, now))
        monkeypatch.setattr(distributed, "time", clock)
        team._add("heartbeats/1", beats)
        silent.append(team._silent([1]))
    assert silent == [[], [], [1], [], [], [1]]
