"""Machine, versions and commit, and the device asked for."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import torch

from robustbench_twicing import __version__
from robustbench_twicing.classifiers.device import choose_device, is_out_of_memory
from robustbench_twicing.errors import UserError
from robustbench_twicing.records import session
from robustbench_twicing.records.session import PACKAGES, describe_environment, git_state


def test_the_environment_is_written_as_json() -> None:
    facts = describe_environment(torch.device("cpu"))
    assert json.loads(json.dumps(facts)) == facts
    assert facts["robustbench_twicing"] == __version__
    assert facts["versions"]["torch"] == version("torch")
    assert set(facts["versions"]) == set(PACKAGES)
    assert facts["threads"] == torch.get_num_threads()
    assert facts["command"] == sys.argv
    assert facts["device"].startswith("cpu (")


def test_the_commit_of_the_package_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Path] = []
    state = {"commit": "c0ffee", "dirty": True}

    def git_state_of(folder: Path) -> dict[str, object]:
        seen.append(folder)
        return state

    monkeypatch.setattr(session, "git_state", git_state_of)
    assert describe_environment(torch.device("cpu"))["git"] == state
    assert seen == [Path(session.__file__).parent]


def run_git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True)


def test_the_commit_and_what_differs_from_it(tmp_path: Path) -> None:
    assert git_state(tmp_path) is None
    run_git(tmp_path, "init", "-q")
    assert git_state(tmp_path) is None
    (tmp_path / "__init__.py").write_text("")
    run_git(tmp_path, "add", ".")
    run_git(tmp_path, "commit", "-q", "-m", "first")
    state = git_state(tmp_path)
    assert state is not None
    assert len(state["commit"]) == 40
    assert not state["dirty"]
    (tmp_path / "__init__.py").write_text("changed")
    assert git_state(tmp_path) == {"commit": state["commit"], "dirty": True}


def test_a_package_installed_inside_someone_elses_checkout_has_no_commit(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q")
    (tmp_path / "theirs").write_text("")
    run_git(tmp_path, "add", ".")
    run_git(tmp_path, "commit", "-q", "-m", "first")
    installed = tmp_path / "site-packages" / "robustbench_twicing"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert git_state(installed) is None


def test_without_git_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state(Path(__file__).parent) is None


@pytest.mark.parametrize("gpu", [True, False])
def test_auto_takes_what_is_there(gpu: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    assert choose_device("auto").type == ("cuda" if gpu else "cpu")
    assert choose_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize(
    "name", ["", "tpu", "CPU", "cpu:", "cuda:x", "cuda:-1", "cuda:²", "cpu:1", "cpu:999999999999"]
)
def test_a_device_that_does_not_exist_anywhere(name: str) -> None:
    with pytest.raises(UserError, match="Known: auto, cpu, cuda"):
        choose_device(name)


@pytest.mark.parametrize("name", ["cuda", "cuda:0"])
def test_a_device_that_is_not_here(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match=f"--device {name}: this machine has no such CUDA device"):
        choose_device(name)


def test_a_cuda_device_is_chosen_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(UserError, match="no such CUDA device"):
        choose_device("cuda:2")


def after(first: Exception, second: Exception) -> Exception:
    """What is raised while another exception is dealt with."""
    second.__context__ = first
    return second


@pytest.mark.parametrize(
    ("error", "memory"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB"), True),
        (MemoryError(), True),
        (
            RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"),
            True,
        ),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when"), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2.00 MiB"), True),
        (RuntimeError("MPS backend out of memory"), True),
        (RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"), True),
        (after(MemoryError(), ValueError("could not clean up")), True),
        (after(MemoryError(), UserError("too large for this machine")), False),
        (after(ValueError(), ValueError()), False),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("can't allocate memory"), False),
    ],
)
def test_memory_that_ran_out_is_recognised(error: Exception, memory: bool) -> None:
    assert is_out_of_memory(error) == memory
