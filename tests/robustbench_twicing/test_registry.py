"""Names are looked up in plain dicts that refuse duplicates."""

import pytest

from robustbench_twicing.errors import UserError
from robustbench_twicing.registry import Registry, in_any_case, unknown


def test_an_unknown_name_is_answered_with_near_and_known_ones() -> None:
    models: Registry[int] = Registry("model")
    models["deit_tiny"] = 1
    models["deit_small"] = 2
    assert models["deit_tiny"] == 1
    with pytest.raises(UserError) as caught:
        models["deit_tny"]
    assert str(caught.value) == (
        "no model is called 'deit_tny'. Did you mean 'deit_tiny'? Known: deit_small, deit_tiny"
    )
    with pytest.raises(UserError, match=r"^no model is called 'x'\. Known: deit_small, deit_tiny$"):
        models["x"]


def test_a_name_is_registered_once() -> None:
    models: Registry[int] = Registry("model")
    models["a"] = 1
    with pytest.raises(ValueError, match="model 'a' is registered twice"):
        models["a"] = 2
    assert models["a"] == 1


@pytest.mark.parametrize(
    ("typed", "known", "name"),
    [
        ("PGD", ("pgd", "fgsm"), "pgd"),
        ("PGD", ("pgd", "PGD"), "PGD"),
        ("Pgd", ("pgd", "PGD"), "Pgd"),
        ("pdg", ("pgd",), "pdg"),
    ],
)
def test_a_name_is_found_in_any_case_unless_two_are_alike(
    typed: str, known: tuple[str, ...], name: str
) -> None:
    assert in_any_case(typed, known) == name


@pytest.mark.parametrize(
    ("name", "hint"),
    [("tabel1", " Did you mean 'table1'?"), ("TABLE1", " Did you mean 'table1'?"), ("x", "")],
)
def test_what_is_unknown_is_answered_with_what_is_near_and_all_that_is_known(
    name: str, hint: str
) -> None:
    error = unknown("--preset", name, ("results", "table1"))
    assert str(error) == f"--preset {name!r} is unknown.{hint} Known: results, table1"
