"""What docs/architecture.md and CONTRIBUTING.md name exists; every link leads somewhere."""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from attacks import ATTACKS
from attacks.corruptions import CORRUPTIONS, EXTRA, MAIN
from reports import COLUMNS
from reports.tables.presets import preset_names
from robustbench_twicing.cli.commands.eval import TransferOptions

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("docs/architecture.md", "CONTRIBUTING.md")
LINKS = re.compile(r"\]\(([^)#:]+)\)")
FOLDERS = re.compile(r"`([\w/]+/)`")
GUIDES = [path.relative_to(ROOT) for path in (ROOT / "docs").glob("*.md")]
TOP = "robustbench_twicing|attacks|reports|tests|docs|benchmarks|examples"
PATHS = re.compile(rf"`((?:{TOP})/[\w./]*|[A-Z]+\.md|pyproject\.toml)`")
MEMBERS = re.compile(r"`([\w/]+\.py)` `([\w.]+)`")
TARGETS = re.compile(r"`(?:make) ([a-z ,`]+)`")


def text(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def mentions(pattern: re.Pattern[str]) -> Iterator[tuple[str, ...]]:
    for document in DOCUMENTS:
        for match in pattern.finditer(text(document)):
            yield (document, *match.groups())


@pytest.mark.parametrize(("document", "path"), sorted(set(mentions(PATHS))))
def test_every_path_is_there(document: str, path: str) -> None:
    assert (ROOT / path).exists(), f"{document} names {path}"


@pytest.mark.parametrize(("document", "path", "member"), sorted(set(mentions(MEMBERS))))
def test_every_function_is_where_it_is_said_to_be(document: str, path: str, member: str) -> None:
    tree: ast.AST = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for part in member.split("."):
        tree = next(
            node
            for node in ast.iter_child_nodes(tree)
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == part
        )


@pytest.mark.parametrize(
    "document", ["README.md", "CONTRIBUTING.md", "SECURITY.md", *sorted(map(str, GUIDES))]
)
def test_every_link_leads_somewhere(document: str) -> None:
    home = (ROOT / document).parent
    for target in LINKS.findall(text(document)):
        assert (home / target).exists(), f"{document} links to {target}"


def test_every_folder_is_there() -> None:
    folders = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("*/") if path.is_dir()}
    folders |= {
        path.relative_to(ROOT / top).as_posix()
        for top in ("", "robustbench_twicing", "attacks", "reports", "robustbench_twicing/cli")
        for path in (ROOT / top).glob("*/")
    }
    for document, folder in mentions(FOLDERS):
        there = folder.rstrip("/") in folders or (ROOT / folder).is_dir()
        assert there, f"{document}: {folder}"


def test_the_table_of_rooms_is_complete() -> None:
    core = ROOT / "robustbench_twicing"
    rooms = {f"robustbench_twicing/{path.parent.name}/" for path in core.glob("*/__init__.py")}
    rows = set(re.findall(r"^\| `([\w/]+/)` \|", text("docs/architecture.md"), re.MULTILINE))
    assert rows == rooms | {"attacks/", "reports/"}


def test_the_documents_name_enough_for_these_tests_to_mean_something() -> None:
    assert len(set(mentions(PATHS))) > 60
    assert len(set(mentions(MEMBERS))) > 20


def documented(document: str) -> set[str]:
    """What a document has in code form in the first cell of a table's row."""
    rows = re.findall(r"^\| (`[^|]*) \|", text(document), re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_every_column_of_results_csv_is_explained() -> None:
    for name in set(COLUMNS) - documented("docs/results.md"):
        pytest.fail(f"docs/results.md: add a row to the first table, | `{name}` | meaning |")


def test_every_option_of_an_evaluation_is_explained() -> None:
    named = set(re.findall(r"`?(--[a-z0-9-]+)", text("docs/options.md")))
    for option in fields(TransferOptions):
        name = f"--{option.name.replace('_', '-')}"
        assert name in named, f"docs/options.md: say in a row what {name} is for"


def test_the_citation_is_of_this_version() -> None:
    facts = yaml.safe_load(text("CITATION.cff"))
    project = tomllib.loads(text("pyproject.toml"))["project"]
    assert (facts["version"], facts["license"]) == (project["version"], project["license"])
    assert all(author.keys() == {"name"} for author in facts["authors"]), "an entity, no people"


def test_every_preset_of_tables_is_explained() -> None:
    for name in set(preset_names()) - documented("docs/reports.md"):
        pytest.fail(f"docs/reports.md: add a row under Tables, | `{name}` | rows and columns |")


def test_every_attack_is_explained() -> None:
    for name in set(ATTACKS) - documented("docs/protocols.md"):
        pytest.fail(f"docs/protocols.md: add a row to the table of attacks, | `{name}` | meaning |")


def test_every_corruption_beside_those_of_imagenet_c_is_explained() -> None:
    for name in set(CORRUPTIONS) - {*MAIN, *EXTRA} - documented("docs/corruptions.md"):
        pytest.fail(
            f"docs/corruptions.md: add a row, | `{name}` | meaning |, to a table of its own"
        )


def test_every_target_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    asked = set()
    for _, words in mentions(TARGETS):
        asked |= set(re.findall("[a-z-]+", words)) - {"make"}
    assert {"check", "test", "quick", "same"} <= asked
    assert asked <= targets


@pytest.mark.parametrize(("target", "checks"), [("demo", False), ("quick", True)])
def test_what_only_checks_need_is_not_set_up_for_the_demo(
    target: str, checks: bool, tmp_path: Path
) -> None:
    command = ["make", "--dry-run", target, f"VENV={tmp_path}"]
    steps = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "pip install" in steps
    assert ("mypy" in steps) is checks


def test_the_path_of_an_image_has_at_most_15_steps_and_visits_no_module_twice() -> None:
    section = text("docs/architecture.md").split("## One image")[1].split("\n## ")[0]
    steps = re.findall(r"^\| (\d+) \| `([\w/.]+)`", section, re.MULTILINE)
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    assert len(steps) <= 15
    assert len({path for _, path in steps}) == len(steps)


def test_every_name_in_code_form_is_known() -> None:
    """Words in code form that are no path are names of the code, options, or commands."""
    packages = ("robustbench_twicing", "attacks", "reports")
    files = [path for package in packages for path in (ROOT / package).rglob("*.py")]
    source = "\n".join(path.read_text(encoding="utf-8") for path in files)
    places = {*(path.stem for path in files), *(path.parent.name for path in files)}
    for document in DOCUMENTS:
        for word in re.findall(r"`([A-Za-z_][\w]+)`", text(document)):
            assert word in places or re.search(rf"\b{word}\b", source), f"{document}: {word}"
