"""Patches: what happens inside the square and outside, where it lies, and what is refused."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from attacks import ATTACKS
from attacks.noise import noise
from attacks.patch import STEPS, patch
from attacks.squares import Place, corners, received_attention, square, token_side
from reports import merge, results
from reports.metrics.radii import radius_curves
from robustbench_twicing import evaluate, load_model
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.cli.api import EvaluatedRun
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.ball import check_adversarial
from robustbench_twicing.conditions.threat_model import PROTOCOLS
from robustbench_twicing.errors import BrokenAttackError, UserError
from robustbench_twicing.models.fan.stem import ConvStem
from tests.tiny import Linear, convnet, vit
from tests.tiny import noise as noise_images

THREAT = PROTOCOLS["patch"].threat
COUNT, SIDE = 5, 4
NAMES = [f"{number}.png" for number in range(COUNT)]
Y = torch.tensor([0, 1, 0, 1, 1])
PLACES: tuple[Place, ...] = ("centre", "random", "gradient", "attention", "worst-of")


def images() -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(1, 255, (COUNT, 3, 8, 8), generator=generator) / 255


class OnePixel(nn.Module):
    """Logits 0 and the red of one pixel minus 1/2."""

    def __init__(self, row: int, column: int) -> None:
        super().__init__()
        self.place = row, column

    def forward(self, x: Tensor) -> Tensor:
        """Pixels (N, 3, H, W) to logits (N, 2)."""
        row, column = self.place
        red = x[:, 0, row, column] - 0.5
        return torch.stack([torch.zeros_like(red), red], 1)


class Tokens(nn.Module):
    """A linear network that says how large its tokens are, as timm's do."""

    def __init__(self, patch_size: object) -> None:
        super().__init__()
        self.embed, self.linear = nn.Identity(), Linear()
        self.embed.patch_size = patch_size  # type: ignore[assignment]

    def forward(self, x: Tensor) -> Tensor:
        """Pixels (N, 3, 8, 8) to logits (N, 2)."""
        logits: Tensor = self.linear(self.embed(x))
        return logits


def batch(model: nn.Module, seed: int = 0, names: list[str] = NAMES) -> AttackBatch:
    return AttackBatch(model, images()[: len(names)], Y[: len(names)], images=names, seed=seed)


def test_the_one_pixel_that_a_network_reads_ends_at_0_or_1() -> None:
    x = images()
    x_adv = patch(OnePixel(3, 4), x, Y, eps=SIDE)
    wanted = x.clone()
    wanted[:, 0, 3, 4] = 1.0 - Y
    assert torch.equal(x_adv, wanted)


def test_outside_the_square_nothing_changes() -> None:
    assert torch.equal(patch(OnePixel(1, 4), images(), Y, eps=SIDE), images())


def test_inside_it_every_pixel_that_counts_goes_to_the_end_of_its_range() -> None:
    model, x = Linear(), images()
    x_adv = patch(model, x, Y, eps=SIDE)
    away = (model.weight[1 - Y] - model.weight[Y]) > 0
    free = square(x, torch.tensor([[2, 2]] * COUNT), SIDE)
    assert free.flatten(1).sum(1).tolist() == [SIDE**2] * COUNT
    assert torch.equal(x_adv, torch.where(free, away.to(x), x))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("random_start", [False, True])
@pytest.mark.parametrize("side", [1, 3, 8])
def test_a_change_fits_into_the_square(place: Place, random_start: bool, side: int) -> None:
    x_adv = patch(
        vit(),
        images(),
        Y,
        eps=side,
        place=place,
        steps=2,
        random_start=random_start,
        generator=torch.Generator().manual_seed(0),
    )
    assert check_adversarial(images(), x_adv, side, THREAT).l0.min() > 0


def test_the_square_in_the_middle() -> None:
    (corner,) = corners(batch(Linear()), 3, "centre", 1)
    assert corner.tolist() == [[2, 2]] * COUNT


