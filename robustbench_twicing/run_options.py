"""How a run is computed, whatever it computes."""

from dataclasses import dataclass

import torch

from .errors import UserError
from .shares import WHOLE, Share

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Options:
    """How a run is computed.

    Attributes:
        seed: base seed of every random stream.
        batch_size: images per batch; also the range of one part.
        on_bad_image: ``stop`` at an image that cannot be decoded, or ``skip`` and list it.
        device: ``auto``, ``cpu`` or ``cuda``.
        share: the parts that this process works on.
        attack_precision: ``fp32``, or ``bf16`` or ``fp16`` autocast while an attack runs; scores
            are always computed in fp32.
        save_adversarial: keep the adversarial images of the first N images.
        workers: processes that read and corrupt images; with 1, a thread of this process does.
    """

    seed: int = 0
    batch_size: int = 32
    on_bad_image: str = "stop"
    device: str = "auto"
    share: Share = WHOLE
    attack_precision: str = "fp32"
    save_adversarial: int = 0
    workers: int = 1

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise UserError(f"--batch-size {self.batch_size} is not a positive number of images")
        if self.on_bad_image not in ("stop", "skip"):
            raise UserError(f"--on-bad-image {self.on_bad_image!r} is unknown; it is stop or skip")
        if self.attack_precision not in PRECISIONS:
            known = ", ".join(PRECISIONS)
            raise UserError(
                f"--attack-precision {self.attack_precision!r} is unknown; it is {known}"
            )
        if self.save_adversarial < 0:
            raise UserError(f"--save-adversarial {self.save_adversarial} is less than 0")
        if self.workers < 1:
            raise UserError(f"--workers {self.workers} is not a positive number of processes")
        self.share.checked()
