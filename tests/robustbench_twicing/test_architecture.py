"""The rules that keep the parts apart: who imports whom, and what every file owes its reader."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from robustbench_twicing.cli.app import build_app

ROOT = Path(__file__).parents[2]
PACKAGES = ("robustbench_twicing", "attacks", "reports")
FILES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
MODULES = {path: ast.parse(path.read_text()) for path in FILES}
LONGEST_FILE, LONGEST_FUNCTION = 250, 60
ROOMS = {
    *("files", "data", "models", "checkpoints", "classifiers"),
    *("conditions", "records", "evaluation", "analysis", "training", "cli"),
}
MOST_MODULES = 16
"""Directly in a folder."""
MOST_SIBLINGS = 12
"""Modules of the run loop that one of them imports."""


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported(path: Path) -> Iterator[str]:
    """Absolute names of everything a file imports, wherever in the file."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(MODULES[path]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            inside = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*inside, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def of(package: str) -> list[Path]:
    return [path for path in FILES if path.is_relative_to(ROOT / package)]


def test_this_test_sees_imports() -> None:
    names = set(imported(ROOT / "robustbench_twicing" / "evaluation" / "runner.py"))
    assert "robustbench_twicing.data.loader.load_batches" in names
    assert "robustbench_twicing.evaluation.part.evaluate_part" in names
    assert len(FILES) > 60


def test_there_are_eleven_rooms() -> None:
    """Which may import which is said by import-linter's contracts in pyproject.toml."""
    core = ROOT / "robustbench_twicing"
    assert {path.name for path in core.iterdir() if (path / "__init__.py").exists()} == ROOMS
    root = {path.stem for path in core.glob("*.py")}
    assert root == {"__init__", "errors", "registry", "seeds"}


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in FILES}), ids=lambda folder: name(folder)
)
def test_a_folder_can_be_taken_in_at_a_glance(folder: Path) -> None:
    modules = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
    assert len(modules) <= MOST_MODULES, modules
    assert (folder / "__init__.py").exists()


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_names_its_modules_and_imports_nothing_by_itself(room: str) -> None:
    """What lies directly in it is in the guide that its `__init__` begins with."""
    init = ROOT / "robustbench_twicing" / room / "__init__.py"
    guide = ast.get_docstring(MODULES[init]) or ""
    modules = {path.stem for path in init.parent.glob("*.py")} - {"__init__"}
    folders = {path.parent.name + "/" for path in init.parent.glob("*/__init__.py")}
    mentioned = set(re.findall(r"`([a-z_]+/?)`", guide))
    data_only = {"wnids/"}
    assert {one.rstrip("/") for one in modules | folders - data_only} <= {
        one.rstrip("/") for one in mentioned
    }
    assert set(imported(init)) <= {"importlib.import_module"}  # for names loaded on first use


def test_rooms_use_of_each_other_only_what_is_meant_for_them() -> None:
    """The modules that a room's `__all__` names, and every one of them is used."""
    used: dict[str, set[str]] = {room: set() for room in ROOMS}
    for path in FILES:
        home = path.relative_to(ROOT).parts[:2]
        for full in imported(path):
            package, room, *rest = [*full.split("."), "", ""][:3]
            if package == PACKAGES[0] and room in ROOMS and home != (package, room) and rest[0]:
                used[room].add(rest[0])
    for room in ROOMS - {"cli"}:
        public = import_module(f"robustbench_twicing.{room}").__all__
        assert used[room] == set(public), room


def test_nothing_comes_in_by_the_back_door() -> None:
    """Neither by the names that the root loads on first use, nor by names that begin with ``_``."""
    for path in FILES:
        home = path.relative_to(ROOT).with_suffix("").parts[:2]
        for full in imported(path):
            package, *rest = full.split(".")
            if package != PACKAGES[0] or path.parent == ROOT / package:
                continue
            is_room = rest[:1] and rest[0] in {*ROOMS, "errors", "registry", "seeds"}
            assert is_room or rest == ["__version__"], f"{name(path)}: {full}"
            private = [one for one in rest if one.startswith("_") and one != "__version__"]
            assert not private or home == (package, rest[0]), f"{name(path)}: {full}"


def test_no_module_of_the_run_loop_knows_all_others() -> None:
    for path in (ROOT / "robustbench_twicing" / "evaluation").glob("*.py"):
        inside = "robustbench_twicing.evaluation."
        full = [one for one in imported(path) if one.startswith(inside)]
        names = {one.removeprefix(inside).split(".")[0] for one in full}
        assert len(names) <= MOST_SIBLINGS, name(path)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_itself_relatively(package: str) -> None:
    for path in of(package):
        absolute = [
            node.module or ""
            for node in ast.walk(MODULES[path])
            if isinstance(node, ast.ImportFrom) and node.level == 0
        ]
        assert package not in {module.split(".")[0] for module in absolute}, name(path)


def test_nothing_that_is_shipped_imports_what_is_only_for_tests() -> None:
    for path in FILES:
        roots = {each.split(".")[0] for each in imported(path)}
        assert not roots & {"tests", "pytest", "hypothesis", "statsmodels"}, name(path)


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    yield from (node for node in ast.walk(MODULES[path]) if isinstance(node, ast.FunctionDef))


def body_length(node: ast.FunctionDef) -> int:
    """Lines of a function without its signature and docstring."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def public(path: Path) -> Iterator[ast.Module | ast.FunctionDef | ast.ClassDef]:
    """The file itself, its public functions and classes, and their public methods."""
    yield MODULES[path]
    members: list[ast.stmt] = [*MODULES[path].body]
    for node in MODULES[path].body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            members += node.body
    for node in members:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield node


def test_everything_public_has_a_docstring() -> None:
    silent = [
        f"{name(path)}: {getattr(node, 'name', 'the file')}"
        for path in FILES
        for node in public(path)
        if not ast.get_docstring(node)
    ]
    assert silent == []


def test_files_and_functions_are_short() -> None:
    long = [name(path) for path in FILES if len(path.read_text().splitlines()) > LONGEST_FILE]
    long += [
        f"{name(path)}: {node.name}"
        for path in FILES
        for node in functions(path)
        if body_length(node) > LONGEST_FUNCTION
    ]
    assert long == []


def test_no_file_is_a_drawer_for_anything() -> None:
    drawers = {"utils", "helpers", "common", "misc", "base"}
    assert [name(path) for path in FILES if path.stem in drawers] == []


def commands() -> list[str]:
    import typer

    found: object = getattr(typer.main.get_command(build_app()), "commands", {})
    assert isinstance(found, dict)
    return sorted(found)


def test_the_commands_of_the_design_are_there() -> None:
    assert {"eval", "plan", "report", "models", "attacks", "demo"} <= set(commands())


def test_help_needs_no_heavy_package() -> None:
    """One process asks for the help of every command, and then looks at what was imported."""
    script = (
        "import sys\n"
        "from robustbench_twicing.cli.app import main\n"
        "status = [main([*command, '--help']) for command in [[], *([c] for c in sys.argv[1:])]]\n"
        "heavy = {'torch', 'torchvision', 'timm', 'pandas', 'numpy', 'scipy', 'pyarrow'}\n"
        "heavy |= {'duckdb'}\n"
        "sys.exit(f'imported: {heavy & set(sys.modules)}, {status}'\n"
        "         if heavy & set(sys.modules) or any(status) else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *commands()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage") == 1 + len(commands())


def test_importing_the_package_needs_no_torch() -> None:
    script = "import sys, robustbench_twicing; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
