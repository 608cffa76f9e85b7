"""Token similarity in closed form, and against all pairs one by one."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import normalize

from robustbench_twicing.analysis.similarity import token_similarities, token_similarity
from robustbench_twicing.errors import UserError

N = 7
SIMPLEX = torch.eye(N, dtype=torch.float64) - 1 / N
DIRECTIONS = torch.eye(3, dtype=torch.float64).repeat_interleave(4, 0)


def similarity(tokens: Tensor) -> float:
    return float(token_similarity(tokens[None]).similarity)


def spread(tokens: Tensor) -> float:
    return float(token_similarity(tokens[None]).spread)


def pairs(tokens: Tensor) -> float:
    """Cosine of every pair, which no fast formula is needed for."""
    unit = normalize(tokens, dim=-1)
    gram = unit @ unit.T
    return float((gram.sum() - gram.trace()) / (len(tokens) * (len(tokens) - 1)))


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (torch.ones(N, 3, dtype=torch.float64), 1.0),
        (torch.eye(N, dtype=torch.float64), 0.0),
        (SIMPLEX, -1 / (N - 1)),
        (DIRECTIONS, (4 - 1) / (3 * 4 - 1)),
    ],
    ids=["equal", "orthonormal", "simplex", "three directions"],
)
def test_closed_forms(tokens: Tensor, expected: float) -> None:
    assert similarity(tokens) == pytest.approx(expected, abs=1e-14)
    lengths = torch.arange(1, len(tokens) + 1, dtype=torch.float64)[:, None]
    assert similarity(tokens * lengths) == pytest.approx(expected, abs=1e-14)


def test_spread_is_zero_for_equal_tokens_and_one_without_a_mean() -> None:
    assert spread(torch.ones(N, 3, dtype=torch.float64)) == pytest.approx(0, abs=1e-7)
    assert spread(SIMPLEX) == pytest.approx(1, abs=1e-14)
    # Orthonormal tokens: the mean has length 1/sqrt(N).
    assert spread(torch.eye(N, dtype=torch.float64)) == pytest.approx(math.sqrt(1 - 1 / N))


@pytest.mark.parametrize("twicing", [False, True])
def test_averaging_smooths_as_it_should(twicing: bool) -> None:
    """Tokens c m + s w_i under A = aI + (1-a)J/N: the w_i shrink by a, or 2a - a^2."""
    c, s, a = 1.0, 2.0, 0.6
    w = torch.cat([normalize(SIMPLEX, dim=-1), torch.zeros(N, 1, dtype=torch.float64)], 1)
    tokens = s * w
    tokens[:, -1] = c
    matrix = a * torch.eye(N, dtype=torch.float64) + (1 - a) / N
    shrinks = 2 * a - a * a if twicing else a
    matrix = 2 * matrix - matrix @ matrix if twicing else matrix
    for n in range(5):
        t = s * shrinks**n
        expected = (c * c - t * t / (N - 1)) / (c * c + t * t)
        assert similarity(tokens) == pytest.approx(expected, abs=1e-12)
        tokens = matrix @ tokens


@given(st.integers(2, 40), st.integers(1, 8), st.integers(0, 2**32 - 1), st.floats(-40, 40))
def test_the_fast_formula_is_the_mean_of_all_pairs(
    tokens: int, width: int, seed: int, exponent: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(tokens, width, generator=generator, dtype=torch.float64)
    assert similarity(x * 10**exponent) == pytest.approx(pairs(x), abs=1e-12)
    assert similarity(x.float()) == pytest.approx(pairs(x), abs=1e-6)


def test_float32_holds_at_any_scale() -> None:
    x = torch.randn(N, 5, generator=torch.Generator().manual_seed(0))
    for scale in (1e-30, 1e-15, 1e15, 1e30):
        assert similarity(x * scale) == pytest.approx(pairs(x.double()), abs=1e-6)


def test_zero_tokens_are_counted_and_in_no_pair() -> None:
    with_zeros = torch.cat([torch.zeros(2, 3, dtype=torch.float64), DIRECTIONS])
    numbers = token_similarity(with_zeros[None])
    assert float(numbers.similarity) == pytest.approx(similarity(DIRECTIONS), abs=1e-14)
    assert numbers.zero_tokens.tolist() == [2]


@pytest.mark.parametrize("tokens", [torch.zeros(N, 3), torch.ones(1, 3), torch.eye(3)[:1]])
def test_fewer_than_two_tokens_with_a_direction_have_no_similarity(tokens: Tensor) -> None:
    assert math.isnan(similarity(tokens))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_token_that_is_not_finite_spoils_its_image_alone(bad: float) -> None:
    tokens = DIRECTIONS.repeat(3, 1, 1)
    tokens[1, 2, 0] = bad
    numbers = token_similarity(tokens)
    assert numbers.finite.tolist() == [True, False, True]
    assert numbers.similarity.isnan().tolist() == [False, True, False]
    assert numbers.spread.isnan().tolist() == [False, True, False]
    assert float(numbers.similarity[2]) == pytest.approx(3 / 11, abs=1e-14)


def test_an_image_is_left_out_for_a_leading_token_too() -> None:
    tokens = DIRECTIONS.repeat(2, 1, 1)
    tokens[1, 0] = math.inf
    numbers = token_similarity(tokens, skip=1)
    assert numbers.finite.tolist() == [True, False]
    assert numbers.similarity.isnan().tolist() == [False, True]


def test_leading_tokens_are_left_out() -> None:
    x = torch.randn(2, N, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for skip, numbers in zip((0, 2), token_similarities(x, (0, 2)), strict=True):
        alone = token_similarity(x[:, skip:])
        for together, expected in zip(numbers, alone, strict=True):
            torch.testing.assert_close(together, expected)


def test_tokens_have_three_axes() -> None:
    with pytest.raises(UserError, match=r"not \(7, 3\)"):
        token_similarity(torch.ones(N, 3))
