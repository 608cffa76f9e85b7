"""docs/results.md says of every flag that the code can raise what it means, and what to do."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reports.metrics.flags import _MEANINGS, explain_flag

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
PLACEHOLDERS = {
    **{"CONDITION": "clean", "CONSTANT": "steps", "VALUE": "40"},
    **{"N": "3", "M": "9", "R": "-0.2", "S": "12"},
}
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9+%.]+)+|probabilities")
GUESSES = ("robustbench_twicing/evaluation/checks/input_conventions.py", "records/guessing.py")
"""Modules whose names become flags behind ``looks-like-``."""
OTHER_NAMES = {
    *("generated-jpeg85", "generated-memory", "not-comparable", "utf-8", "top-1"),
    *("apgd-ce", "apgd-dlr", "apgd-t", "fab-t", "auto-attack", "pgd-t", "least-likely"),
    *("fashion-mnist", "imagenet-1k", "imagenet-a", "imagenet-r", "not-imagenet-c-3"),
}
"""What else is written like a flag in the modules that raise some."""


def rows() -> dict[str, list[str]]:
    """The first cells of the tables of flags with what stands beside them."""
    section = TEXT.partition("\n## Flags\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:3] == "| `"]
    return {cells[0]: cells[1:] for cells in lines}


def shown() -> Iterator[str]:
    """Every flag of the tables, with values in place of what stands for them."""
    for cell in rows():
        names = re.findall(r"`([^`]+)`", cell)
        for name in names:
            whole = f"looks-like{name}" if name.startswith("-") else name
            yield re.sub(r"[A-Z]+", lambda match: PLACEHOLDERS[match[0]], whole)


def pattern_of(flag: str) -> str | None:
    """The first pattern of the sentences that a flag matches."""
    return next((pattern for pattern in _MEANINGS if re.fullmatch(pattern, flag)), None)


def names_in(path: Path) -> set[str]:
    """Texts of a module that are written like flags, with 3 for what is put into them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside = {id(part) for node in joined for part in node.values}
    texts: list[str] = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and id(node) not in inside and isinstance(node.value, str)
    ]
    for node in joined:
        parts = [part.value if isinstance(part, ast.Constant) else "3" for part in node.values]
        texts.append("".join(map(str, parts)))
    return {text for text in texts if NAME.fullmatch(text)}


def raised() -> dict[str, set[str]]:
    """What is written like a flag, by module, in those modules that raise any."""
    modules = {}
    for room in ("robustbench_twicing", "reports", "attacks"):
        for path in sorted((ROOT / room).rglob("*.py")):
            names = names_in(path) - {"utf-8"}
            name = path.relative_to(ROOT).as_posix()
            if name.endswith(GUESSES):
                names = {
                    guess if "looks-like" in guess else f"looks-like-{guess}" for guess in names
                }
            if name != "reports/metrics/flags.py" and any(map(pattern_of, names)):
                modules[name] = names
    return modules


def test_every_flag_in_the_code_has_a_sentence_and_a_row() -> None:
    documented = {pattern_of(flag) for flag in shown()}
    modules = raised()
    assert len(modules) > 15, "the code that raises flags was not found"
    for module, names in modules.items():
        for name in names - OTHER_NAMES - {"looks-like-3"}:
            assert pattern_of(name) is not None, f"{module}: {name} has no sentence"
            assert pattern_of(name) in documented, f"{module}: {name} is not in docs/results.md"


def test_every_sentence_has_a_row_and_every_row_a_sentence() -> None:
    documented = {flag: pattern_of(flag) for flag in shown()}
    assert None not in documented.values(), documented
    assert set(documented.values()) == set(_MEANINGS)
    assert all("see the manifest" not in explain_flag(flag) for flag in documented)


@pytest.mark.parametrize("flag", list(rows()))
def test_a_row_says_meaning_how_it_is_found_and_what_to_do(flag: str) -> None:
    cells = rows()[flag]
    assert len(cells) == 3
    assert all(len(cell) > 3 for cell in cells)
