"""`resolve_model`: from what a user typed to one model."""

from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from ..errors import UserError
from .family import refuse_unsupported
from .placement import format_placement, parse_placement, split_placement
from .spec import ModelSpec
from .table import ALIASES, MODELS

TIMM_PREFIX = "timm:"


def resolve_model(name: str) -> ModelSpec:
    """Find a model by name.

    Args:
        name: a name of ours or an alias, with a layer placement like ``[10-12]`` where the model is
            twicing; ``timm:NAME``; or a bare name of timm's that is not ours.

    Returns:
        The model's spec under its canonical name; ``sizes["layers"]`` holds 0-based indices where
        not all layers are twicing.

    Raises:
        UserError: an unknown name, or a placement that does not fit the model.
    """
    model, placement = split_placement(name)
    spec = _find(model)
    if placement is None:
        return spec
    if not spec.twicing:
        raise UserError(
            f"{name!r} places twicing layers, but {spec.name} has none; "
            "leave the brackets out or name a twicing model"
        )
    depth = spec.sizes["depth"]
    layers = parse_placement(placement, depth)
    if len(layers) == depth:
        return spec
    return replace(
        spec,
        name=spec.name + format_placement(layers),
        sizes={**spec.sizes, "layers": layers},
    )


def _find(name: str) -> ModelSpec:
    canonical = ALIASES.get(name, name)
    if canonical in MODELS:
        return MODELS[canonical]
    if name.endswith(".py"):
        raise UserError(f"{name!r} is a file of code; name a function in it, like {name}:build")
    if name.startswith("hf:"):
        raise UserError(
            f"{name!r} is described by its folder alone: inspect FOLDER says what it is, and eval "
            "--model takes it"
        )
    refuse_unsupported(name)
    # Imported here: names of ours are found without waiting for timm.
    from .timm_models import timm_names, timm_spec

    theirs = timm_spec(name.removeprefix(TIMM_PREFIX))
    if theirs is not None:
        return theirs
    near = _near(name, timm_names())
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    if name.count("/") == 1:
        hint += f" A repository of the Hugging Face hub is hf:{name}."
    if Path(name).exists():
        hint = (
            f" {name} is a place on this machine: give NAME={name} for weights of a model called "
            f"NAME, or hf:{name} for a folder of Hugging Face."
        )
    raise UserError(
        f"no model is called {name!r}, here or in timm.{hint} The command `models` lists ours."
    )


def _near(name: str, timm_names: list[str]) -> list[str]:
    ours = [] if name.startswith(TIMM_PREFIX) else [*MODELS, *ALIASES]
    words = set(name.split("_"))
    same_words = [known for known in sorted(ours, key=len) if words <= set(known.split("_"))]
    near = (same_words or get_close_matches(name, ours))[:2]
    bare = name.removeprefix(TIMM_PREFIX)
    theirs = get_close_matches(bare, [known for known in timm_names if known not in ours], n=2)
    return [*near, *(TIMM_PREFIX + known for known in theirs)][:3]
