"""What a training does to any model: every number that decides the result, in one place."""

import hashlib
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from ..data.preprocessing import INTERPOLATIONS
from ..errors import UserError
from ..models.checks import AttentionForm, check_attention
from ..registry import did_you_mean

CHOICES = {
    "interpolation": INTERPOLATIONS,
    "optimizer": ("adamw", "muon"),
    "precision": ("fp32", "bf16"),
}
MOST, ABOVE_ZERO, BELOW_ONE = sys.float_info.max, sys.float_info.min, math.nextafter(1, 0)
RANGES = (
    (1, MOST, "1 or more", "epochs batch_size repeats crop_ratio"),
    (0, MOST, "0 or more", "weight_decay warmup_epochs warmup_lr min_lr clip_grad color_jitter"),
    (0, MOST, "0 or more", "mixup cutmix"),
    (0, 1, "between 0 and 1", "mixup_prob mixup_switch_prob erase_prob hflip label_smoothing"),
    (0, BELOW_ONE, "at least 0 and below 1", "drop_path ema_decay"),
    (ABOVE_ZERO, MOST, "above 0", "lr"),
    (ABOVE_ZERO, 1, "above 0, at most 1", "crop_scale"),
)
"""Least and largest value, in words, and the fields of which that holds."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A training recipe; optimizer, schedule and augmentation are timm's.

    Attributes:
        name: of the recipe.
        epochs: passes over the images.
        batch_size: images a step.
        lr: peak learning rate, as it is: not scaled with the batch size.
        weight_decay: decoupled; biases, norms and tokens have none.
        optimizer: ``adamw``, or ``muon`` (orthogonalised momentum for matrices, AdamW for the
            rest), which needs far fewer steps.
        warmup_epochs: linear rise from `warmup_lr` to `lr`.
        warmup_lr: learning rate at the start.
        min_lr: learning rate at the end of the cosine.
        step_on_epochs: whether the rate changes after every epoch, or after every step.
        clip_grad: largest norm of the gradient; 0 does not clip.
        label_smoothing: share of the target spread over all classes.
        drop_path: stochastic depth; rises linearly over the blocks from 0, in FAN the same in all.
        ema_decay: of an exponential moving average of the weights beside them; 0 keeps none.
        crop_scale: smallest share of the image's area that a random crop keeps.
        crop_ratio: largest aspect ratio of a crop, and its inverse the smallest.
        interpolation: of the resized crop.
        hflip: probability of a mirrored image.
        auto_augment: timm's name of a policy, like ``rand-m9-mstd0.5-inc1``; empty for none.
        color_jitter: strength; timm leaves it out beside `auto_augment`.
        erase_prob: probability of a random rectangle of noise.
        mixup: alpha of mixup; 0 for none.
        cutmix: alpha of CutMix; 0 for none.
        mixup_prob: share of batches that are mixed.
        mixup_switch_prob: share of these that take CutMix where both are on.
        repeats: copies of an image in an epoch, differently augmented; the epoch keeps its length.
        precision: ``fp32``, or ``bf16`` for autocast.
        attention: kernels, as in `DeitSizes`; bf16 on a CPU is quicker when ``explicit``.
        threads: CPU threads; None leaves torch's.
    """

    name: str
    epochs: int
    batch_size: int
    lr: float
    weight_decay: float
    warmup_epochs: float
    optimizer: str = "adamw"
    warmup_lr: float = 1e-6
    min_lr: float = 1e-5
    step_on_epochs: bool = True
    clip_grad: float = 0.0
    label_smoothing: float = 0.1
    drop_path: float = 0.0
    ema_decay: float = 0.0
    crop_scale: float = 0.08
    crop_ratio: float = 4 / 3
    interpolation: str = "bicubic"
    hflip: float = 0.5
    auto_augment: str = ""
    color_jitter: float = 0.0
    erase_prob: float = 0.0
    mixup: float = 0.0
    cutmix: float = 0.0
    mixup_prob: float = 1.0
    mixup_switch_prob: float = 0.5
    repeats: int = 1
    precision: str = "fp32"
    attention: AttentionForm = "auto"
    threads: int | None = None

    def __post_init__(self) -> None:
        for least, largest, allowed, names in RANGES:
            for name in names.split():
                self._check(name, least <= getattr(self, name) <= largest, allowed)
        for name, choices in CHOICES.items():
            self._check(name, getattr(self, name) in choices, f"one of {', '.join(choices)}")
        self._check("threads", self.threads is None or self.threads >= 1, "1 or more")
        check_attention(self.attention)
        self._check("batch_size", not (self.mixes and self.batch_size % 2), "even for mixup")

    def _check(self, name: str, is_right: bool, allowed: str) -> None:
        if not is_right:
            value = getattr(self, name)
            raise UserError(f"recipe {self.name}: {name} is {value!r}; it must be {allowed}")

    @property
    def mixes(self) -> bool:
        """Whether images of a batch are mixed."""
        return self.mixup > 0 or self.cutmix > 0

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for records."""
        return asdict(self)

    def sha256(self) -> str:
        """Hash of all values, the name included."""
        text = json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def changed(self, settings: Sequence[str]) -> Self:
        """A copy with other values, called ``NAME+SETTING+...``.

        Args:
            settings: each ``FIELD=VALUE``.

        Raises:
            UserError: an unknown field, or a value that is not of its kind.
        """
        types = {field.name: field.type for field in fields(self) if field.name != "name"}
        values: dict[str, Any] = {}
        for setting in settings:
            name, _, text = setting.partition("=")
            if name not in types:
                hint = did_you_mean(name, types)
                raise UserError(
                    f"--set {setting}: a recipe has no {name!r}.{hint} Known: {', '.join(types)}"
                )
            values[name] = _read(setting, text, types[name])
        if not values:
            return self
        changes = [f"{name}={new}" for name, new in values.items() if new != getattr(self, name)]
        return replace(self, name="+".join([self.name, *changes]), **values)


def _read(setting: str, text: str, kind: Any) -> Any:
    """One value from the command line."""
    if kind is bool:
        if text not in ("true", "false"):
            raise UserError(f"--set {setting}: {text!r} is neither true nor false")
        return text == "true"
    numbers = {float: "a number", int: "a whole number", int | None: "a whole number"}
    if kind not in numbers:
        return text
    try:
        return float(text) if kind is float else int(text)
    except ValueError:
        raise UserError(f"--set {setting}: {text!r} is not {numbers[kind]}") from None
