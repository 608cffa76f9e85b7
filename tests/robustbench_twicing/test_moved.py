"""Import paths of version 0.1 answer with the new one, in one line."""

from importlib import import_module

import pytest

import reports
import robustbench_twicing
from robustbench_twicing import records
from robustbench_twicing.conditions import threat_model

OLD = [
    (package.__name__, old, new)
    for package in (robustbench_twicing, reports)
    for old, new in package._MOVED.items()
]


@pytest.mark.parametrize(("package", "old", "new"), OLD)
def test_a_module_that_has_moved_names_its_new_place(package: str, old: str, new: str) -> None:
    with pytest.raises(ModuleNotFoundError) as answer:
        import_module(f"{package}.{old}")
    assert str(answer.value) == f"{package}.{old} has moved: import from {package}.{new}"
    if old not in import_module(package).__all__:
        with pytest.raises(ModuleNotFoundError, match="has moved"):
            getattr(import_module(package), old)
    import_module(f"{package}.{new}")


def test_other_modules_that_are_not_there_are_python_s_to_report() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        import_module("robustbench_twicing.nothing")


def test_the_run_folder_names_its_new_place() -> None:
    with pytest.raises(ImportError, match=r"import it from robustbench_twicing\.records\.run"):
        _ = records.RunFolder
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = records.nothing


def test_the_ball_names_its_new_place() -> None:
    for name in ("ball", "unit", "check_adversarial"):
        with pytest.raises(ImportError, match=rf"^{name} has moved: .*\.conditions\.ball$"):
            getattr(threat_model, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = threat_model.nothing
