"""Eigenvalues of matrices that have them in closed form, and of the matrix on the values."""

import math

import pytest
import torch
from torch import Tensor

from robustbench_twicing.analysis.measures import spectrum
from robustbench_twicing.analysis.spectrum import POINTS, eigenvalues, spectrum_numbers
from robustbench_twicing.classifiers.probe import LayerTensor
from robustbench_twicing.models.attention import ValueWeights

N = 6
TWICING = ValueWeights(twicing=True)
EQUAL = torch.full((N, N), 1 / N, dtype=torch.float64)


def softmax_matrix(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return (2 * torch.randn(*shape, generator=generator, dtype=torch.float64)).softmax(-1)


def shift(a: float) -> Tensor:
    """Symmetric, with eigenvalues 1 and 1 - 2a."""
    return torch.tensor([[1 - a, a], [a, 1 - a]], dtype=torch.float64)


def numbers(matrix: Tensor, value_weights: ValueWeights = TWICING) -> dict[str, float]:
    """Of a single matrix."""
    of_softmax = eigenvalues(matrix[None, None])
    columns = spectrum_numbers(of_softmax, value_weights.eigenvalues(of_softmax))
    return {name: float(values) for name, values in columns.items()}


def same_set(first: Tensor, second: Tensor) -> bool:
    """Whether each of some complex numbers has its partner, in whatever order."""
    distances = (first[:, None] - second[None]).abs()
    return bool((distances.amin(0) < 1e-9).all() and (distances.amin(1) < 1e-9).all())


@pytest.mark.parametrize("value_weights", [ValueWeights(), TWICING])
def test_what_keeps_every_token_and_what_makes_all_equal(value_weights: ValueWeights) -> None:
    identity = numbers(torch.eye(N, dtype=torch.float64), value_weights)
    equal = numbers(EQUAL, value_weights)
    assert (identity["mean_abs"], identity["second_abs_effective"], identity["capacity_12"]) == (
        1,
        1,
        1,
    )
    assert equal["mean_abs"] == pytest.approx(1 / N)
    assert equal["second_abs"] == pytest.approx(0, abs=1e-12)
    assert equal["capacity_1"] == pytest.approx(1 / N)
    assert identity["share_above_1"] == equal["share_above_1"] == 0
    assert (identity["complex"], identity["negative"], equal["large"]) == (0, 0, 1)


@pytest.mark.parametrize("a", [0.1, 0.5, 0.8])
def test_twicing_takes_negative_eigenvalues_out_of_the_unit_disc(a: float) -> None:
    columns = numbers(shift(a))
    assert columns["second_abs"] == pytest.approx(abs(1 - 2 * a), abs=1e-12)
    magnitudes = sorted([1.0, abs(1 - 4 * a * a)])
    assert columns["second_abs_effective"] == pytest.approx(magnitudes[0], abs=1e-12)
    assert columns["max_abs_effective"] == pytest.approx(magnitudes[1])
    assert columns["share_above_1"] == (0.5 if a > math.sqrt(0.5) else 0)
    assert columns["negative"] == (1 if a > 0.5 else 0)
    for n in (1, 2, 6, 12):
        assert columns[f"capacity_{n}"] == pytest.approx(sum(m**n for m in magnitudes) / 2)


def test_a_shift_of_three_tokens() -> None:
    """Its eigenvalues are the cube roots of one, two of which are complex and left of zero."""
    columns = numbers(torch.eye(3, dtype=torch.float64).roll(1, 0))
    assert columns["mean_abs"] == pytest.approx(1)
    assert (columns["complex"], columns["negative"], columns["large"]) == (2, 2, 3)
    assert columns["mean_abs_effective"] == pytest.approx((1 + 2 * math.sqrt(7)) / 3)
    assert columns["max_abs_effective"] == pytest.approx(math.sqrt(7))


def test_a_symmetric_circulant_has_its_fourier_transform() -> None:
    row = torch.tensor([0.5, 0.2, 0.05, 0.05, 0.2], dtype=torch.float64)
    matrix = torch.stack([row.roll(steps) for steps in range(len(row))])
    of_softmax = eigenvalues(matrix[None, None])[0, 0]
    transformed = torch.fft.fft(row)
    assert same_set(of_softmax, transformed)
    assert same_set(TWICING.eigenvalues(of_softmax), 2 * transformed - transformed**2)


def test_the_polynomial_of_the_eigenvalues_is_that_of_the_matrix() -> None:
    a = softmax_matrix(2, 3, N, N)
    mapped = TWICING.eigenvalues(eigenvalues(a)).flatten(0, 1)
    direct = torch.linalg.eigvals(2 * a - a @ a).flatten(0, 1)
    assert all(map(same_set, mapped, direct))


def test_attnscale_scales_all_but_one() -> None:
    a = softmax_matrix(2, 3, N, N)
    lamb = torch.tensor([0.0, 0.7, -0.4])
    mapped = ValueWeights(lamb=lamb).eigenvalues(eigenvalues(a)).flatten(0, 1)
    matrix = EQUAL + (1 + lamb.double().view(3, 1, 1)) * (a - EQUAL)
    assert all(map(same_set, mapped, torch.linalg.eigvals(matrix).flatten(0, 1)))


def test_rounding_in_float32_puts_nothing_outside_the_unit_disc() -> None:
    a = softmax_matrix(4, 2, 50, 50).float()
    of_softmax = eigenvalues(a)
    assert not spectrum_numbers(of_softmax, of_softmax)["share_above_1"].any()


def test_magnitudes_by_rank_are_sorted_each_for_itself() -> None:
    """A lower triangular matrix has its diagonal as eigenvalues."""
    diagonal = torch.linspace(1, 0, 2 * POINTS, dtype=torch.float64)
    matrix = torch.diag(diagonal)
    matrix[:, 0] += 1 - diagonal
    columns = numbers(matrix)
    assert columns["abs_0"] == pytest.approx(1)
    assert columns[f"abs_{POINTS - 1}"] == pytest.approx(0)
    middle = columns["abs_20"]
    assert middle == pytest.approx(1 - 20 / (POINTS - 1), abs=1 / POINTS)
    assert columns["abs_effective_20"] == pytest.approx(2 * middle - middle**2)


def test_a_matrix_that_is_not_finite_spoils_its_image_alone() -> None:
    a = softmax_matrix(3, 2, N, N)
    whole = spectrum_numbers(eigenvalues(a), eigenvalues(a))
    a[1, 0, 2] = math.nan
    spoilt = spectrum_numbers(eigenvalues(a), eigenvalues(a))
    for name, values in spoilt.items():
        assert values.isnan().any(1).tolist() == [False, True, False], name
        torch.testing.assert_close(values[[0, 2]], whole[name][[0, 2]])


def test_a_single_token_has_no_second_eigenvalue() -> None:
    columns = numbers(torch.ones(1, 1))
    assert columns["mean_abs"] == 1
    assert math.isnan(columns["second_abs"])


def test_rows_of_each_head_and_none_of_a_class_tokens_row_alone() -> None:
    seen = LayerTensor("weights", 2, softmax_matrix(4, 3, N, N), 1, True, (1, N - 1), TWICING)
    rows = dict(spectrum().rows(seen))
    assert list(rows) == [("2", "1"), ("2", "2"), ("2", "3")]
    assert {len(values) for of_head in rows.values() for values in of_head.values()} == {4}
    row_alone = seen._replace(layer="class-1", values=seen.values[:, :, :1])
    assert not list(spectrum().rows(row_alone))
