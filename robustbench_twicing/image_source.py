"""Where the images of a condition come from when they are not the clean crop."""

from typing import Any, Protocol

from .data import Dataset, Pixels
from .preprocessing import Preprocessing


class ImageSource(Protocol):
    """Gives, for every clean image, the image that a condition shows in its place.

    Sources are plain values: they are sent to worker processes.
    """

    def pixels(
        self, data: Dataset, index: int, preprocessing: Preprocessing, *, seed: int
    ) -> Pixels:
        """The counterpart of image ``index`` of ``data``, uint8 (crop, crop, 3).

        It depends on these arguments alone, never on what was asked for before.

        Args:
            data: the clean images.
            index: position in ``data``.
            preprocessing: of the model that will see the image.
            seed: the run's base seed.

        Raises:
            MissingImageError: there is no counterpart.
            BadImageError: a file that cannot be decoded.
            UnreadableError: a file, or the folder of all, that was there and is not any more.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """Plain values for the manifest; ``source`` is what results.csv says in that column."""
        ...
