"""Names of a network's classes are compared with ImageNet's, by index."""

from pathlib import Path

import pytest
from timm.data.imagenet_info import ImageNetInfo

from robustbench_twicing.checkpoints.beside.label_order import UNNAMED, check_labels
from robustbench_twicing.data.imagenet import wnids
from robustbench_twicing.errors import UserError

FILE = Path("config.json")
INFO = ImageNetInfo("imagenet-1k")
NAMES = [INFO.index_to_description(index) for index in range(1000)]


def by_index(names: list[str]) -> dict[str, str]:
    return {str(index): name for index, name in enumerate(names)}


@pytest.mark.parametrize(
    ("names", "known"),
    [
        (NAMES, 1000),
        (list(wnids()), 1000),
        ([name.split(",")[0].upper() for name in NAMES], 1000),
        (["a fish", "missile bird", *NAMES[2:]], 998),
    ],
)
def test_imagenets_order_is_known_by_any_of_its_names(names: list[str], known: int) -> None:
    order = check_labels(by_index(names), FILE)
    assert f"in ImageNet's order ({known} of 1000 known)" in order.note
    assert order.flags == ()


def test_two_classes_of_one_name_are_each_at_home() -> None:
    assert NAMES[134] == NAMES[517] == "crane"
    check_labels(by_index(NAMES), FILE)


def test_another_order_is_refused() -> None:
    swapped = [NAMES[1], NAMES[0], *NAMES[2:]]
    for names in (swapped, sorted(NAMES), list(reversed(wnids()))):
        with pytest.raises(UserError, match=r"class \d+ is .*, which is ImageNet's \d+: .* order"):
            check_labels(by_index(names), FILE)


def test_what_says_nothing_of_imagenet_is_not_judged() -> None:
    nameless = by_index([f"LABEL_{index}" for index in range(1000)])
    assert check_labels(nameless, FILE).note.startswith("config.json names no classes; that ")
    other = by_index([f"thing {index}" for index in range(1000)])
    assert "names classes as ImageNet does not ('thing 0', ...)" in check_labels(other, FILE).note
    for names in (nameless, other):
        assert check_labels(names, FILE).flags == (UNNAMED,)
    assert check_labels(by_index(["cat", "dog"]), FILE) == ("", ())


def test_indices_are_counted_from_zero() -> None:
    with pytest.raises(UserError, match="does not name the classes 0 to 1"):
        check_labels({"1": "cat", "2": "dog"}, FILE)
