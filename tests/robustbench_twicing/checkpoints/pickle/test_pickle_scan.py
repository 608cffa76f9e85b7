"""Sizes that a file cannot back are refused before anything is allocated."""

import io
import pickle
from typing import Any

import pytest
import torch

from robustbench_twicing.checkpoints.pickle.pickle_scan import ForeignGlobalError, survey
from robustbench_twicing.checkpoints.pickle.storages import DamagedPickleError

HUGE = 10**15


class Pid:
    """Stands for a storage that lies elsewhere in the file."""

    def __init__(self, *pid: Any) -> None:
        self.pid = pid


class Call:
    """Pickled as a call of a function with arguments."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> Any:
        return self.function, self.arguments


class Pickler(pickle.Pickler):
    """Writes `Pid` as a persistent id."""

    def persistent_id(self, value: Any) -> Any:
        return value.pid if isinstance(value, Pid) else None


def surveyed(value: Any) -> Any:
    """Survey a value's pickle."""
    file = io.BytesIO()
    Pickler(file, 2).dump(value)
    return survey(io.BytesIO(file.getvalue()))


def storage(numel: Any, key: str = "0", kind: Any = torch.FloatStorage) -> Pid:
    """A storage of so many elements."""
    return Pid("storage", kind, key, "cpu", numel)


def tensor(place: Any, offset: Any, size: Any, stride: Any) -> Call:
    """A tensor cut out of a storage."""
    rebuild = torch._utils._rebuild_tensor_v2
    return Call(rebuild, place, offset, size, stride, False, None)


def test_storages_and_bytes_are_counted() -> None:
    found = surveyed([tensor(storage(6), 0, (2, 3), (3, 1)), tensor(storage(6), 2, (4,), (1,))])
    assert list(found.storages) == ["0"]
    assert found.storages["0"].numel == 6
    assert found.storages["0"].itemsize == 4
    assert found.tensor_bytes == 40
    assert found.protocol == 2


def test_a_tensor_may_end_where_its_storage_ends() -> None:
    surveyed(tensor(storage(6), 1, (2, 2), (3, 1)))
    surveyed(tensor(storage(0), 0, (0, 7), (7, 1)))


@pytest.mark.parametrize(
    ("place", "offset", "size", "stride"),
    [
        (storage(6), 0, (HUGE,), (1,)),
        (storage(6), 0, (HUGE,), (0,)),
        (storage(6), 0, (7,), (1,)),
        (storage(6), 1, (6,), (1,)),
        (storage(6), 2, (2, 2), (3, 1)),
        (storage(6), HUGE, (1,), (1,)),
        (storage(6), -1, (1,), (1,)),
        (storage(6), 0, (-1,), (1,)),
        (storage(6), 0, (2,), (-1,)),
        (storage(6), 0, (2, 2), (1,)),
        (storage(6), 0, (2.0,), (1,)),
        ("no storage", 0, (1,), (1,)),
    ],
)
def test_a_tensor_outside_its_storage_is_refused(
    place: Any, offset: Any, size: Any, stride: Any
) -> None:
    with pytest.raises(DamagedPickleError, match="tensor"):
        surveyed(tensor(place, offset, size, stride))


@pytest.mark.parametrize(
    "pid",
    [
        storage(-1),
        storage("many"),
        Pid("module", torch.FloatStorage, "0", "cpu", 1),
        Pid("storage", torch.float32, "0", "cpu", 1),
        Pid("storage", torch.FloatStorage, "0", "cpu"),
    ],
)
def test_a_declaration_that_is_no_storage_is_refused(pid: Pid) -> None:
    with pytest.raises(DamagedPickleError, match="storage"):
        surveyed([pid])


def test_one_storage_cannot_have_two_sizes() -> None:
    with pytest.raises(DamagedPickleError, match="twice"):
        surveyed([storage(6), storage(7)])


@pytest.mark.parametrize(
    "call",
    [
        Call(bytearray, HUGE),
        Call(torch.Tensor, HUGE),
        Call(torch.empty, HUGE),
        Call(torch._utils._rebuild_meta_tensor_no_storage, torch.float32, (1,), (1,), False),
        Call(torch._utils._rebuild_sparse_tensor, 0, ()),
        Call(range, HUGE),
    ],
)
def test_what_torch_would_allocate_by_a_number_alone_is_foreign(call: Call) -> None:
    with pytest.raises(ForeignGlobalError):
        surveyed(call)


@pytest.mark.parametrize("kind", [torch.FloatStorage, torch.UntypedStorage])
def test_a_storage_type_cannot_be_called(kind: Any) -> None:
    with pytest.raises(DamagedPickleError, match="calls"):
        surveyed(Call(kind, HUGE))


def test_a_tensor_cannot_be_changed_after_it_was_built() -> None:
    file = io.BytesIO()
    Pickler(file, 2).dump(tensor(storage(6), 0, (6,), (1,)))
    with pytest.raises(DamagedPickleError, match="changes a tensor"):
        survey(io.BytesIO(file.getvalue()[:-1] + b"}b."))


DOUBLED = b")" + b"q\x00h\x00\x86" * 60
"""A tuple of itself twice, sixty times over: 2**60 items to whoever walks through it."""


@pytest.mark.parametrize(
    "program",
    [
        b"}" + DOUBLED + b"K\x01s",
        b"})" + b"\x85" * 10**6 + b"K\x01s",
        DOUBLED + b"Q",
        b"ccollections\nCounter\n" + DOUBLED + b"\x85R",
        b"cnumpy\ndtype\n" + DOUBLED + b"\x85R",
        b"cargparse\nNamespace\n)\x81}" + DOUBLED + b"K\x01sb",
        b"(" + b"K\x01" * 1000 + b"t" + (b"q\x00(" + b"h\x00" * 1000 + b"t"),
    ],
    ids=["key", "deep key", "storage", "count", "dtype", "attribute", "wide"],
)
def test_tuples_that_python_would_walk_through_without_end_are_refused(program: bytes) -> None:
    with pytest.raises(DamagedPickleError, match="nests tuples"):
        survey(io.BytesIO(b"\x80\x02" + program + b"."))


def test_tuples_of_ordinary_size_are_read() -> None:
    names = tuple(f"class {index}" for index in range(21_841))
    nested: Any = names
    for _ in range(30):
        nested = (nested, 1)
    assert surveyed({"classes": names, "nested": nested}).protocol == 2


@pytest.mark.parametrize("code", [b"", b"\x80\x02", b"\x80\x02a.", b"\x80\x02h\x05.", b"\xff."])
def test_what_is_no_whole_pickle_is_damaged(code: bytes) -> None:
    with pytest.raises(DamagedPickleError):
        survey(io.BytesIO(code))
