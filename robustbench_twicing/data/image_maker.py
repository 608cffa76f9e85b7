"""Make the images of a batch: the clean crops, or what a condition shows in their place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from ..errors import MissingImageError, UnreadableError, UserError
from ..files.printable import described
from .dataset import Dataset, Pixels
from .decoding import BadImageError
from .preprocessing import Preprocessing
from .remembered import remember


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


@dataclass(frozen=True)
class RecordedImages:
    """A source as a manifest describes it: it can be read about, and shows nothing.

    Attributes:
        values: see `ImageSource.describe`.
    """

    values: Mapping[str, Any]

    def pixels(
        self, data: Dataset, index: int, preprocessing: Preprocessing, *, seed: int
    ) -> Pixels:
        """Nothing.

        Raises:
            MissingImageError: always.
        """
        raise MissingImageError(f"{self.values['source']} images are only described here")

    def describe(self) -> dict[str, Any]:
        """What the manifest says."""
        return dict(self.values)


class FailedImageError(Exception):
    """A source could not make an image: a corruption that failed, or that lacks its assets."""


ImageOrError = Pixels | BadImageError | MissingImageError | FailedImageError
"""An image, or why there is none."""


class ImageRequest(NamedTuple):
    """Some images of one part: as they are, or as one source gives them.

    Attributes:
        source: name of the source; None for the clean crops.
        indices: positions in the data set.
        part: number of the range that they are of.
    """

    source: str | None
    indices: Sequence[int]
    part: int = 0


@dataclass(frozen=True)
class Maker:
    """All that is needed to make any image of an evaluation; a plain value.

    Attributes:
        data: the clean images.
        preprocessing: of the model.
        sources: of the conditions that show other images, by name.
        seed: the run's base seed.
        keep: how many clean images stay decoded for the sources.
    """

    data: Dataset
    preprocessing: Preprocessing
    sources: Mapping[str, ImageSource] = field(default_factory=dict)
    seed: int = 0
    keep: int = 32

    @cached_property
    def _remembered(self) -> Dataset:
        return remember(self.data, self.keep)

    def make(self, request: ImageRequest) -> list[ImageOrError]:
        """The images, in order."""
        if request.source is None:
            return [self._clean(index) for index in request.indices]
        source = self.sources[request.source]
        return [self._sourced(source, index) for index in request.indices]

    def _clean(self, index: int) -> ImageOrError:
        try:
            return self.data.pixels(index, self.preprocessing)
        except BadImageError as error:
            return error

    def _sourced(self, source: ImageSource, index: int) -> ImageOrError:
        """A failure of the source, whatever it is, becomes an error row; it is never scored.

        Files that the system does not hand out are no failure of the source; they end the run.
        """
        try:
            return source.pixels(self._remembered, index, self.preprocessing, seed=self.seed)
        except UnreadableError:
            raise
        except (BadImageError, MissingImageError) as error:
            return error
        except UserError as error:
            return FailedImageError(str(error))
        except MemoryError:
            raise
        except Exception as error:
            return FailedImageError(described(error))


def make(maker: Maker, request: ImageRequest) -> list[ImageOrError]:
    """`Maker.make` as a function of a module, as worker processes need it."""
    return maker.make(request)
