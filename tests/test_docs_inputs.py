"""The forms that docs/inputs.md shows are those that are read."""

import re
from pathlib import Path

from robustbench_twicing.conditions.suites import SuiteItem
from robustbench_twicing.conditions.suites.reading import parse_suite
from robustbench_twicing.data.imagenet import wnid_to_index

TEXT = (Path(__file__).parent.parent / "docs" / "inputs.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_suite_is_read_and_shows_every_key() -> None:
    suite = parse_suite(block("yaml"), "docs/inputs.md")
    shown = {name for item in suite.conditions for name in item.model_fields_set}
    assert shown == set(SuiteItem.model_fields)


def test_the_wnids_of_the_label_file_are_imagenets() -> None:
    lines = block("csv").strip().splitlines()
    assert [wnid_to_index()[line.split(",")[1]] for line in lines] == [65, 970]
