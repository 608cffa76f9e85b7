"""Tar archives as they come, and as nobody should trust them."""

import os
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustbench_twicing.data.archives.names import common_root
from robustbench_twicing.data.archives.tar import list_each
from robustbench_twicing.data.decoding import BadImageError, read_header
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.data.stored import read
from robustbench_twicing.errors import UnreadableError, UserError
from tests.robustbench_twicing.data.archives.conftest import member, picture, write_tar

PNG = picture("a.png")
CROP = Preprocessing(8, 10)


def test_a_flat_archive_takes_a_label_file(tmp_path: Path) -> None:
    names = [f"ILSVRC2012_val_{number:08d}.JPEG" for number in (1, 2)]
    tar = write_tar(tmp_path / "val.tar", [member(name, PNG) for name in names])
    with pytest.raises(UserError, match=r"val\.tar is a flat folder: 2 images and no class"):
        open_dataset(tar)
    (tmp_path / "labels.csv").write_text(f"{names[0]},n01751748\n{names[1]},n09193705\n")
    dataset = open_dataset(tar, labels=tmp_path / "labels.csv")
    assert (dataset.ids, dataset.labels) == (tuple(names), (65, 970))
    assert dataset.pixels(1, CROP).shape == (8, 8, 3)
    assert open_dataset(tar, needs_labels=False).labels == (0, 0)


def test_what_is_no_image_is_left_out_as_in_a_folder(tmp_path: Path) -> None:
    tar = write_tar(
        tmp_path / "val.tar",
        [
            member("n01440764/a.png", PNG),
            member("n01440764/b.heic", PNG),
            member("n01440764/.hidden.png", PNG),
            member("n01440764/._twin.png", PNG),
            member("n01440764/pipe.png", type=tarfile.FIFOTYPE),
            member("n01484850/", type=tarfile.DIRTYPE),
            member("README.md", b"text"),
        ],
    )
    dataset = open_dataset(tar)
    assert dataset.ids == ("n01440764/a.png",)
    assert [(item.id, item.reason) for item in dataset.skipped] == [
        ("n01440764/b.heic", "not an image by its ending (.heic)"),
        ("n01440764/pipe.png", "not a regular file"),
    ]
    assert dataset.hidden == ("n01440764/.hidden.png",)
    assert dataset.notes == ("1 folder without images: n01484850",)


def test_links_inside_are_followed_and_others_are_left_out(tmp_path: Path) -> None:
    """Hard links are what tar makes of files with two names."""
    tar = write_tar(
        tmp_path / "val.tar",
        [
            member("n01440764/a.png", PNG),
            member("n01440764/b.png", type=tarfile.LNKTYPE, linkname="n01440764/a.png"),
            member("n01443537/c.png", type=tarfile.SYMTYPE, linkname="../n01440764/b.png"),
            member("n01443537/d.png", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
            member("n01443537/e.png", type=tarfile.SYMTYPE, linkname="../../../etc/passwd"),
            member("n01443537/f.png", type=tarfile.SYMTYPE, linkname="g.png"),
            member("n01443537/g.png", type=tarfile.SYMTYPE, linkname="f.png"),
        ],
    )
    dataset = open_dataset(tar)
    assert dataset.ids == ("n01440764/a.png", "n01440764/b.png", "n01443537/c.png")
    pixels = {dataset.pixels(position, CROP).tobytes() for position in range(3)}
    assert len(pixels) == 1
    assert {item.reason for item in dataset.skipped} == {"a link to a file that is not there"}
    assert {item.id[-5:] for item in dataset.skipped} == {"d.png", "e.png", "f.png", "g.png"}


@pytest.mark.parametrize("named", [True, False])
def test_a_link_to_a_folder_is_called_that(named: bool, tmp_path: Path) -> None:
    """Whether the folder itself is a member or not; links may lead to links."""
    folder = [member("n01440764", type=tarfile.DIRTYPE)] if named else []
    tar = write_tar(
        tmp_path / "val.tar",
        [
            *folder,
            member("n01440764/a.png", PNG),
            member("n01443537", type=tarfile.SYMTYPE, linkname="n01440764"),
            member("n01484850", type=tarfile.SYMTYPE, linkname="./n01443537"),
        ],
    )
    dataset = open_dataset(tar)
    assert dataset.ids == ("n01440764/a.png",)
    reason = "a link to a folder, which is followed on disk and not in an archive"
    assert [(item.id, item.reason) for item in dataset.skipped] == [
        ("n01443537", reason),
        ("n01484850", reason),
    ]


LIES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "absolute": (lambda p: write_tar(p, [member("/etc/a.png", PNG)]), "an absolute name, '/etc/"),
    "above": (lambda p: write_tar(p, [member("x/../../a.png", PNG)]), "a name that leads out"),
    "twice": (lambda p: write_tar(p, [member("a.png", PNG)] * 2), "has 'a.png' twice"),
    "text": (lambda p: written(p, b"<html>" * 200), "is no tar archive"),
    "empty": (lambda p: written(p, b""), "is no tar archive"),
    "only texts": (lambda p: write_tar(p, [member("a.txt", b"1")]), "holds no images"),
    "cut within": (lambda p: cut(p, 700), "cut short"),
    "cut after": (lambda p: cut(p, 512 + 1024), "has no end, as if cut short"),
}


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def cut(path: Path, length: int) -> Path:
    """One member of 1,024 bytes, and nothing behind it."""
    write_tar(path, [member("n01440764/a.png", PNG[:1024])])
    os.truncate(path, length)
    return path


