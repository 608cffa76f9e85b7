"""Making images: clean ones, those of a source, and what stands in place of one that failed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.decoding import BadImageError
from robustbench_twicing.data.image_maker import FailedImageError, ImageRequest, Maker
from robustbench_twicing.data.loader import load_batches
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.data.remembered import remember
from robustbench_twicing.errors import MissingImageError, UnreadableError, UserError
from tests.tiny import PREPROCESSING, noise


@dataclass(frozen=True)
class Inverted:
    """Clean pixels inverted, plus a constant; some images fail."""

    plus: int = 0
    error: Exception | None = None
    at: int = -1

    def pixels(
        self, data: Dataset, index: int, preprocessing: Preprocessing, *, seed: int
    ) -> NDArray[np.uint8]:
        """The inverse, or the failure."""
        if index == self.at and self.error is not None:
            raise self.error
        return (255 - data.pixels(index, preprocessing) + self.plus + seed).astype(np.uint8)

    def describe(self) -> dict[str, Any]:
        """Not used."""
        return {}


def test_batches_come_in_order_of_part_and_source() -> None:
    data = noise(7)
    maker = Maker(data, PREPROCESSING, {"0": Inverted(), "1": Inverted(plus=1)}, seed=3)
    batches = list(load_batches(maker, [2, 0], batch_size=3, skip_bad=False))
    assert [(batch.part, batch.indices) for batch in batches] == [
        *[(2, (6,))] * 3,
        *[(0, (0, 1, 2))] * 3,
    ]
    clean, one, other = (batch.pixels[0] for batch in batches[:3])
    np.testing.assert_array_equal(clean, data.pixels(6, PREPROCESSING))
    np.testing.assert_array_equal(one, (258 - clean.astype(int)).astype(np.uint8))
    np.testing.assert_array_equal(other, (259 - clean.astype(int)).astype(np.uint8))


def test_every_batch_of_a_part_names_its_source() -> None:
    maker = Maker(noise(5), PREPROCESSING, {"0": Inverted(), "1": Inverted(plus=1)})
    batches = load_batches(maker, range(2), batch_size=3, skip_bad=False)
    names = [(batch.part, batch.source) for batch in batches]
    assert names == [(part, source) for part in range(2) for source in (None, "0", "1")]


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (BadImageError("/x.png", "is torn"), BadImageError, "/x.png is torn"),
        (MissingImageError("x is not there"), MissingImageError, "x is not there"),
        (UserError("no photographs"), FailedImageError, "no photographs"),
        (KeyError("a"), FailedImageError, r"KeyError: 'a' \(test_image_maker.py:\d+\)"),
    ],
)
def test_an_image_that_a_source_cannot_give_is_absent_with_the_reason(
    raised: Exception, kind: type[Exception], message: str
) -> None:
    maker = Maker(noise(3), PREPROCESSING, {"only": Inverted(error=raised, at=1)})
    _, batch = load_batches(maker, [0], batch_size=3, skip_bad=True)
    assert batch.indices == (0, 2)
    assert len(batch.pixels) == 2
    (absent,) = batch.absent
    assert absent.position == 1
    assert type(absent.error) is kind
    with pytest.raises(kind, match=message):
        raise absent.error


def test_running_out_of_memory_is_not_the_corruptions_fault() -> None:
    maker = Maker(noise(3), PREPROCESSING, {"only": Inverted(error=MemoryError(), at=1)})
    with pytest.raises(MemoryError):
        list(load_batches(maker, [0], batch_size=3, skip_bad=True))


@dataclass(frozen=True)
class Counting:
    """Images that count how often each is decoded."""

    asked: list[int]

    def pixels(self, index: int, preprocessing: Preprocessing) -> NDArray[np.uint8]:
        """A grey image."""
        self.asked.append(index)
        return np.full((8, 8, 3), index, np.uint8)

    def picture(self, index: int) -> Any:
        """Not used."""
        raise NotImplementedError

    def signature(self, index: int) -> str:
        """As an image's."""
        return str(index)

    def select(self, indices: Any) -> Any:
        """Not used."""
        return self


def test_each_image_is_decoded_once_for_all_sources_and_stays_as_it_is() -> None:
    images = Counting([])
    data = Dataset("tiny", ("a", "b", "c"), (0, 0, 0), images, num_classes=None, labelling="")
    maker = Maker(
        data, PREPROCESSING, {str(plus): Inverted(plus=plus) for plus in range(4)}, keep=3
    )
    for source in (None, *maker.sources):
        maker.make(ImageRequest(source, range(3)))
    assert images.asked == [0, 1, 2] * 2, "once as they are, once for the sources"
    remembered = remember(data, 3)
    first = remembered.pixels(1, PREPROCESSING)
    assert not first.flags.writeable
    assert remembered.pixels(1, PREPROCESSING) is first


def test_no_more_than_the_limit_is_kept() -> None:
    images = Counting([])
    data = Dataset("tiny", ("a", "b", "c"), (0, 0, 0), images, num_classes=None, labelling="")
    remembered = remember(data, 2)
    for index in (0, 1, 0, 2, 0, 1):
        assert remembered.pixels(index, PREPROCESSING)[0, 0, 0] == index
    assert images.asked == [0, 1, 2, 1]
    assert remembered.fingerprint == data.fingerprint
    other = Preprocessing(crop=4, resize=None)
    remembered.pixels(1, other)
    assert images.asked == [0, 1, 2, 1, 1], "another cut is another image"


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_files_that_the_system_does_not_hand_out_end_the_run(workers: int) -> None:
    """They are no failure of the source: a mount that is lost would fill the run with errors."""
    lost = Inverted(error=UnreadableError("x.png cannot be read: Input/output error"), at=1)
    maker = Maker(noise(3), PREPROCESSING, {"lost": lost})
    batches = load_batches(maker, [0], batch_size=3, skip_bad=True, workers=workers)
    with pytest.raises(UnreadableError, match="Input/output error"):
        list(batches)


def test_a_photograph_that_is_gone_is_not_skipped(tmp_path: Path) -> None:
    for name in "01":
        (tmp_path / name).mkdir()
        Image.new("RGB", (8, 8)).save(tmp_path / name / "0.png")
    data = open_dataset(str(tmp_path))
    (tmp_path / "1" / "0.png").unlink()
    batches = load_batches(Maker(data, PREPROCESSING), [0], batch_size=2, skip_bad=True)
    with pytest.raises(UnreadableError, match=r"1/0\.png cannot be read: No such file"):
        list(batches)
