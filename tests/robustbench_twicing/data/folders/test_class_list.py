"""Class lists: the forms that are read, and those that are refused."""

from pathlib import Path

import pytest

from robustbench_twicing.data.folders.class_list import read_classes
from robustbench_twicing.errors import UserError

GOOD = {
    "lines": ("c.txt", "cat\ndog\n", {"cat": 0, "dog": 1}, 2),
    "blank lines and spaces": ("c.txt", "\ufeffa b \r\n\r\n c\r\n", {"a b": 0, "c": 1}, 2),
    "wnids with words": ("c.txt", "n02 x\nn2\n", {"n02 x": 0, "n2": 1}, 2),
    "kaggle": ("c.txt", "n01440764 tench\nn01443537 x, y\n", {"n01440764": 0, "n01443537": 1}, 2),
    "json": ("c.json", '{"dog": 1, "cat": 0}', {"dog": 1, "cat": 0}, 2),
    "json list": ("c.JSON", '["cat", "dog"]', {"cat": 0, "dog": 1}, 2),
    "many to one": ("c.json", '{"dog": 0, "puppy": 0}', {"dog": 0, "puppy": 0}, 1),
    "gaps": ("c.json", '{"0": 6, "1": 11}', {"0": 6, "1": 11}, None),
}


@pytest.mark.parametrize("name", GOOD)
def test_forms_that_are_read(name: str, tmp_path: Path) -> None:
    file, text, indices, num_classes = GOOD[name]
    (tmp_path / file).write_text(text, encoding="utf-8", newline="")
    classes = read_classes(tmp_path / file)
    assert (dict(classes.indices), classes.num_classes) == (indices, num_classes)
    assert classes.source == file


BAD = {
    "empty": ("c.txt", b"\n\n", "holds no class names"),
    "twice": ("c.txt", b"cat\ndog\ncat\n", "names class 'cat' twice"),
    "utf-16": ("c.txt", "cat\n".encode("utf-16"), "is not UTF-8"),
    "no json": ("c.json", b"cat\ndog\n", "is not JSON"),
    "json twice": ("c.json", b'{"cat": 0, "cat": 1}', "names class 'cat' twice"),
    "json number": ("c.json", b"3", "holds a int"),
    "json list of numbers": ("c.json", b'["cat", 3]', "entry 1 is 3"),
    "keras": ("c.json", b'{"0": ["n01440764", "tench"]}', "1 of 1 entries are not a class index"),
    "bool": ("c.json", b'{"cat": true}', "are not a class index"),
    "negative": ("c.json", b'{"cat": -1}', "are not a class index"),
    "empty json": ("c.json", b"{}", "holds no class names"),
    "nested": ("c.json", b"[" * 100_000, "is not JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_forms_that_are_refused(name: str, tmp_path: Path) -> None:
    file, content, wrong = BAD[name]
    (tmp_path / file).write_bytes(content)
    with pytest.raises(UserError) as caught:
        read_classes(tmp_path / file)
    assert str(caught.value).startswith(str(tmp_path / file))
    assert wrong in str(caught.value)


def test_a_missing_list(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"c\.txt cannot be read: No such file"):
        read_classes(tmp_path / "c.txt")
