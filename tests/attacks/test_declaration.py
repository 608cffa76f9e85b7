"""What a declaration refuses, at the place where it stands."""

from collections.abc import Callable
from typing import Any

import pytest
from torch import Tensor

import attacks
from attacks import ATTACKS, attack

DESCRIBED: dict[str, Any] = {"knowledge": "none", "source": "made up"}


def unmoved(model: object, x: Tensor, y: Tensor, *, eps: float) -> Tensor:
    return x


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("my attack", "a name is made of letters, digits, - and _"),
        ("mine@4/255", "a name is made of letters"),
        ("mine/2", "a name is made of letters"),
        ("a,b", "a name is made of letters"),
        ("", "like my-attack"),
        ("clean", "this name has a meaning already; use another"),
        ("corruption", "this name has a meaning already"),
        ("autoattack", "this name has a meaning already"),
        ("PGD", "this name has a meaning already"),
        ("pgd", "is registered twice"),
    ],
)
def test_a_name_is_a_new_one_that_ids_can_hold(name: str, words: str) -> None:
    before = dict(ATTACKS)
    with pytest.raises(ValueError, match=f"attack '{name}'.* {words}"):
        attack(name, **DESCRIBED)(unmoved)
    assert before == ATTACKS


def no_default(model: object, x: Tensor, y: Tensor, *, eps: float, share: float) -> Tensor:
    return x


def no_budget(model: object, x: Tensor, y: Tensor) -> Tensor:
    return x


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (no_default, "missing a required argument: 'share'; .* other arguments have defaults"),
        (no_budget, "unexpected keyword argument 'eps'; it must be a function"),
        (lambda x, *, eps: x, "too many positional arguments; it must be a function"),
    ],
)
def test_a_function_must_be_callable_as_an_attack_is(
    function: Callable[..., Tensor], words: str
) -> None:
    with pytest.raises(ValueError, match=f"attack 'made-up' cannot be called: .*{words}"):
        attack("made-up", **DESCRIBED)(function)
    assert "made-up" not in ATTACKS


def test_a_function_that_is_loaded_again_takes_the_place_of_itself() -> None:
    for knowledge in ("none", "all"):
        attack("made-up", **DESCRIBED | {"knowledge": knowledge})(unmoved)
        assert ATTACKS["made-up"].knowledge == knowledge
    del ATTACKS["made-up"]


@pytest.mark.parametrize("spec", ATTACKS.values(), ids=list(ATTACKS))
def test_the_package_has_the_function_not_the_module_of_its_name(spec: attacks.AttackSpec) -> None:
    assert getattr(attacks, spec.name.replace("-", "_")) is spec.function
