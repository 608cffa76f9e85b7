"""Names of files: short, safe, told apart."""

import pandas as pd
import pytest

from reports.text.file_names import LONGEST, file_name, places, told_apart


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("accuracy", "pgd"), "accuracy-pgd"),
        (("corruption-map", "fmnist_twicing[3-4]"), "corruption-map-fmnist_twicing-3-4"),
        (("table1", "fashion-mnist:test1000", "pixel"), "table1-fashion-mnist-test1000-pixel"),
        (("differences", ""), "differences"),
        (("corruption-map", "模型"), "corruption-map"),
        (("../../etc/passwd",), "etc-passwd"),
        (("a b\n/c", "=x"), "a-b-c-x"),
        (("模型",), "unnamed"),
        (("x" * 200,), "x" * LONGEST),
    ],
)
def test_a_name_is_short_and_safe(parts: tuple[str, ...], name: str) -> None:
    assert file_name(*parts) == name


def test_names_that_are_alike_are_numbered_whatever_their_letters() -> None:
    names = ["a", "A", "b", "a", "a-2"]
    assert list(told_apart(names)) == ["a", "A-2", "b", "a-3", "a-2-2"]
    assert list(told_apart([])) == []


def test_only_what_is_open_is_named() -> None:
    whole = pd.DataFrame({"dataset": ["v", "v"], "protocol": ["pixel", "paper"]})
    assert places(whole.iloc[1:], whole, ("dataset", "protocol")) == ["paper"]
    assert places(whole.iloc[:1], whole.iloc[:1], ("dataset", "protocol")) == []