@pytest.mark.parametrize(("tokens", "stride"), [(None, 1), (2, 2), ((4, 4), 4)])
def test_the_square_with_the_largest_gradient(tokens: object, stride: int) -> None:
    model = Tokens(tokens)
    size = (model.linear.weight[1] - model.linear.weight[0]).abs().sum(0)
    sums = {
        (row, column): float(size[row : row + SIDE, column : column + SIDE].sum())
        for row in range(0, 8 - SIDE + 1, stride)
        for column in range(0, 8 - SIDE + 1, stride)
    }
    (corner,) = corners(batch(model), SIDE, "gradient", 1)
    largest = max((total, place) for place, total in sums.items())[1]
    assert corner.tolist() == [[*largest]] * COUNT


def received(model: Classifier, number: int) -> Tensor:
    """What each patch receives in a layer (N, rows * columns), worked out beside the network."""
    network: Any = model.network
    assert model.normalize is not None
    with torch.no_grad():
        tokens = network.patch_embed(model.normalize(images()))
        tokens = torch.cat([network.cls_token.expand(COUNT, 1, -1), tokens], 1) + network.pos_embed
        for block in network.blocks[: number - 1]:
            tokens = block(tokens)
        attention = network.blocks[number - 1].attn
        entered = network.blocks[number - 1].norm1(tokens)
        q, k, _ = attention.qkv(entered).unflatten(2, (3, attention.num_heads, -1)).unbind(2)
        scores = torch.einsum("nqhd,nkhd->nhqk", q, k) * attention.head_dim**-0.5
    of_tokens: Tensor = scores.double().softmax(-1).sum((1, 2))[:, 1:]
    return of_tokens


