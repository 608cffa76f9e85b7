"""Augmented batches: what an epoch shows, in which order, decided by the seed alone."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from timm.data.mixup import Mixup
from timm.data.transforms_factory import create_transform
from torch import Tensor
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from ..data.dataset import Dataset
from ..data.decoding import BadImageError
from ..data.preprocessing import Preprocessing
from ..errors import UserError
from ..seeds import derive_seed
from .recipe import Recipe

Batch = tuple[Tensor, Tensor]
"""Normalised images (N, 3, H, W); classes (N,), or their shares (N, K) where images are mixed."""
OF_NUMPY = 2**32
"""NumPy's global generator takes seeds below this."""


class EpochBatches(TorchDataset["Batch | str"]):
    """The batches of one epoch; one that cannot be read is the message that says why.

    Every draw is made from generators that are seeded by (seed, epoch, step), so that workers,
    their number and a continued run change nothing.

    Args:
        data: the images.
        recipe: batch size and augmentation.
        preprocessing: input size, mean and std.
        num_classes: K.
        seed: of the training.
        epoch: from 0.
    """

    def __init__(
        self,
        data: Dataset,
        recipe: Recipe,
        preprocessing: Preprocessing,
        *,
        num_classes: int,
        seed: int,
        epoch: int,
    ) -> None:
        self.data, self.seed, self.epoch = data, seed, epoch
        self.transform = make_transform(recipe, preprocessing)
        self.mixup = make_mixup(recipe, num_classes) if recipe.mixes else None
        generator = torch.Generator().manual_seed(derive_seed(seed, "order", epoch))
        order = torch.randperm(len(data), generator=generator).repeat_interleave(recipe.repeats)
        # As in DeiT, repeats make no epoch longer. What fills no batch at the end is left out.
        steps = len(data) // recipe.batch_size
        self.order = order[: steps * recipe.batch_size].view(steps, recipe.batch_size)

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, step: int) -> Batch | str:
        indices = self.order[step].tolist()
        with seeded(derive_seed(self.seed, "batch", self.epoch, step)):
            try:
                pictures = [self.data.images.picture(index) for index in indices]
            except BadImageError as error:
                return str(error)
            images = torch.stack([self.transform(picture) for picture in pictures])
            labels = torch.tensor([self.data.labels[index] for index in indices])
            return (images, labels) if self.mixup is None else self.mixup(images, labels)


def load_epoch(batches: EpochBatches, *, start: int, workers: int) -> Iterator[Batch]:
    """The batches from one step on, made by worker processes.

    Args:
        batches: of one epoch.
        start: first step that is wanted.
        workers: processes; 0 makes the batches in this one.

    Raises:
        UserError: an image that cannot be decoded, with its path.
    """
    steps = range(start, len(batches))
    loader: Any = DataLoader(
        batches, batch_size=None, sampler=steps, num_workers=workers, collate_fn=_as_it_is
    )
    for batch in loader:
        if isinstance(batch, str):
            raise UserError(batch)
        yield batch


def make_transform(recipe: Recipe, preprocessing: Preprocessing) -> Callable[[Any], Tensor]:
    """The training transform of timm: a photograph to a normalised image (3, H, W)."""
    transform: Callable[[Any], Tensor] = create_transform(
        preprocessing.crop,
        is_training=True,
        scale=(recipe.crop_scale, 1.0),
        ratio=(1 / recipe.crop_ratio, recipe.crop_ratio),
        hflip=recipe.hflip,
        color_jitter=recipe.color_jitter or None,  # type: ignore[arg-type]
        auto_augment=recipe.auto_augment or None,
        interpolation=recipe.interpolation,
        mean=preprocessing.mean,
        std=preprocessing.std,
        re_prob=recipe.erase_prob,
        re_mode="pixel",
    )
    return transform


def make_mixup(recipe: Recipe, num_classes: int) -> Callable[[Tensor, Tensor], Batch]:
    """Mixup and CutMix of timm, label smoothing included."""
    mixup: Callable[[Tensor, Tensor], Batch] = Mixup(  # type: ignore[no-untyped-call]
        mixup_alpha=recipe.mixup,
        cutmix_alpha=recipe.cutmix,
        prob=recipe.mixup_prob,
        switch_prob=recipe.mixup_switch_prob,
        label_smoothing=recipe.label_smoothing,
        num_classes=num_classes,
    )
    return mixup


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global generators that augmentations draw from, and put them back afterwards."""
    before = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed % OF_NUMPY)  # noqa: NPY002
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
        torch.set_rng_state(before[2])


def _as_it_is(batch: Any) -> Any:
    return batch
