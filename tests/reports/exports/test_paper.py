"""Facts of a paper: read strictly, every mistake in one line that says what would be right."""

import re
from pathlib import Path

import pytest

from reports.exports.paper import Facts, read_paper
from robustbench_twicing.errors import UserError

ROOT = Path(__file__).parents[3]
ALL = """\
link: https://arxiv.org/abs/2303.01870
name: "Revisiting Adversarial Training: Architectures"
authors: Naman D Singh, Francesco Croce, Matthias Hein
additional_data: false
number_forward_passes: 1
venue: NeurIPS 2023
architecture: ViT-S + ConvStem
reported: 48.1
"""


def read(folder: Path, text: str, *labels: str) -> dict[str, dict[str, object]]:
    path = folder / "paper.yaml"
    path.write_text(text, encoding="utf-8")
    labels = labels or ("net",)
    paper = read_paper(path, labels)
    return {label: paper.facts_of(label) for label in labels}


def test_every_fact_is_read(tmp_path: Path) -> None:
    facts = read(tmp_path, ALL)["net"]
    assert list(facts) == list(Facts.model_fields)
    assert None not in facts.values()
    assert facts["additional_data"] is False
    assert facts["reported"] == "48.10"


def test_what_the_file_does_not_tell_is_null(tmp_path: Path) -> None:
    assert read(tmp_path, "venue: ICLR 2025\nname:\n")["net"] == dict.fromkeys(
        Facts.model_fields
    ) | {"venue": "ICLR 2025"}


@pytest.mark.parametrize("written", ["48", "48.0", '"48.00"', "48.00"])
def test_a_number_has_two_decimals_however_it_is_written(written: str, tmp_path: Path) -> None:
    assert read(tmp_path, f"reported: {written}")["net"]["reported"] == "48.00"


def test_models_of_one_paper_differ(tmp_path: Path) -> None:
    text = "venue: A\nmodels:\n  a: {reported: 40}\n  b: {venue: B}\n  not here: {}\n"
    facts = read(tmp_path, text, "a", "b")
    assert [(one["venue"], one["reported"]) for one in facts.values()] == [
        ("A", "40.00"),
        ("B", None),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("autors: x", "1: autors is no fact of a paper. Did you mean 'authors'? Known: link,"),
        (
            "models: {net: {reportd: 3}}",
            "1: models.net.reportd is no fact of a paper. Did you",
        ),
        ("venue: x\nnested: {y: 1}", "2: nested is no fact of a paper. Known: link"),
        ("clean_acc: 70", "1: clean_acc is measured and not told by a paper; leave it out"),
        ("autoattack_acc: 40", "1: autoattack_acc is measured"),
        ("models: {net: {unreliable: false}}", "1: models.net.unreliable is measured"),
        (
            "link: arxiv.org",
            "1: link must be an address that begins with https://, not 'arxiv",
        ),
        ("venue: x\n\nlink: 'https://a b'", "3: link must be an address"),
        (
            "reported: 48.123",
            "1: reported must be an accuracy in percent with at most two",
        ),
        ("reported: 101", "1: reported must be an accuracy"),
        ("reported: -1", "1: reported must be an accuracy"),
        ("reported: true", "1: reported must be an accuracy"),
        ("reported: 48 %", "1: reported must be an accuracy"),
        ("additional_data: 1", "1: additional_data must be true or false, not 1"),
        ("number_forward_passes: 0", "1: number_forward_passes must be a whole number from 1"),
        ("number_forward_passes: true", "1: number_forward_passes must be a whole number from 1"),
        ("venue: 2023", "1: venue must be a text that is not empty, in quotes where YAML would"),
        (f"venue: 0x{'f' * 5000}", "1: venue must be a text that is not empty, in quotes where"),
        (f"reported: 0x{'f' * 5000}", "1: reported must be an accuracy in percent"),
        (f"? 0x{'f' * 5000}\n: x", "must be a text that is not empty"),
        ("name: ' '", "1: name must be a text that is not empty"),
        ("1: x", "1: 1 must be a text"),
        (
            "models: {net: 3}",
            "1: models.net must be labels, as texts, with facts below each, not",
        ),
        ("models: {1: {}}", "1: models.1 must be labels, as texts"),
        ("models:", "1: models must be labels"),
        ("models: {nets: {}}", " models lack the label 'net'. Did you mean 'nets'? There: nets"),
        ("- link", " is not a mapping; it has the keys link, name, authors"),
        ("a: [", " is not YAML: "),
        ("name: a\nname: b", " is not YAML: name is given twice"),
        ("name: &x a\nvenue: *x", " is not YAML: the alias *x is not read here"),
        ("name: !!python/object/apply:os.getcwd []", " is not YAML: could not determine"),
    ],
)
def test_a_mistake_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=re.escape(message)) as error:
        read(tmp_path, text)
    assert str(error.value).startswith(str(tmp_path / "paper.yaml"))


def test_one_number_is_not_that_of_several_models(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="reported is the number of one model, and the runs have 2"):
        read(tmp_path, "reported: 48.08", "a", "b")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.yaml"):
        read_paper(tmp_path / "none.yaml", ["net"])


def test_the_file_of_the_documentation_is_read(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    shown = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert shown is not None
    facts = read(tmp_path, shown[1], "vit_s", "vit_b")
    assert all(None not in of_label.values() for of_label in facts.values())
