"""From names to attacks."""

from pathlib import Path

import pytest

from attacks import ATTACKS, attack_name, find_attack
from robustbench_twicing.errors import UserError


def test_own_attacks_are_those_of_the_table() -> None:
    for name, spec in ATTACKS.items():
        assert find_attack(name) is spec


@pytest.mark.parametrize(
    "name",
    ["autoattack", "apgd", "apgd-dlr", "torchattacks:APGD", "torchattacks:PGD", "foolbox:PGD"],
)
def test_presets_and_libraries_have_the_name_that_was_asked_for(name: str) -> None:
    assert find_attack(name).name == name


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("PGD", "pgd"),
        ("Pgd-Any", "pgd-any"),
        ("AutoAttack", "autoattack"),
        ("TorchAttacks:mifgsm", "torchattacks:MIFGSM"),
        ("Foolbox:linfdeepfoolattack", "foolbox:LinfDeepFoolAttack"),
    ],
)
def test_names_match_in_any_case(typed: str, name: str) -> None:
    assert find_attack(typed).name == name


def test_clean_is_known_in_any_case_and_a_users_function_in_its_own() -> None:
    assert attack_name("Clean") == "clean"
    assert attack_name("Own.py:PGD") == "Own.py:PGD"
    assert attack_name("PDG") == "PDG"


def test_one_name_in_two_libraries_is_two_attacks() -> None:
    own, one, other = (find_attack(name) for name in ("pgd", "torchattacks:PGD", "foolbox:PGD"))
    assert len({each.settings["steps"] for each in (own, one, other)}) == 3


def test_a_file_is_a_users_own(tmp_path: Path) -> None:
    path = tmp_path / "foolbox.py"
    path.write_text("def mine(model, x, y, *, eps, generator):\n    return x\n")
    assert find_attack(f"{path}:mine").knowledge == "your own code"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pdg", "pgd"),
        ("auto-attack", "autoattack"),
        ("torchattacks", "torchattacks"),
        ("torchattacks:", "torchattacks"),
        ("torchattacks:PDG", "PGD"),
        ("foolbox:LinfPGDD", "LinfPGD"),
        ("nowhere.py:attack", "there is no file nowhere.py"),
        ("nowhere:attack", "cannot be imported"),
        ("", "attack"),
    ],
)
def test_an_unknown_name_is_one_line_with_near_ones(name: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        find_attack(name)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
