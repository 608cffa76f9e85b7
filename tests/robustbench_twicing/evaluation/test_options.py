"""Options of a run; shards: every part once, the first parts of a process before others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustbench_twicing.cli.options.evaluation import EvalOptions
from robustbench_twicing.cli.request.request import make_run_options
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.options import WHOLE, Options, Shard


def test_the_command_line_has_the_defaults_of_python() -> None:
    assert make_run_options(EvalOptions()) == Options()


def test_a_shard_is_one_of_n() -> None:
    assert Shard.parse("2/3") == Shard(2, 3)
    for text in ("0/2", "3/2"):
        with pytest.raises(UserError, match=f"--shard {text} is not I/N with 1 <= I <= N"):
            Shard.parse(text)
    with pytest.raises(UserError, match="--shard 'x/2' is not I/N, like 1/4"):
        Shard.parse("x/2")


def test_alone_it_is_everything_in_order() -> None:
    assert WHOLE.parts(range(5)) == WHOLE.first_parts(range(5)) == [0, 1, 2, 3, 4]


def test_a_process_of_a_team_begins_with_its_own_and_takes_over_from_the_end() -> None:
    assert Shard(1, 1, rank=1, team_size=3).parts(range(9)) == [1, 4, 7, 8, 5, 2, 6, 3, 0]
    assert Shard(2, 2, rank=0, team_size=2).parts(range(9)) == [1, 5, 7, 3]


@pytest.mark.slow
@given(parts=st.integers(0, 40), shards=st.integers(1, 5), team=st.integers(1, 5))
def test_own_parts_of_all_processes_are_every_part_once(parts: int, shards: int, team: int) -> None:
    all_parts = range(parts)
    shards_of_all = [
        Shard(n + 1, shards, rank, team) for n in range(shards) for rank in range(team)
    ]
    assert sorted(part for shard in shards_of_all for part in shard.first_parts(all_parts)) == list(
        all_parts
    )
    for number in range(1, shards + 1):
        wanted = {part for part in all_parts if part % shards == number - 1}
        for rank in range(team):
            found = Shard(number, shards, rank, team).parts(all_parts)
            assert (set(found), len(found)) == (wanted, len(wanted))
