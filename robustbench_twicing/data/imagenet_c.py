"""Names of ImageNet-C (arXiv 1903.12261): corruptions, severities, ids, and how they are typed."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..errors import UserError
from ..registry import Registry, in_any_case

PREFIX, OTHERS_PREFIX = "imagenet-c", "corruption"
"""How conditions' ids begin: those of ImageNet-C's 19 corruptions, and those of all others."""
SIDE = 224
"""Pixels a side of the official files."""
OFFICIAL = "official"
"""What results.csv says in its column ``source`` of the authors' own files."""
SEVERITIES = (1, 2, 3, 4, 5)
CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog", "brightness"),
    "digital": ("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
    "extra": ("speckle_noise", "gaussian_blur", "spatter", "saturate"),
}
"""Corruptions by the archive that they come in."""
EXTRA = CATEGORIES["extra"]
"""The four hold-out corruptions, never part of mCE."""
MAIN = tuple(name for key, names in CATEGORIES.items() if key != "extra" for name in names)
"""The 15 corruptions of mCE."""
GROUPS: Mapping[str, tuple[str, ...]] = {"main": MAIN, "extra": EXTRA, "all": (*MAIN, *EXTRA)}
"""Words that stand for many corruptions; others than the benchmark's are asked for by name."""
OTHER_SETS: Mapping[str, tuple[str, ...]] = {
    "imagenet-c-bar": (
        *("blue_noise_sample", "brownish_noise", "caustic_refraction", "checkerboard_cutout"),
        *("cocentric_sine_waves", "inverse_sparkles", "perlin_noise", "plasma_noise"),
        *("single_frequency_greyscale", "sparkles"),
    ),
    "imagenet-3dcc": (
        *("near_focus", "far_focus", "bit_error", "color_quant", "flash", "fog_3d", "h265_abr"),
        *("h265_crf", "iso_noise", "low_light", "xy_motion_blur", "z_motion_blur"),
    ),
}
"""Other sets of corrupted images, which are read from their files: ImageNet-C-bar
(arXiv 2102.11273) and 3D Common Corruptions (arXiv 2203.01441). None of them is part of mCE."""
PREFIXES = (PREFIX, OTHERS_PREFIX, *OTHER_SETS)
DECLARED: dict[str, str] = {}
"""Name to group of every corruption that can be made here, filled by the declarations."""


class Cell(NamedTuple):
    """One corruption at one severity, 1 to 5."""

    corruption: str
    severity: int

    @property
    def id(self) -> str:
        """The condition's id: ``imagenet-c/fog/3``; ``corruption/rain/3`` for one of one's own."""
        return f"{self.prefix}/{self.corruption}/{self.severity}"

    @property
    def prefix(self) -> str:
        """Beginning of the id, and the attack's name in the record."""
        if is_of_imagenet_c(self.corruption):
            return PREFIX
        sets = (name for name, names in OTHER_SETS.items() if self.corruption in names)
        return next(sets, OTHERS_PREFIX)


def is_of_imagenet_c(corruption: str) -> bool:
    """Whether it is one of the benchmark's 19; no other one may be called ImageNet-C."""
    return corruption in GROUPS["all"]


def cells(corruptions: Iterable[str], severities: Iterable[int] = SEVERITIES) -> list[Cell]:
    """Every severity of every corruption, corruption by corruption."""
    chosen = tuple(severities)
    return [Cell(name, severity) for name in corruptions for severity in chosen]


def parse_corruptions(text: str) -> tuple[str, ...]:
    """Names from a comma list, in which ``main``, ``extra`` and ``all`` stand for many.

    Raises:
        UserError: an unknown name; the message has near ones.
    """
    known: Registry[tuple[str, ...]] = Registry("corruption")
    known.update({**GROUPS, **OTHER_SETS})
    others = (name for names in OTHER_SETS.values() for name in names)
    known.update({name: (name,) for name in (*GROUPS["all"], *others, *DECLARED)})
    parts = [in_any_case(part.strip(), known) for part in text.split(",")]
    names = [name for part in parts for name in known[part]]
    return tuple(dict.fromkeys(names))


def parse_severities(text: str) -> tuple[int, ...]:
    """Severities from a list like ``3``, ``1,3,5`` or ``1-5``, without repeats.

    Raises:
        UserError: something else.
    """
    severities: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([1-5])\s*(?:-\s*([1-5])\s*)?", part)
        if not match or int(match[1]) > int(match[2] or match[1]):
            raise UserError(f"severities {text!r} are not of 1 to 5, like 3, 1,3,5 or 1-5")
        severities += range(int(match[1]), int(match[2] or match[1]) + 1)
    return tuple(dict.fromkeys(severities))


def is_corruption(name: str) -> bool:
    """Whether a name asks for corruptions, in any case: ``imagenet-c``, ``corruption/rain``, ..."""
    return name.partition("/")[0].lower() in PREFIXES


def id_meant(name: str) -> str:
    """``imagenet-c/fog/3`` for ``fog``, ``fog/3`` or a mistyped severity; empty for other names."""
    corruption, _, severity = name.partition("/")
    if corruption not in DECLARED:
        return ""
    known = severity in map(str, SEVERITIES)
    return Cell(corruption, int(severity) if known else 3).id


def parse_id(name: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Corruptions and severities of ``imagenet-c/CORRUPTION[/SEVERITY]``, or ``corruption/...``.

    Both parts are written as in `parse_corruptions` and `parse_severities`, but for the commas;
    without a severity all five are meant.

    Raises:
        UserError: another form, or an unknown name.
    """
    parts = name.split("/")[1:]
    if not is_corruption(name) or not 1 <= len(parts) <= 2:
        raise UserError(
            f"{name!r} is not {PREFIX}/CORRUPTION/SEVERITY, like {Cell('fog', 3).id}; "
            f"or {PREFIX}/main for all severities of the {len(MAIN)}"
        )
    return parse_corruptions(parts[0]), parse_severities(parts[1]) if parts[1:] else SEVERITIES
