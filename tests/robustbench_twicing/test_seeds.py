"""Random streams depend on what is attacked, and on nothing else."""

import hashlib
import random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.random.mtrand import set_bit_generator

from robustbench_twicing.seeds import (
    derive_seed,
    image_generators,
    image_keys,
    network_draws,
    random_signs,
    seeded_globally,
    states_kept,
    uniform_like,
)

SETTINGS = {"steps": 20, "rel_step": 0.15}


def first(**changes: object) -> float:
    """The first number of the stream of one image, with one thing changed."""
    keys: dict[str, object] = {
        "seed": 0,
        "images": ["a.png"],
        "attack": "pgd",
        "settings": SETTINGS,
        "budget": "4/255",
        "restart": 0,
    }
    (generator,) = image_generators(**{**keys, **changes})  # type: ignore[arg-type]
    return torch.rand(1, generator=generator, dtype=torch.float64).item()


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"images": ["b.png"]},
        {"attack": "spsa"},
        {"settings": {"steps": 21, "rel_step": 0.15}},
        {"settings": {}},
        {"budget": "1/255"},
        {"restart": 1},
    ],
)
def test_each_key_changes_the_stream(changes: dict[str, object]) -> None:
    assert first(**changes) != first()


def test_the_same_keys_give_the_same_stream_in_any_company() -> None:
    together = image_generators(0, ["b.png", "a.png"], "pgd", SETTINGS, "4/255")
    assert torch.rand(1, generator=together[1], dtype=torch.float64).item() == first()
    assert first(settings=dict(reversed(SETTINGS.items()))) == first()


def test_the_seed_is_pinned_so_that_numbers_can_be_repeated_years_later() -> None:
    digest = hashlib.sha256(b'[7,"a.png","pgd",{"steps":20},"4/255",0]').hexdigest()
    wanted = int(digest[:16], 16) // 2
    assert derive_seed(7, "a.png", "pgd", {"steps": 20}, "4/255", 0) == wanted
    (generator,) = image_generators(7, ["a.png"], "pgd", {"steps": 20}, "4/255")
    assert generator.initial_seed() == wanted


@pytest.mark.slow
@given(st.integers(), st.text(st.characters(), max_size=20))
def test_any_seed_and_file_name_make_a_seed_that_torch_takes(seed: int, image: str) -> None:
    made = derive_seed(seed, image)
    assert 0 <= made < 2**63
    torch.Generator().manual_seed(made)


def test_numbers_of_a_batch_are_those_of_its_images() -> None:
    x = torch.zeros(3, 2, 4, 4)
    names = ["a", "b", "c"]
    batch = uniform_like(x, image_generators(0, names, "pgd", {}, "1/255"))
    single = [uniform_like(x[:1], image_generators(0, [n], "pgd", {}, "1/255")) for n in names]
    assert torch.equal(batch, torch.cat(single))
    assert len(set(batch.flatten().tolist())) > 90


def test_one_generator_serves_a_whole_batch() -> None:
    x = torch.zeros(3, 2, 4, 4, dtype=torch.float64)
    drawn = uniform_like(x, torch.Generator().manual_seed(1))
    again = torch.rand(x.shape, generator=torch.Generator().manual_seed(1), dtype=x.dtype)
    assert torch.equal(drawn, again)
    assert drawn.dtype == x.dtype


def test_a_generator_too_few_is_a_bug_of_the_caller() -> None:
    with pytest.raises(ValueError, match="1 generators for 2 images"):
        uniform_like(torch.zeros(2, 1), [torch.Generator()])


def test_the_global_stream_is_not_touched() -> None:
    before = torch.random.get_rng_state()
    uniform_like(torch.zeros(2, 3), image_generators(0, ["a", "b"], "pgd", {}, "1/255"))
    uniform_like(torch.zeros(2, 3), torch.Generator())
    assert torch.equal(torch.random.get_rng_state(), before)


def draws() -> list[float]:
    return [random.random(), float(np.random.rand()), float(torch.rand(()))]  # noqa: NPY002


def states() -> list[Any]:
    kind, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002
    return [random.getstate(), kind, list(keys), rest, torch.get_rng_state().tolist()]


