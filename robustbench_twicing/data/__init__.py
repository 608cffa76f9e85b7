"""Labelled images: folders, label files, arrays, samples."""

from .dataset import Dataset, Images, Pixels, Skipped
from .decoding import BadImageError
from .imagenet import subset_indices, wnids
from .opening import open_dataset

__all__ = [
    "BadImageError",
    "Dataset",
    "Images",
    "Pixels",
    "Skipped",
    "open_dataset",
    "subset_indices",
    "wnids",
]
