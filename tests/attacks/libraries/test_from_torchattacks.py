"""torchattacks under its own names: the same images as a direct call, with a step that scales."""

from fractions import Fraction
from typing import Any

import pytest
import torch
import torchattacks
from torch import Tensor, nn

from attacks.libraries import PRESETS, TORCHATTACKS, preset_attack, torchattacks_attack
from attacks.libraries.from_torchattacks import _run
from attacks.spec import AttackSpec
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.errors import UserError
from robustbench_twicing.seeds import derive_seed, seeded_globally

from .fragile import EPS, batch, classifier


def swept(spec: AttackSpec, made: AttackBatch, eps: Fraction = EPS, **constants: Any) -> Tensor:
    asked = spec.condition(eps, overrides=constants)
    (x_adv,) = spec.sweep(made, [eps], threat=asked.threat, settings=asked.settings)
    return x_adv


@pytest.mark.parametrize("levels", [1, 8])
@pytest.mark.parametrize(("rel_step", "given"), [(0.25, {}), (0.15, {"rel_step": 0.15})])
def test_pgd_is_the_librarys_with_a_step_that_is_a_share_of_the_budget(
    levels: int, rel_step: float, given: dict[str, float]
) -> None:
    model, eps = classifier(), levels / 255
    made = batch(model)
    constants: Any = {"random_start": False, "steps": 4, **given}
    x_adv = swept(torchattacks_attack("PGD"), made, Fraction(levels, 255), **constants)
    direct = torchattacks.PGD(model, eps=eps, alpha=rel_step * eps, steps=4, random_start=False)
    assert torch.allclose(x_adv, direct(made.x, made.y), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "rel_step"),
    [
        ("PGD", 0.25),
        ("BIM", 0.25),
        ("RFGSM", 0.25),
        ("FFGSM", 1.25),
        ("SINIFGSM", 0.25),
        ("PGDL2", 0.2),
    ],
)
def test_a_step_size_is_its_default_as_a_share_of_the_default_budget(
    name: str, rel_step: float
) -> None:
    settings = torchattacks_attack(name).settings
    assert settings["rel_step"] == pytest.approx(rel_step)
    assert "alpha" not in settings
    assert "eps" not in settings


def test_the_number_of_steps_is_the_constants() -> None:
    made = batch(classifier())
    after_1, after_10 = (
        swept(torchattacks_attack("BIM"), made, steps=steps, rel_step=0.05) for steps in (1, 10)
    )
    assert (after_1 - made.x).abs().max() * 255 == pytest.approx(0.4, abs=1e-3)
    assert (after_10 - made.x).abs().max() * 255 == pytest.approx(4, abs=1e-3)


class Recorder:
    """Stands in for an attack's class."""

    def __init__(
        self,
        model: nn.Module,
        eps: float = 8 / 255,
        seed: int | None = None,
        n_classes: int = 10,
        alpha: float = 2 / 255,
    ) -> None:
        CALLS.append({"eps": eps, "seed": seed, "n_classes": n_classes, "alpha": alpha})

    def set_device(self, device: torch.device) -> None:
        pass

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        return x


CALLS: list[dict[str, Any]] = []


def test_seeds_come_from_the_lent_state_and_classes_from_the_model() -> None:
    CALLS.clear()
    model = classifier()
    made = batch(model)
    for seed in (1, 1, 2):
        with seeded_globally(seed):
            _run(
                Recorder,
                model,
                made.x,
                made.y,
                eps=0.1,
                norm="linf",
                settings={"rel_step": 0.5, "n_classes": 1000},
            )
    first, again, other = CALLS
    assert first["alpha"] == 0.05
    assert (first["eps"], first["n_classes"]) == (0.1, 10)
    assert first["seed"] == again["seed"]
    assert first["seed"] != other["seed"]
    with seeded_globally(1):
        _run(Recorder, model, made.x, made.y, eps=0.1, norm="l2", settings={"n_classes": 4})
    assert CALLS[-1]["n_classes"] == 4


def test_presets_are_apgd_with_autoattacks_constants() -> None:
    assert set(PRESETS) == {"autoattack", "apgd", "apgd-dlr"}
    for name, loss in (("apgd", "ce"), ("apgd-dlr", "dlr")):
        spec = preset_attack(name)
        assert spec.name == name
        assert spec.settings["loss"] == loss
        assert spec.settings["steps"] == 100
        assert spec.settings["n_restarts"] == 1
        assert spec.condition(EPS).changed == {}


def test_a_preset_is_the_librarys_attack_with_streams_of_its_own_name() -> None:
    model = classifier()
    made = batch(model)
    spec = preset_attack("apgd-dlr")
    x_adv = swept(spec, made, steps=3)
    parts = []
    settings = {**spec.settings, "steps": 3}
    seed = derive_seed(0, list(made.images), "apgd-dlr", settings, "8/255")
    with seeded_globally(seed):
        seed_of_library = int(torch.randint(2**31, ()))
    with seeded_globally(0):
        attack = torchattacks.APGD(
            model, eps=float(EPS), steps=3, loss="dlr", n_restarts=1, seed=seed_of_library
        )
        parts.append(attack(made.x, made.y))
    assert torch.allclose(x_adv, torch.cat(parts), atol=1e-6)


def test_passes_are_known_where_steps_are() -> None:
    passes = {
        name: torchattacks_attack(name).condition(EPS, protocols[0], {"steps": 3}).passes
        for name, protocols in TORCHATTACKS.items()
    }
    assert passes["PGD"] == (3 + 1, 3)
    assert passes["PGDL2"] == (3 + 1, 3)
    assert passes["EOTPGD"] == (2 * 3 + 1, 2 * 3)
    assert passes["SINIFGSM"] == (5 * 3 + 1, 5 * 3)
    assert passes["VMIFGSM"] == (6 * 3 + 1, 6 * 3)
    assert passes["FGSM"] == passes["FFGSM"] == (1 + 1, 1)
    assert passes["SPSA"] == (2 * 128 + 1, 0)
    for name in ("APGD", "FAB", "Square", "AutoAttack"):
        assert passes[name] is None


def test_spsa_shows_the_network_as_many_images_as_it_says() -> None:
    made, shown = batch(classifier()), list[int]()
    made.model.register_forward_hook(lambda _, inputs, __: shown.append(len(inputs[0])))
    constants: Any = {"nb_iter": 2, "nb_sample": 5, "max_batch_size": 2}
    spec = torchattacks_attack("SPSA")
    swept(spec, made, **constants)
    assert sum(shown) == 20 * len(made.x)
    assert spec.passes({**spec.settings, **constants}) == (20, 0)


def test_its_autoattack_says_that_it_is_not_its_authors() -> None:
    *_, note = torchattacks_attack("AutoAttack").notes
    assert "10 steps where its authors take 100" in note
    made = torchattacks.AutoAttack(nn.Identity())._autoattack.attacks
    assert [getattr(part, "steps", None) for part in made] == [10, 10, 10, None]
    apgd = preset_attack("apgd").condition(EPS).settings
    constants = {key: value for key, value in apgd.items() if key != "block"}
    assert torchattacks.APGD(nn.Identity(), **constants).steps == 100


@pytest.mark.parametrize("name", ["CW", "pgd", ""])
def test_another_name_is_a_mistake_that_says_what_there_is(name: str) -> None:
    with pytest.raises(UserError, match="no attack of torchattacks"):
        torchattacks_attack(name)


def test_near_names_are_offered() -> None:
    with pytest.raises(UserError, match="PGD"):
        torchattacks_attack("PDG")
