"""The table of own attacks: what each is, what it costs, and its constants."""

from dataclasses import replace
from functools import partial
from typing import get_args

from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.registry import Registry

from .fgsm import fgsm_sweep
from .noise import noise_sweep
from .pgd import REL_STEP, pgd_sweep
from .pgd import STEPS as PGD_STEPS
from .pgd_any import pgd_any_sweep
from .spec import AttackSpec
from .spsa import DELTA, LEARNING_RATE, SAMPLES, EstimateAt, spsa_sweep
from .spsa import STEPS as SPSA_STEPS

ATTACKS: Registry[AttackSpec] = Registry("attack")
ATTACKS["fgsm"] = AttackSpec(
    "fgsm",
    fgsm_sweep,
    knowledge="white box, one gradient",
    source="https://arxiv.org/abs/1412.6572",
    passes=lambda settings: (0, 1),
    white_box=True,
    about=About("FGSM", one_step=True, paper_budget="4/255"),
)
ATTACKS["pgd"] = AttackSpec(
    "pgd",
    pgd_sweep,
    knowledge="white box, one gradient a step",
    source="https://arxiv.org/abs/1706.06083",
    passes=lambda settings: (
        settings["restarts"] * (settings["steps"] + (settings["restarts"] > 1)),
        settings["restarts"] * settings["steps"],
    ),
    white_box=True,
    settings={"steps": PGD_STEPS, "rel_step": REL_STEP, "random_start": True, "restarts": 1},
    about=About("PGD-{steps}", iterated=True, paper_budget="4/255"),
    contradiction=lambda settings: (
        "restarts without a random start are all the same run; leave one of the two out"
        if settings["restarts"] > 1 and not settings["random_start"]
        else ""
    ),
)
ATTACKS["pgd-any"] = AttackSpec(
    "pgd-any",
    pgd_any_sweep,
    knowledge="white box, one gradient a step",
    source="https://arxiv.org/abs/1706.06083",
    passes=lambda settings: (settings["steps"], settings["steps"]),
    white_box=True,
    settings={"steps": PGD_STEPS, "rel_step": REL_STEP},
    about=About(iterated=True),
    notes=(
        "pgd-any stops at the first iterate that fools the model: its accuracy is of images that "
        "are right at every iterate, a lower number than pgd's last iterate.",
    ),
)
ATTACKS["spsa"] = SPSA = AttackSpec(
    "spsa",
    spsa_sweep,
    knowledge="black box, logits",
    source="https://arxiv.org/abs/1802.05666",
    passes=lambda settings: (2 * settings["samples"] * settings["steps"], 0),
    settings={
        "steps": SPSA_STEPS,
        "samples": SAMPLES,
        "learning_rate": LEARNING_RATE,
        "delta": DELTA,
        "estimate_at": "iterate",
    },
    choices={"estimate_at": get_args(EstimateAt)},
    under={"paper": {"estimate_at": "twice-the-image"}},
    about=About("SPSA", gradient_free=True, paper_budget="1/255"),
)
ATTACKS["spsa-any"] = replace(
    SPSA,
    name="spsa-any",
    about=About(gradient_free=True),
    sweep=partial(spsa_sweep, early_exit=True),
    passes=lambda settings: ((2 * settings["samples"] + 1) * settings["steps"], 0),
    notes=(
        "spsa-any leaves an image alone at the first step that fools the model: its accuracy is of "
        "images that are right at every step, a lower number than spsa's last iterate.",
    ),
)
ATTACKS["noise"] = AttackSpec(
    "noise",
    noise_sweep,
    knowledge="none, random signs",
    source="a control, not an attack",
    passes=lambda settings: (0, 0),
    about=About(control=True),
)
