"""Adversarial images come back as they were kept."""

import io
from pathlib import Path

import numpy as np
import pytest

from robustbench_twicing.errors import UserError
from robustbench_twicing.records.adversarial import AdversarialStore, read_adversarial

PLACE = ("a label/..", "val", "pixel", "pgd@1/255")


def test_what_was_kept_comes_back_bit_for_bit(tmp_path: Path) -> None:
    x = np.random.default_rng(0).random((3, 3, 4, 5)).astype(np.float32)
    x_adv = x + np.float32(2)
    store = AdversarialStore(tmp_path / "adversarial", 12)
    store.save(PLACE, [10, 11, 12], ["a.png", "模型/b.png", "c.png"], x, x_adv)
    found = AdversarialStore(tmp_path / "adversarial").files(PLACE)
    assert list(found) == [10, 11]
    kept = read_adversarial(found[11])
    assert kept.image == "模型/b.png"
    np.testing.assert_array_equal(kept.x, x[1])
    np.testing.assert_array_equal(kept.x_adv, x_adv[1])


def test_a_run_folder_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    store = AdversarialStore(tmp_path / "run" / "adversarial", 1)
    with pytest.raises(UserError, match="run is gone: it was moved or removed during the work"):
        store.save(PLACE, [0], ["a"], *np.zeros((2, 1, 3, 2, 2), np.float32))
    assert not (tmp_path / "run").exists()


def test_nothing_was_kept(tmp_path: Path) -> None:
    assert AdversarialStore(tmp_path / "adversarial").files(PLACE) == {}


def test_files_of_others_are_not_images(tmp_path: Path) -> None:
    store = AdversarialStore(tmp_path, 1)
    store.save(PLACE, [0], ["a"], *np.zeros((2, 1, 3, 2, 2), np.float32))
    (path,) = store.files(PLACE).values()
    (path.parent / "notes.npz").write_text("mine")
    (path.parent / "000009.txt").write_text("mine")
    assert list(store.files(PLACE)) == [0]


@pytest.mark.parametrize(
    "arrays",
    [
        {"x": np.zeros((3, 2, 2)), "x_adv": np.zeros((3, 2, 2))},
        {"x": np.zeros((3, 2, 2)), "x_adv": np.zeros((3, 2, 3)), "image": np.array("a")},
        {"x": np.zeros((2, 2)), "x_adv": np.zeros((2, 2)), "image": np.array("a")},
        {"x": np.array([object()]), "x_adv": np.zeros((3, 2, 2)), "image": np.array("a")},
    ],
)
def test_other_arrays_are_refused(tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    """The last would run code of the file's choice if it were unpickled."""
    path = tmp_path / "000000.npz"
    np.savez(path, allow_pickle=True, **arrays)
    with pytest.raises(UserError, match=r"000000\.npz is damaged"):
        read_adversarial(path)


def one_array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY", b"text", one_array()])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "000000.npz"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"000000\.npz is damaged"):
        read_adversarial(path)
