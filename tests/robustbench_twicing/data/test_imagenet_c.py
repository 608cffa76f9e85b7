"""Names of corruptions and severities, as they are typed."""

import pytest

from attacks.corruptions import CORRUPTIONS
from robustbench_twicing.data.imagenet_c import (
    CATEGORIES,
    EXTRA,
    GROUPS,
    MAIN,
    SEVERITIES,
    Cell,
    cells,
    is_corruption,
    parse_corruptions,
    parse_id,
    parse_severities,
)
from robustbench_twicing.errors import UserError


def test_the_generator_declares_the_nineteen_in_their_groups() -> None:
    declared = {name: CORRUPTIONS[name].group for name in GROUPS["all"]}
    assert declared == {name: group for group, names in CATEGORIES.items() for name in names}
    assert (len(MAIN), len(EXTRA)) == (15, 4)


def test_words_stand_for_many_names_and_none_comes_twice() -> None:
    assert parse_corruptions("main") == MAIN
    assert parse_corruptions("all") == (*MAIN, *EXTRA)
    assert parse_corruptions("fog, extra,fog") == ("fog", *EXTRA)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("3", (3,)),
        ("1,3,5", (1, 3, 5)),
        ("1-5", SEVERITIES),
        (" 2 - 3, 5,2", (2, 3, 5)),
        ("5,1", (5, 1)),
        ("4-4", (4,)),
    ],
)
def test_severities_are_numbers_or_ranges(text: str, wanted: tuple[int, ...]) -> None:
    assert parse_severities(text) == wanted


@pytest.mark.parametrize("text", ["", "0", "6", "1-6", "3-1", "1.5", "1,,2", "one", "1-", "12"])
def test_other_severities_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="are not of 1 to 5, like 3"):
        parse_severities(text)


def test_ids_and_back() -> None:
    assert Cell("fog", 3).id == "imagenet-c/fog/3"
    assert parse_id("imagenet-c/fog/3") == (("fog",), (3,))
    assert parse_id("imagenet-c/fog") == (("fog",), SEVERITIES)
    assert parse_id("imagenet-c/main/2-3") == (MAIN, (2, 3))
    assert is_corruption("imagenet-c/fog/3")
    assert is_corruption("imagenet-c")
    assert is_corruption("corruption/rain")
    assert not is_corruption("imagenet-craft")
    assert cells(("fog", "snow"), (1, 2)) == [
        Cell(name, severity) for name in ("fog", "snow") for severity in (1, 2)
    ]
    assert len(cells(MAIN)) == 75


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("imagenet-c", "is not imagenet-c/CORRUPTION/SEVERITY, like imagenet-c/fog/3"),
        ("imagenet-c/fog/3/x", "is not imagenet-c/CORRUPTION/SEVERITY"),
        ("imagenet-c/fogg/3", "no corruption is called 'fogg'. Did you mean 'fog'"),
        ("imagenet-c/fog/9", "severities '9' are not of 1 to 5"),
    ],
)
def test_mistakes_are_explained(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_id(name)
