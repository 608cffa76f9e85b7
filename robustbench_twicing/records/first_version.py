"""Run folders from before conditions and models said what reports need to know of them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

ABOUT: Mapping[str, Mapping[str, Any]] = {
    "fgsm": {"title": "FGSM", "one_step": True},
    "pgd": {"title": "PGD-{steps}", "iterated": True},
    "pgd-any": {"iterated": True},
    "spsa": {"title": "SPSA", "gradient_free": True},
    "spsa-any": {"gradient_free": True},
    "noise": {"control": True},
}
"""`About` of the attacks that version 0.1 had, by name; frozen."""
BACKBONES: Mapping[str, Sequence[str]] = {
    "DeiT": ("deit", "deit_distilled", "neutreno", "featscale", "attnscale", "twicing"),
    "FAN": ("fan", "fan_twicing", "fan_hybrid"),
}
"""Families that version 0.1 had, by the backbone whose variants they are; frozen."""
PLAIN = ("deit", "fan", "fan_hybrid")
"""Those among them that are no variant, unless layers are twicing; frozen."""
GRADIENT_FREE = ("square", "autoattack", "torchattacks:spsa")
"""Parts of the names of other libraries' attacks that need no gradient; frozen."""


def completed(values: dict[str, Any]) -> dict[str, Any]:
    """A manifest in the words of today's.

    Args:
        values: what run.json holds, of any version that has schema 1.
    """
    try:
        keys = [f"{condition['protocol']}:{condition['id']}" for condition in values["conditions"]]
        evaluations = [
            {
                "conditions": dict.fromkeys(keys, int(evaluation["dataset"]["n_images"])),
                **evaluation,
                "record": {"about": about_of_model(evaluation["record"]), **evaluation["record"]},
                "dataset": _with_limit_seed(evaluation["dataset"]),
            }
            for evaluation in values["evaluations"]  # of one data set, before a run had several
        ]
        conditions = [
            {"about": about_of(str(condition["attack"]), str(condition["id"])), **condition}
            for condition in values["conditions"]
        ]
    except (TypeError, KeyError, ValueError, OverflowError):
        return values  # no manifest; the caller says so
    return {
        "left_out": [],
        "score_8bit": "all",
        "mode": "full",
        "draws": 1,
        **values,
        "evaluations": evaluations,
        "conditions": conditions,
    }


def _with_limit_seed(dataset: dict[str, Any]) -> dict[str, Any]:
    """A data set's record; the seed of a subset stood in a note alone."""
    notes = "\n".join(map(str, dataset.get("notes", ())))
    match = re.search(r"^\d+ of \d+ images were used, .* \(seed (-?\d+)\)$", notes, re.MULTILINE)
    return {"limit_seed": int(match[1]), **dataset} if match else dataset


def about_of_model(record: Mapping[str, Any]) -> dict[str, Any]:
    """What `ModelAbout` says of a model of version 0.1."""
    family = str(record["family"])
    details = record.get("details")
    sizes = details.get("sizes") if isinstance(details, dict) else None
    placed = isinstance(sizes, dict) and bool(sizes.get("twicing"))
    twicing = "twicing" in family or placed
    backbone = next((name for name, families in BACKBONES.items() if family in families), "")
    return {"backbone": backbone, "twicing": twicing, "plain": family in PLAIN and not twicing}


def about_of(attack: str, condition: str) -> dict[str, Any]:
    """What `About` says of a condition of version 0.1."""
    from ..data.imagenet_c import CATEGORIES, PREFIX

    if attack == PREFIX:
        name = condition.split("/")[1] if condition.count("/") == 2 else ""
        groups = [group for group, names in CATEGORIES.items() if name in names]
        return {"group": groups[0]} if groups else {}
    if any(part in attack.lower() for part in GRADIENT_FREE):
        return {"gradient_free": True}
    return dict(ABOUT.get(attack, {}))
