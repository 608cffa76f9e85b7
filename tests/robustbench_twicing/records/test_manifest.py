"""Where two manifests differ first, in words."""

from typing import Any

import pytest

from robustbench_twicing.records.identity import first_difference
from robustbench_twicing.records.schema import SCHEMA_VERSION, Status, check_version


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": 1}, {"a": 2}, "a: 1 there, 2 asked for"),
        ({"a": {"b": {"c": 2}}}, {"a": {"b": {"c": 3}}}, "a.b.c: 2 there, 3 asked for"),
        ({"a": [1]}, {"a": [1, 2]}, "a: 1 there, 2 asked for"),
        ({"a": [1, 2]}, {"a": [2, 3]}, "a: 1 there, 3 asked for"),
        ({"a": [1, 2]}, {"a": [2, 1]}, "a: 1, 2 there, 2, 1 asked for"),
        ({"a": [1]}, {"a": []}, "a: 1 there, none asked for"),
        ({"a": 1}, {}, "a: 1 there, nothing asked for"),
        ({}, {"a": 1}, "a: nothing there, 1 asked for"),
        ({"a": [1]}, {"a": "x"}, "a: 1 there, x asked for"),
        ({"a": 1, "b": 2}, {"b": 3, "a": 2}, "a: 1 there, 2 asked for"),
        ({"a": True}, {"a": False}, "a: True there, False asked for"),
        ({"a": "x" * 100}, {"a": 1}, f"a: {'x' * 77}... there, 1 asked for"),
    ],
)
def test_the_first_difference_is_named(old: Any, new: Any, words: str | None) -> None:
    found = first_difference(old, new)
    said = None if found is None else f"{found.path}: {found.old} there, {found.new} asked for"
    assert said == words


def test_only_this_version_is_read() -> None:
    check_version(SCHEMA_VERSION, "x")
    assert SCHEMA_VERSION == 1


def test_states_are_written_as_words() -> None:
    assert [str(each) for each in Status] == ["ok", "error", "skipped", "missing"]