@pytest.mark.parametrize("name", LIES)
def test_mistakes_are_one_line(name: str, tmp_path: Path) -> None:
    make, message = LIES[name]
    path = make(tmp_path / "val.tar")
    with pytest.raises(UserError) as caught:
        open_dataset(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["val.tar"]


@given(data=st.data())
def test_damaged_archives_are_refused_or_read(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nothing but a refusal comes of it, and no member reaches beyond the file."""
    folder = tmp_path_factory.mktemp("tar")
    path = write_tar(folder / "a.tar", [member(f"{n}.png", PNG[:600]) for n in range(3)])
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, 511)) + 512 * data.draw(st.integers(0, 8))
        content[place % len(content)] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        images = list_each([path])[0].members
    except UserError:
        return
    for image in images:
        assert 0 <= image.offset <= image.offset + image.size <= path.stat().st_size


def test_a_bad_image_is_named_by_its_place(tmp_path: Path) -> None:
    tar = write_tar(
        tmp_path / "val.tar",
        [member("val/n01440764/a.png", PNG[:200]), member("val/n01440764/b.png", PNG)],
    )
    dataset = open_dataset(tar)
    assert dataset.ids[0] == "n01440764/a.png"
    with pytest.raises(BadImageError, match=r"val\.tar/val/n01440764/a\.png is a truncated"):
        dataset.pixels(0, CROP)


def test_an_archive_that_changes_ends_the_run(tmp_path: Path) -> None:
    tar = write_tar(tmp_path / "val.tar", [member("n01440764/a.png", PNG)])
    dataset = open_dataset(tar)
    write_tar(tar, [member("n01440764/a.png", picture("a.png", 5))])
    with pytest.raises(UnreadableError, match=r"val\.tar was changed after it was opened"):
        dataset.pixels(0, CROP)
    assert open_dataset(tar).pixels(0, CROP).shape == (8, 8, 3)
    tar.unlink()
    with pytest.raises(UnreadableError, match=r"a\.png cannot be read: No such file"):
        dataset.pixels(0, CROP)


def test_a_member_is_read_wherever_one_asks(tmp_path: Path) -> None:
    ((_, _, (image,)),) = list_each([write_tar(tmp_path / "a.tar", [member("a.png", PNG)])])
    assert read_header(image)[:2] == (60, 50)
    with image.open() as stream:
        assert stream.seek(-4, os.SEEK_END) == len(PNG) - 4
        assert stream.read() == PNG[-4:]
        assert stream.read() == b""
        stream.seek(1)
        assert stream.read(3) == PNG[1:4]
    renumbered = image.tar.at._replace(inode=image.tar.at.inode + 1)  # by a drive of FUSE
    assert read(image._replace(tar=replace(image.tar, at=renumbered))) == PNG


@pytest.mark.parametrize(
    ("ending", "tool"),
    [
        (".tar.gz", "gunzip -k"),
        (".tgz", "gunzip -k"),
        (".tbz", "bunzip2 -k"),
        (".TAR.XZ", "unxz -k"),
    ],
)
def test_a_compressed_archive_is_told_how_to_be_read(
    ending: str, tool: str, tmp_path: Path
) -> None:
    path = tmp_path / "my data" / f"val{ending}"
    path.parent.mkdir()
    path.write_bytes(b"\x1f\x8b")
    for asked in (path, path.parent, path.parent / "v*"):
        with pytest.raises(UserError, match="is compressed") as caught:
            open_dataset(asked)
        what = f"decompress it once: {tool} '{path}', and give {path.parent / 'val.tar'}"
        assert str(caught.value).endswith(what)


def test_an_archive_that_is_compressed_in_spite_of_its_name(tmp_path: Path) -> None:
    path = tmp_path / "val.tar"
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(tarfile.TarInfo("n01440764/a.png"))
    with pytest.raises(UserError) as caught:
        open_dataset(path)
    assert str(caught.value).endswith(f"mv {path} {path}.gz && gunzip -k {path}.gz")


@pytest.mark.parametrize(
    ("names", "root"),
    [
        (["val/n01440764/a.png", "val/n01443537/b.png"], "val/"),
        (["imagenet/val/n01440764/a.png"], "imagenet/val/"),
        (["n01440764/a.png"], ""),
        (["n01440764/more/a.png"], ""),
        (["cat/a.png"], ""),
        (["a.png"], ""),
        (["val/cat/a.png", "b.png"], ""),
        (["val/cat/a.png", "train/cat/b.png"], ""),
        ([], ""),
    ],
)
def test_folders_around_everything_are_no_part_of_ids(names: list[str], root: str) -> None:
    assert common_root(names) == root


@pytest.mark.skipif(shutil.which("tar") is None, reason="needs the program tar")
@pytest.mark.parametrize("form", ["gnu", "pax", "ustar"])
def test_archives_of_the_program_tar(form: str, tmp_path: Path) -> None:
    """With a long name, a name that is not UTF-8 and two names of one file."""
    folder = tmp_path / "val" / "n01440764"
    folder.mkdir(parents=True)
    long = "a" * (70 if form == "ustar" else 150) + ".png"
    (folder / long).write_bytes(PNG)
    (folder / "b.png").hardlink_to(folder / long)
    Path(os.fsdecode(os.fsencode(folder) + b"/latin\xfc.png")).write_bytes(PNG)
    import subprocess

    command = ["tar", f"--format={form}", "-cf", str(tmp_path / "val.tar"), "-C", str(tmp_path)]
    subprocess.run([*command, "val"], check=True)
    packed, unpacked = open_dataset(tmp_path / "val.tar"), open_dataset(tmp_path / "val")
    assert packed.fingerprint == unpacked.fingerprint
    assert packed.skipped == unpacked.skipped != ()


def test_shards_that_hold_unlike_folders_are_the_folder_that_they_unpack_to(tmp_path: Path) -> None:
    """The folders that ids leave out are those of all archives: one of them may hold one class."""
    unlike = {
        "val-0.tar": {
            **{f"val/a/tench/{name}.png": picture(name) for name in ("0.png", "1.png")},
            "val/a/.thumbs/x.png": PNG,
            "val/a/.thumbs/y.png": PNG,
        },
        "val-1.tar": {"val/b/cat.JPG/2.png": picture("2.png", 2), "val/b/cat.JPG/z.heic": PNG},
        "val-2.tar": {"val/c/dog/x/3.png": picture("3.png", 3)},
    }
    for archive, files in unlike.items():
        folders = [
            member("val/c/dog/", type=tarfile.DIRTYPE),
            member("val/z/", type=tarfile.DIRTYPE),
        ]
        write_tar(tmp_path / archive, [*folders, *(member(*file) for file in files.items())])
        for name, content in files.items():
            path = tmp_path / "unpacked" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    (tmp_path / "unpacked/val/z").mkdir()
    (tmp_path / "classes.txt").write_text("tench\ncat.JPG\ndog\n")
    packed, unpacked = (
        open_dataset(tmp_path / name, classes=tmp_path / "classes.txt")
        for name in ("val-*.tar", "unpacked/val")
    )
    assert packed.ids == (
        "a/tench/0.png.png",
        "a/tench/1.png.png",
        "b/cat.JPG/2.png",
        "c/dog/x/3.png",
    )
    assert packed.ids == unpacked.ids
    assert packed.fingerprint == unpacked.fingerprint
    assert packed.skipped == unpacked.skipped != ()
    assert packed.hidden == unpacked.hidden == ("a/.thumbs",)
    assert packed.notes == unpacked.notes
    assert "1 folder without images: z" in packed.notes


def test_a_file_is_not_lost_to_a_folder_of_its_name(tmp_path: Path) -> None:
    name = "n01440764/a.jpg"
    files = [member(name, picture(name)), member(name, type=tarfile.DIRTYPE)]
    with pytest.raises(UserError, match=r"has 'n01440764/a\.jpg' twice"):
        open_dataset(write_tar(tmp_path / "a.tar", files))


def test_archives_put_together_by_cat_are_refused(tmp_path: Path) -> None:
    """Everything after the first one's end would be left out."""
    parts = [
        write_tar(tmp_path / f"{wnid}.tar", [member(f"{wnid}/a.jpg", picture("a.jpg"))])
        for wnid in ("n01440764", "n01443537")
    ]
    together = tmp_path / "together.tar"
    together.write_bytes(b"".join(part.read_bytes() for part in parts))
    with pytest.raises(UserError, match=r"goes on after its end, as if archives had been put tog"):
        open_dataset(together)


def test_every_number_of_a_range_has_to_be_there(tmp_path: Path) -> None:
    for number in (0, 2):
        files = [member(f"n01440764/{number}.jpg", picture("a.jpg"))]
        write_tar(tmp_path / f"val-{number}.tar", files)
    with pytest.raises(UserError, match=r"1 file missing \(val-1\.tar\); name those that are th"):
        open_dataset(tmp_path / "val-{0..2}.tar")
    assert len(open_dataset(f"{tmp_path}/[v]al-{{0..0}}.ta[r]")) == 1