@pytest.mark.parametrize(("depth", "number"), [(2, 2), (7, 5)])
def test_the_square_that_receives_most_attention(depth: int, number: int) -> None:
    """In the fifth layer, or in the last; of squares that begin at a token of 2 x 2 pixels."""
    model = vit(depth=depth)
    grid = received(model, number).view(COUNT, 4, 4)
    (corner,) = corners(batch(model), 2, "attention", 1)
    assert [int(row) // 2 * 4 + int(column) // 2 for row, column in corner] == (
        grid.flatten(1).argmax(1).tolist()
    )
    (corner,) = corners(batch(model), SIDE, "attention", 1)
    sums = nn.functional.avg_pool2d(grid, 2, 1).flatten(1)
    assert corner.tolist() == [[best // 3 * 2, best % 3 * 2] for best in sums.argmax(1).tolist()]


def test_a_network_without_a_class_token_has_such_a_square() -> None:
    model = load_model("fmnist_fan", "random:0")
    x = torch.rand(2, 3, 28, 28, generator=torch.Generator().manual_seed(0))
    (corner,) = corners(AttackBatch(model, x, Y[:2], images=NAMES[:2]), 4, "attention", 1)
    best = received_attention(model, x).flatten(1).argmax(1).tolist()
    assert corner.tolist() == [[position // 7 * 4, position % 7 * 4] for position in best]


def test_a_network_whose_attention_nobody_sees_is_refused() -> None:
    others = "other places are centre, random, gradient, worst-of"
    with pytest.raises(UserError, match=f"not into a Linear; {others}"):
        patch(Linear(), images(), Y, eps=2, place="attention")
    asked = ATTACKS["patch-attention"].condition(Fraction(SIDE), "patch")
    with pytest.raises(UserError, match=f"convnet cannot be looked into: .*; {others}"):
        asked.check_model(asked.settings, convnet())
    asked.check_model({**asked.settings, "place": "gradient"}, convnet())


def test_how_large_tokens_are() -> None:
    assert token_side(Tokens((4, 4)), images()) == 4
    assert token_side(Tokens("large"), images()) == 1
    assert token_side(ConvStem(8, 32), images()) == 8
    assert token_side(Linear(), torch.zeros(1, 3, 224, 224)) == 14


def test_random_squares_depend_on_seed_and_image_alone() -> None:
    (drawn,) = corners(batch(convnet()), SIDE, "random", 1)
    (other,) = corners(batch(Linear(), names=NAMES[:2]), SIDE, "random", 1)
    assert drawn[:2].tolist() == other.tolist()
    (reseeded,) = corners(batch(convnet(), seed=1), SIDE, "random", 1)
    assert drawn.tolist() != reseeded.tolist()
    assert len({tuple(corner) for corner in drawn.tolist()}) > 1


@given(st.integers(0, 999), st.integers(1, 7))
def test_smaller_random_squares_lie_within_larger_ones(seed: int, side: int) -> None:
    """So does that in the middle."""
    for place in PLACES[:2]:
        small, large = (
            corners(batch(Linear(), seed), length, place, 1)[0] for length in (side, side + 1)
        )
        assert (large >= 0).all()
        assert (large + side + 1 <= 8).all()
        assert (large <= small).all()
        assert (small + side <= large + side + 1).all()


def test_aligned_squares_begin_at_a_token() -> None:
    free = corners(batch(Tokens(3)), SIDE, "worst-of", 20)
    aligned = corners(batch(Tokens(3)), SIDE, "worst-of", 20, aligned=True)
    for corner, moved in zip(free, aligned, strict=True):
        assert (moved == corner - corner % 3).all()
    assert any((corner % 3).any() for corner in free)


def badness(model: nn.Module, x_adv: Tensor) -> Tensor:
    with torch.no_grad():
        logits = model(x_adv)
    loss: Tensor = nn.functional.cross_entropy(logits, Y, reduction="none")
    return torch.where(logits.argmax(1) != Y, loss + 1e6, loss)


def test_the_worst_of_several_places_is_at_least_as_bad_as_any() -> None:
    model = convnet()
    tried: list[tuple[Place, int]] = [("random", 8), ("worst-of", 2), ("worst-of", 8)]
    alone, few, many = (
        badness(model, patch(model, images(), Y, eps=2, place=place, places=places, steps=4))
        for place, places in tried
    )
    assert (alone <= few).all()
    assert (few <= many).all()
    assert (alone < many).any()


@pytest.mark.parametrize("place", ["random", "gradient", "attention"])
def test_attacks_at_other_places_are_that_constant(place: Place) -> None:
    swept = []
    for name, settings in (("patch", {"place": place}), (f"patch-{place}", {})):
        asked = ATTACKS[name].condition(Fraction(SIDE), "patch", {"steps": 3, **settings})
        assert asked.sweep is not None
        made = asked.sweep(batch(vit()), [asked.eps], threat=asked.threat, settings=asked.settings)
        swept += list(made)
    assert torch.equal(*swept)
    assert torch.equal(
        swept[0], patch(vit(), images(), Y, eps=SIDE, place=place, steps=3, images=NAMES)
    )


def test_noise_draws_the_pixels_in_the_middle() -> None:
    x = images()
    made = noise(
        Linear(), x, Y, eps=SIDE, threat=THREAT, generator=torch.Generator().manual_seed(0)
    )
    changed = made != x
    free = square(x, torch.tensor([[2, 2]] * COUNT), SIDE).expand_as(changed)
    assert torch.equal(changed, free)
    check_adversarial(x, made, SIDE, THREAT)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(BrokenAttackError, match="9 x 9 px is larger than images of 8 x 8"):
        patch(Linear(), images(), Y, eps=9)
    with pytest.raises(ValueError, match=r"whole number of pixels, not 2\.5"):
        patch(Linear(), images(), Y, eps=2.5)
    with pytest.raises(ValueError, match="generator"):
        patch(Linear(), images(), Y, eps=2, random_start=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"places": 4}, "place centre is one place; places counts those of place=worst-of"),
        ({"place": "gradient", "aligned": True}, "lies on the grid of the tokens anyway"),
        ({"place": "attention", "aligned": True}, "lies on the grid of the tokens anyway"),
    ],
)
def test_constants_that_would_do_nothing_are_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        ATTACKS["patch"].condition(Fraction(SIDE), "patch", settings)


def test_passes_follow_from_the_constants() -> None:
    def passes(**settings: Any) -> object:
        return ATTACKS["patch"].condition(Fraction(SIDE), "patch", settings).passes

    assert passes() == (STEPS + 1, STEPS)
    assert passes(place="gradient", steps=3) == (3 + 1, 3 + 1)
    assert passes(place="attention", steps=3) == (1 + 3 + 1, 3)
    assert passes(place="worst-of", places=4, steps=3) == (4 * (3 + 1) + 1, 4 * 3)


@pytest.mark.parametrize("name", ["fgsm", "pgd", "spsa", "fmn", "pgd-t"])
def test_other_attacks_have_no_patch(name: str) -> None:
    followers = "noise, patch, patch-random, patch-gradient, patch-attention"
    with pytest.raises(UserError, match=f"cannot follow protocol patch; .* can: {followers}"):
        ATTACKS[name].condition(Fraction(SIDE), "patch")


def two_pixels(model: nn.Module, x: Tensor, y: Tensor, *, eps: float) -> Tensor:
    """Changes two pixels that are five rows apart."""
    x_adv = x.clone()
    x_adv[:, :, 1, 3] = x_adv[:, :, 6, 3] = 1
    return x_adv


def test_two_far_pixels_are_an_error_row(tmp_path: Path) -> None:
    asked = {"clean": None, "two@patch:5": two_pixels, "two@patch:6": two_pixels}
    done = evaluate(convnet(), noise_images(3), asked, out=tmp_path / "run")
    rows = done.results().set_index("condition")
    assert rows["status"].to_dict() == {"clean": "ok", "two@patch:5": "error", "two@patch:6": "ok"}
    records = done.records()
    message = str(records["message"][records["condition"] == "two@patch:5"].iloc[0])
    assert "left its patch of 5 px: what it changed needs 6 px in 3 of 3 images" in message
    row = rows.loc["two@patch:6"]
    assert (row["protocol"], row["norm"], row["eps"]) == ("patch", "patch", "patch:6")
    assert (row["eps_pixel_255_max"], row["l0_max"]) == (255, 2)
    assert rows["eps_255"].isna().all()
    assert rows.loc["clean", "protocol"] == "patch"


CONDITIONS = (
    *("clean", "patch@patch:2", "patch@patch:5", "patch-random@patch:6"),
    *("patch-attention@patch:5", "noise@patch:5"),
)


def run_of(out: Path, **options: Any) -> EvaluatedRun:
    """Of images that the network has right, under several patches."""
    data = noise_images(6)
    answers = evaluate(vit(), data, "clean").records()["prediction"].tolist()
    data = replace(data, labels=tuple(map(int, answers)))
    return evaluate(vit(), data, CONDITIONS, out=out, batch_size=1, score_8bit="all", **options)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> EvaluatedRun:
    return run_of(tmp_path_factory.mktemp("full") / "run")


def test_a_run_has_its_rows_and_no_robustness_curve(full: EvaluatedRun) -> None:
    rows = full.results().set_index("condition")
    top1 = rows["top1"].to_dict()
    assert set(rows["status"]) == {"ok"}
    assert top1["worst@patch:5"] <= top1["patch@patch:5"] < 100
    assert rows["l0_max"].dropna().max() == 36
    attacked = full.records()
    attacked = attacked[attacked["condition"] != "clean"]
    assert attacked["rank_8bit"].notna().all()
    runs = merge([full.folder])
    assert radius_curves(runs, results(runs)) == []


def test_survivors_mode_has_the_worst_case_of_a_full_run(
    full: EvaluatedRun, tmp_path: Path
) -> None:
    left = run_of(tmp_path / "run", survivors=True)
    worst = [
        done.results().set_index("condition")["top1"].filter(like="worst@").to_dict()
        for done in (full, left)
    ]
    assert worst[0] == worst[1]
    assert list(worst[0]) == ["worst@patch:2", "worst@patch:5", "worst@patch:6"]
    assert set(left.records()["status"]) == {"ok", "inherited"}
