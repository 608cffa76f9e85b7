"""Files that are no checkpoints: each is called what it is."""

import io
import os
import pickle
import struct
import tarfile
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import Tensor, nn

from robustbench_twicing.checkpoints.reading import read_checkpoint
from robustbench_twicing.errors import UserError

Write = Callable[[Path, dict[str, Tensor]], object]


class Foreign(nn.Module):
    """A class that only this test file has."""


def saved(content: Any, **options: Any) -> bytes:
    """What torch.save writes."""
    file = io.BytesIO()
    torch.save(content, file, **options)
    return file.getvalue()


def zipped(entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return file.getvalue()


def html(path: Path, _: object) -> None:
    path.write_text("\n<!DOCTYPE html><html><body>404</body></html>")


def lfs_pointer(path: Path, _: object) -> None:
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 22883344\n")


def truncated_zip(path: Path, weights: dict[str, Tensor]) -> None:
    path.write_bytes(saved(weights)[:5000])


def truncated_legacy(path: Path, weights: dict[str, Tensor]) -> None:
    path.write_bytes(saved(weights, _use_new_zipfile_serialization=False)[:-40])


def truncated_safetensors(path: Path, weights: dict[str, Tensor]) -> None:
    save_file(weights, path)
    path.write_bytes(path.read_bytes()[:-40])


def cut_in_the_header(path: Path, weights: dict[str, Tensor]) -> None:
    save_file(weights, path)
    path.write_bytes(path.read_bytes()[:40])


def flipped_bit(path: Path, weights: dict[str, Tensor]) -> None:
    content = bytearray(saved(weights))
    at = content.index(weights["head.weight"].numpy().tobytes())
    content[at] ^= 1
    path.write_bytes(content)


def torchscript(path: Path, _: object) -> None:
    """Which torch.jit.save compresses."""
    entries = {"net/data.pkl": b"", "net/constants.pkl": b"", "net/code/m.py": b"#" * 999}
    path.write_bytes(zipped(entries, zipfile.ZIP_DEFLATED))


def photos(path: Path, _: object) -> None:
    path.write_bytes(zipped({"photos/1.jpg": b"1", "photos/2.jpg": b"2"}))


def bomb(path: Path, _: object) -> None:
    path.write_bytes(zipped({"net/data.pkl": b"0" * 10**7}, zipfile.ZIP_DEFLATED))


def packed_again(path: Path, _: object) -> None:
    path.write_bytes(zipped({"net/data.pkl": os.urandom(99)}, zipfile.ZIP_DEFLATED))


def absurd_directory(path: Path, weights: dict[str, Tensor]) -> None:
    content = bytearray(saved(weights))
    entry = content.rindex(b"PK\x01\x02", 0, content.rindex(b"/data/1"))
    content[entry + 20 : entry + 28] = struct.pack("<II", 10**9, 10**9)
    path.write_bytes(content)


def many_views(path: Path, _: object) -> None:
    tensor = torch.zeros(1000)
    path.write_bytes(saved({f"w{index}": tensor.view(1000) for index in range(17)}))


def legacy_count(path: Path, weights: dict[str, Tensor]) -> None:
    content = bytearray(saved({"a": weights["norm.bias"]}, _use_new_zipfile_serialization=False))
    at = content.rindex(weights["norm.bias"].numpy().tobytes())
    content[at - 8] += 1
    path.write_bytes(content)


def legacy_keys(path: Path, weights: dict[str, Tensor]) -> None:
    content = saved({"a": weights["norm.bias"]}, _use_new_zipfile_serialization=False)
    head, last, tail = content.rpartition(b"X")
    path.write_bytes(head + last + tail[:4] + b"?" + tail[5:])


def dtype_of_lists(path: Path, _: object) -> None:
    doubled = b"]]q\x00a" + b"](h\x00h\x00eq\x00a" * 60
    path.write_bytes(
        zipped(
            {"net/data.pkl": b"\x80\x02cnumpy\ndtype\n" + doubled + b"\x85R.", "net/version": b"3"}
        )
    )


def legacy_keys_of_lists(path: Path, weights: dict[str, Tensor]) -> None:
    content = saved({"a": weights["norm.bias"]}, _use_new_zipfile_serialization=False)
    head, _, _ = content.rpartition(b"\x80\x02")
    path.write_bytes(head + b"\x80\x02]]q\x00a" + b"](h\x00h\x00eq\x00a" * 60 + b".")


def whole_module(path: Path, _: object) -> None:
    path.write_bytes(saved(Foreign()))


def protocol_4(path: Path, weights: dict[str, Tensor]) -> None:
    path.write_bytes(saved({"epoch": 1, "model": weights}, pickle_protocol=4))


def plain_pickle(path: Path, _: object) -> None:
    path.write_bytes(pickle.dumps({"epoch": 1}))


def tar(path: Path, _: object) -> None:
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("weights.pth"))


