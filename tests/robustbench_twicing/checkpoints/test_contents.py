"""Weights are found behind any wrappers and prefixes, and what was taken is said."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from robustbench_twicing.checkpoints.contents import (
    EMA_KEYS,
    PLAIN_KEYS,
    PREFIXES,
    Choice,
    both_kinds,
    find_weights,
)
from robustbench_twicing.checkpoints.state_dict import load_into
from robustbench_twicing.errors import UserError

PLAIN, EMA = {"head.bias": torch.zeros(2)}, {"head.bias": torch.ones(2)}

EMPTY: dict[str, Tensor] = {}


def prefixed(state_dict: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {prefix + key: tensor for key, tensor in state_dict.items()}


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    wrappers=st.lists(st.sampled_from(["state_dict", "model", "module", "checkpoint"]), max_size=3),
    prefixes=st.lists(st.sampled_from(PREFIXES), max_size=4),
    extras=st.dictionaries(st.sampled_from(["epoch", "loss", "args"]), st.integers(), max_size=2),
)
def test_any_nesting_of_wrappers_and_prefixes_loads_to_the_same_logits(
    wrappers: list[str],
    prefixes: list[str],
    extras: dict[str, int],
    weights: dict[str, Tensor],
    build: Any,
) -> None:
    content: Any = prefixed(weights, "".join(prefixes))
    for wrapper in wrappers:
        content = {"best_acc": torch.tensor(1.0), **extras, wrapper: content}
    found = find_weights(content)
    assert found.key == ".".join(reversed(wrappers))
    assert found.choice == "plain"
    assert bool(found.notes) == bool(prefixes)
    network = build(depth=2, num_classes=5)
    for parameter in network.parameters():
        parameter.data.zero_()
    load_into(network, found.state_dict, source="it", asked="deit")
    x = torch.linspace(-1, 1, 2 * 3 * 32 * 32).view(2, 3, 32, 32)
    reference = build()
    reference.load_state_dict(weights)
    assert torch.equal(network(x), reference(x))


@pytest.mark.parametrize("plain", PLAIN_KEYS)
@pytest.mark.parametrize("ema", EMA_KEYS)
@pytest.mark.parametrize("prefix", ["", "module."])
def test_plain_and_ema_are_both_reachable(plain: str, ema: str, prefix: str) -> None:
    content = {ema: prefixed(EMA, prefix), plain: PLAIN}
    cases: list[tuple[Choice, int, str]] = [
        ("auto", 0, plain),
        ("plain", 0, plain),
        ("ema", 1, ema),
    ]
    for choice, value, key in cases:
        found = find_weights(content, choice)
        assert found.state_dict["head.bias"].tolist() == [value, value]
        assert found.key == key
        assert found.choice == ("ema" if value else "plain")
        assert any(repr(ema if key == plain else plain) in note for note in found.notes)
    assert list(both_kinds(content)) == ["plain", "ema"]


def test_state_dict_comes_before_model_and_the_other_is_said() -> None:
    found = find_weights({"model": EMA, "state_dict": PLAIN})
    assert found.key == "state_dict"
    assert "'model'" in found.notes[0]


def test_auto_takes_ema_only_where_there_is_nothing_else_and_says_so() -> None:
    found = find_weights({"epoch": 1, "model_ema": EMA, "model": None, "state_dict": EMPTY})
    assert found.choice == "ema"
    assert found.key == "model_ema"
    assert "EMA weights only" in found.notes[0]
    with pytest.raises(UserError, match=r"f holds EMA weights only \('model_ema'\)"):
        find_weights({"model_ema": EMA}, "plain", source="f")


@pytest.mark.parametrize("content", [PLAIN, {"model": PLAIN}, {"model": PLAIN, "model_ema": None}])
def test_asking_for_ema_where_there_is_none_is_an_error(content: Any) -> None:
    with pytest.raises(UserError, match="f holds no EMA weights"):
        find_weights(content, "ema", source="f")
    assert list(both_kinds(content)) == ["plain"]


def test_a_wrapper_below_the_ema_is_still_the_ema() -> None:
    content = {"state_dict_ema": {"module": EMA}, "model": PLAIN}
    assert find_weights(content, "ema").key == "state_dict_ema.module"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (EMPTY, "its keys are none"),
        ({"epoch": 3, "teacher": PLAIN}, "its keys are epoch, teacher; wanted is a state dict"),
        ([PLAIN], "it is a list"),
        (None, "it is a NoneType"),
        (torch.zeros(3), "it is a Tensor"),
        ({**PLAIN, "epoch": 3}, "'epoch' is a int"),
        ({"model": {"a": torch.zeros(2), 7: torch.zeros(1)}}, "under 'model'.* 7 is a Tensor"),
    ],
)
def test_what_holds_no_weights_is_called_what_it_is(content: Any, words: str) -> None:
    with pytest.raises(UserError, match=f"^f .*{words}"):
        find_weights(content, source="f")
    with pytest.raises(UserError, match=f"^f .*{words}"):
        both_kinds(content, source="f")


def test_an_unknown_choice_lists_the_known_ones() -> None:
    choice: Any = "best"
    with pytest.raises(UserError, match="'best' is none of auto, plain, ema"):
        find_weights(PLAIN, choice)


def test_a_part_that_was_compiled_leaves_no_mark() -> None:
    found = find_weights({"blocks.0._orig_mod.norm1.bias": torch.zeros(1), **PLAIN})
    assert list(found.state_dict) == ["blocks.0.norm1.bias", "head.bias"]


def test_a_prefix_of_some_keys_alone_is_no_prefix() -> None:
    found = find_weights({"module.a": torch.zeros(1), "b": torch.zeros(1)})
    assert list(found.state_dict) == ["module.a", "b"]
    assert not found.notes


@pytest.mark.parametrize(
    ("prefix", "inside"),
    [
        ("model._orig_mod.", ""),
        ("module._orig_mod.model.", ""),
        ("_orig_mod.module.", "_orig_mod."),
        ("model.", "_orig_mod."),
    ],
)
def test_the_prefix_that_is_said_is_the_one_in_the_file(prefix: str, inside: str) -> None:
    content = prefixed({f"blocks.0.{inside}norm1.bias": torch.zeros(1), **PLAIN}, prefix)
    weights = find_weights(content)
    assert list(weights.state_dict) == ["blocks.0.norm1.bias", "head.bias"]
    assert weights.prefix == prefix
    assert weights.notes == (f"The prefix {prefix!r} was taken off the keys.",)


def test_the_counter_of_an_averaged_model_is_no_weight() -> None:
    averaged = torch.optim.swa_utils.AveragedModel(torch.nn.Linear(2, 3))
    weights = find_weights(averaged.state_dict())
    assert list(weights.state_dict) == ["weight", "bias"]
    assert "an average: n_averaged beside them is left out" in weights.notes[0]


@pytest.mark.parametrize("around", ["", "module.", "_orig_mod.", "model."])
def test_a_prefix_of_the_networks_own_keys_stays(around: str) -> None:
    network = {"model.head.bias": torch.zeros(1), "model._orig_mod.norm.bias": torch.zeros(1)}
    weights = find_weights(prefixed(network, around), network=network)
    assert weights.state_dict.keys() == network.keys()
    assert weights.prefix == around


def test_a_file_that_contains_itself_ends() -> None:
    content: dict[str, Any] = {"epoch": 1}
    for key in (*PLAIN_KEYS, *EMA_KEYS):
        content[key] = {"model": content, "module": content}
    with pytest.raises(UserError, match="holds no weights"):
        find_weights(content)


def test_attributes_in_a_file_do_not_stand_before_methods() -> None:
    content: Any = OrderedDict(model=OrderedDict(PLAIN))
    content.__dict__["items"] = content["model"].__dict__["keys"] = 5
    choice: Choice = "auto"
    assert list(find_weights(content, choice).state_dict) == ["head.bias"]
