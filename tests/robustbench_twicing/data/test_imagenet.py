"""The wnid lists are those of the reference, by hash and entry by entry."""

import hashlib
import json
from importlib import resources
from pathlib import Path

import pytest

from robustbench_twicing.data.imagenet import (
    SUBSETS,
    subset_indices,
    wnid_to_index,
    wnids,
)

HASHES = {
    "imagenet-1k": "385e0240499426c022b773be1ae4da780f057b89c9694c7f47199f62746b6edd",
    "imagenet-a": "f6aa4b23244554d9b864fd715ae20048f6a9686388911b2dfbf1ada01bf0f520",
    "imagenet-r": "e19a59d84e3746fafd34d2ccf6ae604a44e9a0500a596f343c878a89e30ce624",
}
TIMM = {"imagenet-1k": "imagenet", "imagenet-a": "imagenet_a", "imagenet-r": "imagenet_r"}
GOLDEN = {"imagenet-1k": "imagenet1k", "imagenet-a": "imagenet_a", "imagenet-r": "imagenet_r"}


@pytest.mark.parametrize("which", HASHES)
def test_hash_of_the_vendored_list(which: str) -> None:
    assert hashlib.sha256("\n".join(wnids(which)).encode()).hexdigest() == HASHES[which]
    assert list(wnids(which)) == sorted(set(wnids(which)))


@pytest.mark.parametrize("which", HASHES)
def test_equals_timms_list(which: str) -> None:
    file = resources.files("timm.data") / "_info" / f"{TIMM[which]}_synsets.txt"
    assert file.read_text().split() == list(wnids(which))


@pytest.mark.parametrize("which", HASHES)
def test_equals_the_reference_list(which: str, shared: Path) -> None:
    reference = shared / "golden" / "labels" / f"{GOLDEN[which]}_wnids.json"
    assert json.loads(reference.read_text()) == list(wnids(which))


@pytest.mark.parametrize("which", SUBSETS)
def test_subset_indices_equal_timms(which: str) -> None:
    file = resources.files("timm.data") / "_info" / f"{TIMM[which]}_indices.txt"
    assert [int(line) for line in file.read_text().split()] == list(subset_indices(which))


def test_known_classes() -> None:
    index = wnid_to_index()
    assert (index["n01440764"], index["n01443537"], index["n15075141"]) == (0, 1, 999)
    assert len(set(subset_indices("imagenet-a")) & set(subset_indices("imagenet-r"))) == 86
