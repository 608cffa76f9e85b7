"""The pickle inside a torch file: surveyed first, loaded by torch's restricted reader second."""

import pickle
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, Any, cast

import torch

from ...errors import UserError
from .allowed import STAND_INS
from .pickle_scan import ForeignGlobalError, Survey, survey
from .storages import DamagedPickleError, Storage

LARGEST_SHARE = 16
"""Tensors may overlap in their storages (tied weights), but not this many times over."""
SAVE_AGAIN = "save the weights alone: torch.save({'model': model.state_dict()}, FILE)"
COPY_AGAIN = "copy or download it again"
_FAULTS_OF_A_FILE = (
    pickle.UnpicklingError,
    RuntimeError,
    EOFError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    AssertionError,
    struct.error,
)


@contextmanager
def mapped(path: Path) -> Iterator[IO[bytes]]:
    """A file to read pickles from: a declared length beyond its end allocates nothing."""
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        yield cast(IO[bytes], content)


def surveyed(path: Path, file: IO[bytes]) -> Survey:
    """The survey of one pickle in a checkpoint.

    Raises:
        UserError: damaged, a foreign name, or a protocol that torch.load's safe reader cannot read.
    """
    try:
        pickled = survey(file)
    except ForeignGlobalError as foreign:
        raise _foreign(path, foreign) from foreign
    except DamagedPickleError as error:
        raise UserError(f"{path} is truncated or damaged: {error}; {COPY_AGAIN}") from error
    if pickled.protocol != 2:
        raise UserError(
            f"{path} was saved with pickle protocol {pickled.protocol}, which the safe reader does "
            "not know; save it with torch.save's own protocol 2"
        )
    return pickled


def _foreign(path: Path, name: ForeignGlobalError) -> UserError:
    return UserError(
        f"{path} needs {name}, and loading that would run code from the file or for it; "
        f"nothing was loaded; {SAVE_AGAIN}"
    )


def check_share(path: Path, pickled: Survey) -> None:
    """Raise UserError where overlapping tensors declare absurdly more than the file holds."""
    stored = sum(storage.itemsize * storage.numel for storage in pickled.storages.values())
    if pickled.tensor_bytes > LARGEST_SHARE * stored:
        raise UserError(
            f"{path} declares {pickled.tensor_bytes} bytes of tensors over {stored} bytes of "
            "storage; no network is like that"
        )


def load_surveyed(path: Path, *, in_place: bool) -> Any:
    """torch.load with nothing but the allow-list, after the survey has passed.

    Args:
        path: the file.
        in_place: map the tensors' memory instead of reading it (zip format only).

    Raises:
        UserError: with the last line of what torch says.
    """
    # torch.load believes this ending against the content, and maps memory only by path.
    in_place = in_place and path.suffix != ".safetensors"
    stand_ins: list[Any] = [(stand_in, name) for name, stand_in in STAND_INS.items()]
    try:
        with path.open("rb") as file, torch.serialization.safe_globals(stand_ins):
            source: Any = str(path) if in_place else file
            return torch.load(source, map_location="cpu", weights_only=True, mmap=in_place)
    except _FAULTS_OF_A_FILE as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reasons = [line for line in lines if not line.startswith("Check the documentation")]
        last = reasons[-1] if reasons else type(error).__name__
        if "UntypedStorage" in last:  # what torch.save wrote and torch.load does not know
            raise UserError(
                f"{path} holds numbers of a format, as float8, that torch cannot read from its old "
                "container: quantised weights, whose values need scales that are not applied here; "
                "convert the weights to float32 first"
            ) from error
        raise UserError(f"{path} is damaged: {last}; {COPY_AGAIN}") from error


def refuse_pickle(path: Path) -> None:
    """Say what a file without a known container is.

    Raises:
        UserError: always: a pickle that torch.save did not write, or no checkpoint at all.
    """
    with mapped(path) as file:
        head = file.read(8)
        file.seek(0)
        try:
            survey(file)
        except ForeignGlobalError as foreign:
            raise _foreign(path, foreign) from foreign
        except DamagedPickleError as error:
            if head[:1] != b"\x80":
                raise UserError(
                    f"{path} is not a checkpoint: it starts with {head!r}; wanted is a file that "
                    "torch.save or safetensors wrote from a state dict"
                ) from error
    raise UserError(
        f"{path} is a plain pickle that torch.save did not write, or a part of one; {SAVE_AGAIN}"
    )


_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001


def read_torch_legacy(path: Path) -> Any:
    """The content of a file that torch.save wrote as a pickle stream (before torch 1.6).

    Raises:
        UserError: truncated, damaged, or it mentions a foreign name.
    """
    with mapped(path) as file:
        for expected in (_MAGIC, _PROTOCOL):
            if surveyed(path, file).result != expected:
                raise UserError(f"{path} is damaged: its first numbers are not torch.save's")
        surveyed(path, file)
        pickled = surveyed(path, file)
        keys = surveyed(path, file).result
        if not (
            isinstance(keys, list)
            and all(isinstance(key, str) for key in keys)
            and sorted(keys) == sorted(pickled.storages)
        ):
            raise UserError(f"{path} is damaged: it does not list the storages that it uses")
        _check_payload(path, file, [pickled.storages[key] for key in keys])
    check_share(path, pickled)
    return load_surveyed(path, in_place=False)


def _check_payload(path: Path, file: IO[bytes], storages: list[Storage]) -> None:
    """Walk over the storages behind the pickles: 8 bytes of count, then the elements, each."""
    size = path.stat().st_size
    for storage in storages:
        count = int.from_bytes(file.read(8), "little")
        end = file.tell() + storage.itemsize * storage.numel
        if end > size:
            raise UserError(
                f"{path} is truncated: storage {storage.key!r} ends at byte {end} and the file has "
                f"{size}; {COPY_AGAIN}"
            )
        if count != storage.numel:
            raise UserError(
                f"{path} is damaged: storage {storage.key!r} is declared with {storage.numel} "
                f"elements and has {count}; {COPY_AGAIN}"
            )
        file.seek(end)
