"""Code runs only where ``file.py:function`` or ``module:function`` was asked for."""

import ast
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from PIL import Image

from robustbench_twicing.classifiers.user_code import is_user_code
from robustbench_twicing.cli.app import main
from robustbench_twicing.records.session import git_state

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("robustbench_twicing", "attacks", "reports")
TOUCH = "import pathlib; pathlib.Path({canary!r}).touch()\n"
SHADOWED = ("torch", "timm", "numpy", "sitecustomize", "usercustomize", "yaml", "conftest", "setup")


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "something-was-executed"


@pytest.fixture
def trap(tmp_path: Path, canary: Path) -> Path:
    """A folder that was downloaded: a checkpoint, a photograph, and code in every usual place."""
    root = tmp_path / "download"
    (root / "n01440764").mkdir(parents=True)
    Image.new("RGB", (32, 32)).save(root / "n01440764" / "a.png")
    code = TOUCH.format(canary=str(canary))
    for name in (*SHADOWED, "__init__", "modeling", "n01440764/__init__"):
        (root / f"{name}.py").write_text(code)
    (root / "matplotlibrc").write_text("backend: module://modeling\n")
    auto = {"architecture": "test_vit", "auto_map": {"AutoModel": "modeling.Model"}}
    (root / "config.json").write_text(json.dumps(auto))
    (root / "suite.yaml").write_text("conditions: [{attack: clean}]\n")
    with zipfile.ZipFile(root / "model.safetensors.zip", "w") as archive:
        archive.writestr("__main__.py", code)
    torch.save({"model": {"head.weight": torch.zeros(2, 2)}}, root / "model.pth")
    return root


@pytest.mark.slow
def test_a_download_with_code_in_it_is_data(
    trap: Path, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = str(trap / "run")
    monkeypatch.chdir(trap)
    assert main(["inspect", str(trap)]) == 0
    assert main(["data", str(trap), "--full"]) == 0
    model = ("--model", "timm:test_vit=random:0", "--data", str(trap), "--device", "cpu")
    for command in (
        ("eval", *model, "--suite", str(trap / "suite.yaml"), "--out", run),
        ("report", run, "--plots", "--format", "html", "--out", str(trap / "page")),
    ):
        done = subprocess.run(
            [sys.executable, ROOT / "run_eval.py", *command],
            cwd=trap,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert not canary.exists()
    path = {**os.environ, "PYTHONPATH": str(trap)}
    subprocess.run([sys.executable, "-c", ""], env=path, timeout=60, check=False)
    assert canary.exists(), "the trap itself does not work"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("hf-hub:user/model", "hf_hub:user/model", "timm:hf-hub:user/model", "local-dir:{trap}"),
        *("timm:local-dir:{trap}", "timm:{trap}", "{trap}", "{trap}/modeling.py", "timm:modeling"),
    ],
)
def test_a_name_of_no_function_imports_and_loads_nothing(
    name: str,
    trap: Path,
    canary: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(trap)
    asked = name.format(trap=trap)
    assert not is_user_code(asked)
    out = ("--out", str(trap / "run"))
    assert main(["eval", "--model", asked, "--checkpoint", "random:0", "--data", str(trap), *out])
    said = "is a file of code; name a function" if asked.endswith(".py") else "no model is called"
    assert said in capsys.readouterr().err
    assert not canary.exists()


@pytest.mark.parametrize("attack", ["modeling:run", "{trap}/modeling.py:run", "torchattacks:os"])
def test_a_suite_names_no_code(
    attack: str, trap: Path, canary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = trap / "suite.yaml"
    suite.write_text(f"conditions: [{{attack: '{attack.format(trap=trap)}', eps: [1/255]}}]\n")
    model = ("--model", "timm:test_vit=random:0", "--data", str(trap))
    assert main(["plan", *model, "--suite", str(suite)]) == 1
    assert str(suite) in capsys.readouterr().err
    assert not canary.exists()


def test_git_asks_no_program_of_the_folder(tmp_path: Path, canary: Path) -> None:
    """A checkout's own configuration can name a program that `git status` runs."""
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True, timeout=60)
    (tmp_path / "__init__.py").touch()
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
    hook.chmod(0o755)
    subprocess.run([*git, "add", "."], check=True, timeout=60)
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run([*git, *who, "commit", "-qm", "x"], check=True, timeout=60)
    subprocess.run([*git, "config", "core.fsmonitor", str(hook)], check=True, timeout=60)
    state = git_state(tmp_path)
    assert state is not None
    assert not canary.exists()
    subprocess.run([*git, "status"], capture_output=True, check=True, timeout=60)
    assert canary.exists(), "the trap itself does not work"


ALLOWED = {
    ("exec_module", "robustbench_twicing/classifiers/user_code.py"),
    ("import_module", "robustbench_twicing/classifiers/user_code.py"),
    ("import_module", "robustbench_twicing/__init__.py"),
    ("subprocess", "robustbench_twicing/records/session.py"),
    ("torch.load", "robustbench_twicing/checkpoints/pickle/torch_pickle.py"),
    *(  # their own modules, each by its name in the package
        ("import_module", f"{package}/__init__.py")
        for package in (
            *("attacks", "attacks/corruptions", "reports", "reports/tables/presets"),
            *("robustbench_twicing/analysis", "robustbench_twicing/models/families"),
        )
    ),
}
"""What can run code, and the file that may use it."""
RUNS_CODE = (
    *("exec", "eval", "compile", "__import__", "exec_module", "import_module", "run_path"),
    *("run_module", "system", "popen", "Popen", "loads", "Unpickler", "read_pickle", "unsafe_load"),
)


def _used(path: Path) -> Iterator[str]:
    """Names in a source file by which code could be run."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            text = ast.unparse(node.func)
            last = text.rpartition(".")[2]
            if text == "torch.load":
                yield text
            method = "." in text and last in ("eval", "compile")
            if last in RUNS_CODE and not method and text != "json.loads":
                yield last
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in ("subprocess", "runpy"))


@pytest.mark.slow
def test_only_these_files_can_run_code() -> None:
    found = {
        (name, str(path.relative_to(ROOT)))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for name in _used(path)
    }
    assert found == ALLOWED


def test_the_search_finds_what_it_looks_for(tmp_path: Path) -> None:
    source = io.StringIO()
    source.write("import subprocess\nexec('x')\npickle.loads(b'')\ntorch.load('x')\nmodel.eval()\n")
    (tmp_path / "a.py").write_text(source.getvalue())
    assert set(_used(tmp_path / "a.py")) == {"subprocess", "exec", "loads", "torch.load"}