@pytest.mark.parametrize("seed", [0, 2**32, 2**63 - 1])
def test_the_same_seed_draws_the_same_from_all_three(seed: int) -> None:
    numbers = []
    for base in (seed, seed, seed // 2 + 1):
        with seeded_globally(base):
            numbers.append(draws())
    assert numbers[0] == numbers[1]
    assert all(one != other for one, other in zip(numbers[0], numbers[2], strict=True))


def test_global_generators_are_seeded_as_torch_does_it() -> None:
    with seeded_globally(5):
        ours = torch.rand(3)
        assert torch.initial_seed() == 5
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        assert torch.equal(ours, torch.rand(3))


def test_afterwards_all_are_as_before() -> None:
    before = states()
    with seeded_globally(1):
        draws()
        torch.manual_seed(7)
        random.seed(7)
        np.random.seed(7)  # noqa: NPY002
    assert states() == before


def test_the_outermost_context_restores_what_is_seeded_inside() -> None:
    before, numbers = states(), []
    with states_kept():
        for seed in (1, 2, 1):
            with seeded_globally(seed):
                numbers.append(draws())
            assert torch.get_rng_state().tolist() == before[-1]
    assert numbers[0] == numbers[2] != numbers[1]
    assert states() == before


def test_after_a_failure_too() -> None:
    before = states()
    with pytest.raises(ZeroDivisionError), seeded_globally(1):
        _ = draws()[0] / 0
    assert states() == before


def test_another_kind_of_global_generator_is_gone_after_who_chose_it() -> None:
    before = states()
    with states_kept():
        for _ in range(2):
            with seeded_globally(1):
                set_bit_generator(np.random.PCG64(3))
    assert states() == before


def test_a_network_draws_by_seed_first_image_and_what_it_is_asked_for() -> None:
    streams = []
    for seed, images, *keys in (
        (0, ["a", "b"], "clean"),
        (0, ["a", "c"], "clean"),
        (1, ["a", "b"], "clean"),
        (0, ["b", "a"], "clean"),
        (0, ["a", "b"], "pgd@4/255", "scores"),
    ):
        with network_draws(seed, images, *keys):
            streams.append(draws())
    assert streams[0] == streams[1]
    assert len({tuple(stream) for stream in streams}) == 4


SPLITMIX64 = (
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
)
"""Of seed 1234567, as published with other implementations of the generator."""


def signs_of(keys: list[int], numbers: list[int], shape: tuple[int, ...]) -> torch.Tensor:
    return random_signs(torch.tensor(keys), torch.tensor(numbers), torch.empty(1, *shape))


def test_random_signs_are_the_bits_of_splitmix64() -> None:
    (signs,) = signs_of([1234567], [0], (5, 64))
    words = [sum(1 << bit for bit in range(64) if row[bit] > 0) for row in signs]
    assert tuple(words) == SPLITMIX64
    second, third = signs_of([1234567, 1234567], [1, 2], (2, 64))
    assert torch.equal(second, signs[2:4]), "a draw begins where the one before it ends"
    assert torch.equal(third[0], signs[4])


def test_random_signs_do_not_depend_on_what_is_drawn_beside_them() -> None:
    keys, numbers = [5, 5, 2**63 - 1, 0], [0, 7, 3, 10**9]
    together = signs_of(keys, numbers, (3, 5, 7))
    assert together.shape == (4, 3, 5, 7)
    for row, key, number in zip(together, keys, numbers, strict=True):
        assert torch.equal(row[None], signs_of([key], [number], (3, 5, 7)))


def test_random_signs_are_balanced_and_independent_of_each_other() -> None:
    """The mean product of two rows of m fair signs has the deviation m^-1/2, whatever the pair."""
    keys = image_keys(16, image_generators(0, [str(n) for n in range(16)], "spsa", {}, "4/255"))
    rows = random_signs(
        keys.repeat_interleave(16), torch.arange(16).repeat(16), torch.empty(1, 3, 64, 64)
    ).flatten(1)
    for signs in (rows, rows.T[:512]):  # between draws, and between pixels
        count = signs.shape[1]
        correlation = signs @ signs.T / count - torch.eye(len(signs))
        assert correlation.abs().max() < 6 / count**0.5
        assert abs(correlation.std().item() * count**0.5 - 1) < 0.05
        assert signs.mean(1).abs().max() < 5 / count**0.5


def test_every_image_has_a_key_of_its_own_generator() -> None:
    generators = image_generators(0, ["a", "b", "c"], "spsa", {}, "4/255")
    keys = image_keys(3, generators)
    assert len(set(keys.tolist())) == 3
    (alone,) = image_keys(1, image_generators(0, ["b"], "spsa", {}, "4/255")).tolist()
    assert alone == keys[1]
    assert len(set(image_keys(3, torch.Generator().manual_seed(1)).tolist())) == 3
    with pytest.raises(ValueError, match="2 generators for 3 images"):
        image_keys(3, generators[:2])