def huge_header(path: Path, _: object) -> None:
    path.write_bytes(struct.pack("<Q", 2**60) + b"{}" + bytes(100))


def encrypted(path: Path, weights: dict[str, Tensor]) -> None:
    content = bytearray(saved(weights))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)


BAD: dict[str, tuple[Write, list[str]]] = {
    "empty": (lambda path, _: path.write_bytes(b""), ["is empty (0 bytes)", "download"]),
    "directory without": (lambda path, _: path.mkdir(), ["folder without a checkpoint", ".pth"]),
    "missing": (lambda path, _: None, ["no such file"]),
    "html": (html, ["web page", "download the checkpoint again"]),
    "lfs": (lfs_pointer, ["Git LFS pointer", "git lfs pull"]),
    "truncated zip": (truncated_zip, ["truncated", "download it again"]),
    "truncated legacy": (truncated_legacy, ["truncated", "download it again"]),
    "truncated safetensors": (truncated_safetensors, ["truncated", "safetensors"]),
    "cut in the header": (cut_in_the_header, ["truncated", "header alone needs"]),
    "flipped bit": (flipped_bit, ["damaged", "checksum of", "/data/"]),
    "torchscript": (torchscript, ["TorchScript", "state_dict()"]),
    "other zip": (photos, ["zip archive but not a checkpoint", "photos/1.jpg"]),
    "bomb": (bomb, ["declares 10000000 bytes", "zip bomb"]),
    "packed again": (packed_again, ["torch.save does not compress"]),
    "absurd directory": (absurd_directory, ["declares 10000", "in an archive of"]),
    "many views": (many_views, ["68000 bytes of tensors over 4000 bytes"]),
    "legacy count": (legacy_count, ["is declared with 12 elements and has 13"]),
    "legacy keys": (legacy_keys, ["does not list the storages that it uses"]),
    "dtype of lists": (dtype_of_lists, ["NumPy dtype of type list"]),
    "legacy keys of lists": (legacy_keys_of_lists, ["does not list the storages that it uses"]),
    "encrypted": (encrypted, ["torch.save does not compress"]),
    "whole module": (whole_module, ["Foreign", "state_dict()"]),
    "protocol 4": (protocol_4, ["pickle protocol 4", "protocol 2"]),
    "plain pickle": (plain_pickle, ["plain pickle that torch.save did not write"]),
    "tar": (tar, ["tar archive", "unpack it"]),
    "gzip": (lambda path, _: path.write_bytes(b"\x1f\x8b" + bytes(99)), ["gzip"]),
    "png": (lambda path, _: path.write_bytes(b"\x89PNG\r\n" + bytes(99)), ["PNG image"]),
    "hdf5": (lambda path, _: path.write_bytes(b"\x89HDF\r\n" + bytes(99)), ["HDF5"]),
    "numpy": (lambda path, _: path.write_bytes(b"\x93NUMPY" + bytes(99)), ["NumPy array"]),
    "huge header": (huge_header, ["declares a header of 1152921504606846976 bytes"]),
    "noise": (lambda path, _: path.write_bytes(bytes(range(7, 99))), ["is not a checkpoint"]),
    "json": (lambda path, _: path.write_text('{"lr": 1}'), ["JSON without a weight_map", "lr"]),
    "no json": (lambda path, _: path.write_text('{"lr": '), ["starts like JSON and is not"]),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_called_what_it_is(
    name: str, tmp_path: Path, weights: dict[str, Tensor]
) -> None:
    write, words = BAD[name]
    path = tmp_path / "checkpoint.pth"
    write(path, weights)
    with pytest.raises(UserError) as caught:
        read_checkpoint(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    for word in words:
        assert word in message


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_damage_anywhere_is_an_error_of_the_user_or_harmless(
    data: st.DataObject, tmp_path: Path, weights: dict[str, Tensor]
) -> None:
    small = OrderedDict((key, weights[key]) for key in ("cls_token", "head.bias"))
    path = tmp_path / "checkpoint.pth"
    options = data.draw(st.sampled_from([{}, {"_use_new_zipfile_serialization": False}]))
    content = bytearray(saved(small, **options))
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        path.write_bytes(content[:at])
        with pytest.raises(UserError):
            read_checkpoint(path)
        return
    content[at] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with suppress(UserError):
        read_checkpoint(path)
