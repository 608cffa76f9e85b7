"""What a paper says of itself and of its models, in a YAML file: facts that no run can measure."""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from robustbench_twicing.errors import UserError
from robustbench_twicing.files.text import read_text
from robustbench_twicing.files.yaml_text import YamlMapping, parse_mapping
from robustbench_twicing.registry import did_you_mean

LARGEST_FILE = 100_000
"""Bytes; it is a few lines."""
MEASURED = (
    *("dataset", "eps", "clean_acc", "autoattack_acc", "external"),
    *("unreliable", "footnote", "robustbench_twicing"),
)
"""Keys of RobustBench's files that no paper fills in here."""


def _percent(value: Any) -> str:
    text = str(value)
    number = re.fullmatch(r"\d{1,3}(\.\d{1,2})?", text)
    if isinstance(value, bool) or number is None or float(text) > 100:
        raise ValueError
    return f"{float(text):.2f}"


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Link = Annotated[str, StringConstraints(pattern=r"^https?://\S+$")]
Percent = Annotated[str, BeforeValidator(_percent)]
TEXT = "a text that is not empty, in quotes where YAML would read something else"
FORMS = {
    "link": "an address that begins with https://",
    "additional_data": "true or false",
    "number_forward_passes": "a whole number from 1",
    "reported": "an accuracy in percent with at most two decimals, like 48.08",
    "models": "labels, as texts, with facts below each",
}
"""What the values of facts are, in words; others are a `TEXT`."""


class Facts(BaseModel):
    """What a paper says of a model; None where the file does not tell.

    Attributes:
        link: address of the paper.
        name: its title.
        authors: separated by commas.
        additional_data: whether the model was trained on more than the data set's training images.
        number_forward_passes: that one answer takes.
        venue: where it was published, with the year.
        architecture: as the paper writes it.
        reported: robust accuracy that the paper claims, in percent, like ``48.08``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    link: Link | None = None
    name: Text | None = None
    authors: Text | None = None
    additional_data: bool | None = None
    number_forward_passes: Annotated[int, Field(ge=1)] | None = None
    venue: Text | None = None
    architecture: Text | None = None
    reported: Percent | None = None


class Paper(Facts):
    """Facts of all models of a paper, and those in which single models differ.

    Attributes:
        models: by label in the runs, facts in place of the common ones.
    """

    models: dict[str, Facts] = {}

    def facts_of(self, label: str) -> dict[str, Any]:
        """Every fact of `Facts` about one label, by name."""
        facts = self.models.get(label, Facts()).model_dump(exclude_unset=True)
        return {**self.model_dump(exclude={"models"}), **facts}


def read_paper(path: Path, labels: Collection[str]) -> Paper:
    """Read the file.

    Args:
        path: YAML; docs/reports.md shows one.
        labels: of the runs.

    Raises:
        UserError: it cannot be read, or the first of its mistakes, with its line; a label that its
            ``models`` lack; or one ``reported`` for several labels.
    """
    mapping = parse_mapping(read_text(path, LARGEST_FILE), str(path), ", ".join(Paper.model_fields))
    try:
        paper = Paper.model_validate(mapping.values)
    except ValidationError as error:
        raise UserError(_mistake(error, path, mapping)) from error
    for problem in _contradictions(paper, list(labels)):
        raise UserError(f"{path}: {problem}")
    return paper


def _mistake(error: ValidationError, path: Path, mapping: YamlMapping) -> str:
    """The first one, in one line: where, what, and what would be right."""
    first = error.errors()[0]
    location = [part for part in first["loc"] if part != "[key]"]
    where = f"{path}:{mapping.line(location)}: {'.'.join(map(str, location))}"
    key = str(location[-1])
    if len(location) == 2:  # a label, and what stands beside it
        key = "models"
    if first["type"] != "extra_forbidden":
        return f"{where} must be {FORMS.get(key, TEXT)}{_shown(first['input'])}"
    if key in MEASURED:
        return f"{where} is measured and not told by a paper; leave it out"
    known = list(Facts.model_fields if len(location) > 1 else Paper.model_fields)
    return f"{where} is no fact of a paper.{did_you_mean(key, known)} Known: {', '.join(known)}"


def _shown(value: Any) -> str:
    """What stands there, where it is short: Python writes no number of thousands of digits."""
    is_short = (
        value.bit_length() <= 64 if isinstance(value, int) else isinstance(value, str | float)
    )
    return f", not {value!r}" if is_short else ""


def _contradictions(paper: Paper, labels: Sequence[str]) -> Iterator[str]:
    """Where facts would stand beside the wrong model, or beside none."""
    for label in labels if paper.models else ():
        if label not in paper.models:
            hint = did_you_mean(label, paper.models)
            yield f"models lack the label {label!r}.{hint} There: {', '.join(paper.models)}"
    if paper.reported is not None and len(labels) > 1:
        yield (
            f"reported is the number of one model, and the runs have {len(labels)}; write it "
            f"under models, {labels[0]}, reported"
        )
