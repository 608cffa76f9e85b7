"""Label files: every form gives the same labels; what is doubtful is refused with its line."""

import contextlib
import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustbench_twicing.data.folders.class_list import OwnClasses
from robustbench_twicing.data.folders.label_file import parse_labels
from robustbench_twicing.data.imagenet import wnids
from robustbench_twicing.errors import UserError

OWN = OwnClasses({"cat": 1, "dog": 0}, "classes.txt", 2)
KAGGLE = (
    "ImageId,PredictionString\n"
    "a.png,n01443537 85 1 499 272 n01443537 1 2 3 4 \n"
    "b.png,n02091244 85 1 499 272\n"
)
GOOD = {
    "csv with header": "file,wnid\na.png,n01443537\nb.png,n02091244\n",
    "other names": "image;label\na.png;n01443537\nb.png;n02091244\n",
    "other order, more columns": ",Label,size,FileName\n0,1,9,a.png\n1,173,9,b.png\n",
    "csv without header": "a.png,n01443537\nb.png,n02091244\n",
    "indices": "a.png,1\nb.png,173\n",
    "tab": "path\tindex\na.png\t1\nb.png\t173\n",
    "plain lines": "a.png 1\nb.png 173\n",
    "plain lines, odd spaces": "\n  a.png   n01443537 \r\n\r\nb.png\t 173\r\n".replace("\t", " "),
    "plain lines with a header": "filename class\na.png 1\nb.png 173\n",
    "wnid and agreeing index": "file,wnid,index\na.png,n01443537,1\nb.png,n02091244,173\n",
    "wnid and words": "file,wnid,class\na.png,n01443537,goldfish\nb.png,n02091244,hound\n",
    "tiny imagenet": "a.png\tn01443537\t0\t32\t44\t62\nb.png\tn02091244\t1\t2\t3\t4\n",
    "quotes": '"file","wnid"\n"a.png","n01443537"\n"b.png","n02091244"\n',
    "byte order mark is the reader's": "file,wnid\r\na.png,n01443537\r\nb.png,n02091244",
    "kaggle": KAGGLE,
}


@pytest.mark.parametrize("name", GOOD)
def test_every_form_gives_the_same_labels(name: str) -> None:
    labels = parse_labels(GOOD[name], "labels.csv")
    assert [(label.name, label.target) for label in labels] == [("a.png", 1), ("b.png", 173)]


def test_line_numbers_are_those_of_an_editor() -> None:
    assert [label.line for label in parse_labels("file,index\n\na,1\nb,2\n", "x")] == [3, 4]
    assert [label.line for label in parse_labels("\na 1\n\nb 2\n", "x")] == [2, 4]


def test_names_with_spaces() -> None:
    assert parse_labels("my cat.png 7\n", "x")[0].name == "my cat.png"
    assert parse_labels("my cat.png,7\n", "x")[0].name == "my cat.png"


def test_a_tab_separates_before_a_comma() -> None:
    assert parse_labels("a,b;c.png\t7\n", "x")[0].name == "a,b;c.png"
    assert parse_labels("a,b.png;7\n", "x")[0].name == "a,b.png"


@pytest.mark.parametrize("text", ["a.png,cat\nb.png,dog\n", "a.png,1\nb.png,0\n"])
def test_own_classes_by_name_or_index(text: str) -> None:
    assert [label.target for label in parse_labels(text, "x", OWN)] == [1, 0]


BAD = {
    "nothing": ("\n \n", "x is empty"),
    "header alone": ("file,wnid\n", "has a header and no labels"),
    "no label column": ("file,size\na.png,3\n", "(file, size) has no label column"),
    "no name column": ("id,wnid\n3,n01443537\n", "(id, wnid) has no name column"),
    "ground truth": ("490\n361\n171\n", "line 1 ('490') has no file name, and ILSVRC's own"),
    "synset labels": ("n01751748\nn09193705\n", "has no file name"),
    "many columns": ("a.png,64,64,3\n", "4 columns and no header"),
    "unknown word": ("a.png,1\nb.png,goldfish\n", "x:2: label 'goldfish' of 'b.png' is neither"),
    "unknown wnid": ("a.png,n99999999\n", "x:1: n99999999, the label of 'a.png', is not among"),
    "a float": ("a.png,1.0\n", "'1.0' of 'a.png' is neither"),
    "no label": ("a.png,1\nb.png\n", "x:2: no label for 'b.png'"),
    "empty label": ("file,wnid\na.png,\n", "x:2: label '' of 'a.png' is neither"),
    "empty name": ("file,wnid\n,n01443537\n", "x:2: no file name before the label"),
    "disagreement": (
        "file,wnid,index\na.png,n01443537,2\n",
        "x:2: two labels of 'a.png' disagree: n01443537 is class 1, but another column says '2'",
    ),
    "two boxes": (
        "ImageId,PredictionString\na,n01443537 1 2 3 4 n02091244 1 2 3 4\n",
        "x:2: label 'n01443537 1 2 3 4 n02091244 1 2 3 4' of 'a' is neither",
    ),
    "NUL": ("a.png,\x00\n", "is neither"),
}


@pytest.mark.parametrize("name", BAD)
def test_refusals_name_the_line(name: str) -> None:
    text, wrong = BAD[name]
    with pytest.raises(UserError) as caught:
        parse_labels(text, "x")
    assert wrong in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("label", ["cow", "2", "-1", "n01443537"])
def test_own_classes_refuse_others(label: str) -> None:
    with pytest.raises(UserError, match=r"x:1: .*'a\.png'.* of classes\.txt"):
        parse_labels(f"a.png,{label}\n", "x", OWN)


NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_ .\-]{0,20}[A-Za-z0-9_]\.png", fullmatch=True)
TABLES = st.lists(st.tuples(NAMES, st.integers(0, 999)), min_size=1, max_size=20)


@pytest.mark.slow
@settings(deadline=None)
@given(
    TABLES, st.sampled_from(",;\t"), st.booleans(), st.booleans(), st.sampled_from(["\n", "\r\n"])
)
def test_what_csv_writes_is_read_back(
    table: list[tuple[str, int]], delimiter: str, header: bool, as_wnids: bool, newline: str
) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=newline)
    if header:
        writer.writerow(["filename", "wnid" if as_wnids else "label"])
    writer.writerows((name, wnids()[label] if as_wnids else label) for name, label in table)
    labels = parse_labels(buffer.getvalue(), "x")
    assert [(label.name, label.target) for label in labels] == table


@pytest.mark.slow
@settings(deadline=None)
@given(TABLES)
def test_plain_lines_are_read_back(table: list[tuple[str, int]]) -> None:
    labels = parse_labels("".join(f"{name} {label}\n" for name, label in table), "x")
    assert [(label.name, label.target) for label in labels] == table


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("a1,;\t\"' \n\r\x00n.-é\u2028")))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(UserError):
        labels = parse_labels(text, "x")
        assert labels
        assert all(label.name for label in labels)


def test_names_of_ones_own_classes_say_which_column_is_the_label() -> None:
    own = OwnClasses({"dog": 0, "cat": 1}, "classes.txt", 2)
    text = "file,wnid,label\na.jpg,n02123045,cat\nb.jpg,n02084071,dog\n"
    assert [label.target for label in parse_labels(text, "x", own)] == [1, 0]
    with pytest.raises(UserError, match=r"x:3: two labels of 'b\.jpg' disagree: 0 is class 0, but"):
        parse_labels("file,label,index\na.jpg,cat,1\nb.jpg,cat,0\n", "x", own)
