"""Names without the start that all have, and without their middle."""

import pytest
from rich.cells import cell_len

from reports.text.shortening import common_start, shortened


@pytest.mark.parametrize(
    ("names", "start"),
    [
        (["fmnist_deit", "fmnist_fan"], "fmnist_"),
        (["fmnist_deit", "fmnist_deit_twicing"], "fmnist_"),
        (["deit_tiny[1-2]", "deit_tiny[3-4]"], "deit_tiny"),
        (["deit", "deit[10-12]"], ""),
        (["deit", "density"], ""),
        (["fmnist_deit"], ""),
        (["a_b", "a_b"], "a_"),
        (["", "a"], ""),
        ([], ""),
    ],
)
def test_a_start_ends_with_a_word_and_leaves_every_name_one(names: list[str], start: str) -> None:
    assert common_start(names) == start
    assert all(name[len(start) :] for name in names if name)


def test_a_long_name_keeps_its_start_and_its_end() -> None:
    assert shortened("fan_twicing", 11) == "fan_twicing"
    assert shortened("deit_tiny_patch16_224", 11) == "deit_…6_224"


@pytest.mark.parametrize("name", ["模型" * 20, "x" * 300, "a模" * 9])
@pytest.mark.parametrize("width", [4, 13, 20])
def test_short_names_are_no_wider_than_there_is_room(name: str, width: int) -> None:
    assert cell_len(shortened(name, width)) <= width
