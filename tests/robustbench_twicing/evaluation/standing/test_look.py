"""A run that was begun is looked at before any network is built, and what is said of it is true."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from safetensors.torch import load_file, save_file

from robustbench_twicing.checkpoints.bundled import bundled_file
from robustbench_twicing.classifiers import known_models
from robustbench_twicing.classifiers.loading import load_model
from robustbench_twicing.cli.app import main
from robustbench_twicing.files import stamp
from robustbench_twicing.records import part_files
from robustbench_twicing.records.run_folder import RunFolder
from tests.robustbench_twicing.classifiers.test_known_models import write_other_weights

IMAGES, PARTS = 6, 3
ATTACK = "def still(model, x, y, *, eps, generator):\n    return x\n"


class Site(NamedTuple):
    """A finished run, and the files that it is of.

    Attributes:
        root: folder of everything.
        arguments: of its eval.
    """

    root: Path
    arguments: list[str]

    @property
    def out(self) -> Path:
        """The run folder."""
        return self.root / "run"

    def part(self, number: int) -> Path:
        """The file of one part."""
        folder = RunFolder.open(self.out)
        (evaluation,) = folder.manifest.evaluations
        return folder.part_path(evaluation, number)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """One network, six images in parts of two, clean and under an attack of one's own."""
    root = tmp_path_factory.mktemp("look")
    (root / "w").mkdir()
    save_file(load_file(bundled_file("fmnist_deit")), root / "w" / "net.safetensors")
    generator = np.random.default_rng(0)
    for index in range(IMAGES):
        file = root / "val" / f"c{index % 2}" / f"{index}.bmp"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(generator.integers(0, 256, (28, 28, 3), np.uint8)).save(file)
    (root / "classes.txt").write_text("".join(f"c{number}\n" for number in range(10)))
    (root / "own.py").write_text(ATTACK)
    arguments = [
        *("eval", "-m", f"fmnist_deit={root}/w/net.safetensors", "--data", f"{root}/val"),
        *("--classes", f"{root}/classes.txt", "--attacks", "clean,own.py:still"),
        *("--eps", "1/255", "--device", "cpu", "--batch-size", "2", "--out", f"{root}/run"),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)  # the attack is called by its place as it is typed
        assert main(arguments) == 0
    return Site(root, arguments)


@pytest.fixture
def site(made: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A copy of it, which the same command has looked at once."""
    root = tmp_path / "site"
    shutil.copytree(made.root, root)
    copied = Site(root, [text.replace(str(made.root), str(root)) for text in made.arguments])
    monkeypatch.setattr(stamp, "SETTLED", -1.0)
    monkeypatch.setenv("ROBUSTBENCH_TWICING_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(root)
    part_files.proofs_in.cache_clear()
    assert main(copied.arguments) == 0
    return copied


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that were loaded since the start of the test."""
    loaded: list[str] = []

    def load(name: str, *arguments: object, **wishes: object) -> object:
        loaded.append(name)
        return load_model(name, *arguments, **wishes)  # type: ignore[arg-type]

    monkeypatch.setattr(known_models, "load_model", load)
    return loaded


def test_a_finished_run_is_said_to_be_finished_without_its_network(
    site: Site, loads: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = (site.out / "results.csv").read_text()
    notes = sorted((site.out / "sessions").iterdir())
    capsys.readouterr()
    assert main(site.arguments) == 0
    assert capsys.readouterr().err == f"{site.out}: all 6 images are evaluated\n"
    assert loads == []
    assert (site.out / "results.csv").read_text() == before
    assert sorted((site.out / "sessions").iterdir()) == notes
    assert main([*site.arguments, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_what_is_left_is_said_before_the_network_is_built(
    site: Site,
    loads: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site.part(1).unlink()
    capsys.readouterr()

    class Built(Exception):
        """Says that a network would be built now."""

    def refuse(*arguments: object, **wishes: object) -> None:
        raise Built

    with monkeypatch.context() as patch:
        patch.setattr(known_models, "load_model", refuse)
        with pytest.raises(Built):
            main(site.arguments)
    left = "2 of 6 images are left: 2 of fmnist_deit on val under 2 conditions"
    assert capsys.readouterr().err == f"{site.out}: {left}\n"
    assert main(site.arguments) == 0
    assert capsys.readouterr().err.startswith(f"{site.out}: {left}\nrun folder: {site.out}\n")
    assert loads == ["fmnist_deit"]
    assert RunFolder.open(site.out).complete


def replace_image(site: Site) -> None:
    """Other pixels, as many bytes, the old time."""
    for file in sorted((site.root / "val").rglob("*.bmp")):
        times = file.stat()
        Image.fromarray(255 - np.asarray(Image.open(file))).save(file)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert file.stat().st_size == times.st_size


def damage(site: Site) -> None:
    content = bytearray(site.part(0).read_bytes())
    content[100:160] = bytes(60)
    site.part(0).write_bytes(bytes(content))


def with_(*arguments: str) -> Callable[[Site], None]:
    return lambda site: site.arguments.extend(arguments)


CHANGES: dict[str, Callable[[Site], object]] = {
    "nothing": lambda site: None,
    "weights": lambda site: write_other_weights(site.root / "w" / "net.safetensors"),
    "no weights": lambda site: (site.root / "w" / "net.safetensors").unlink(),
    "config.json": lambda site: (site.root / "w" / "config.json").write_text('{"mean": [0,0,0]}'),
    "pixels": replace_image,
    "one image less": lambda site: (site.root / "val" / "c0" / "0.bmp").unlink(),
    "one image more": lambda site: (site.root / "val" / "c0" / "7.bmp").write_bytes(
        (site.root / "val" / "c0" / "0.bmp").read_bytes()
    ),
    "other label": lambda site: (site.root / "val" / "c0" / "0.bmp").rename(
        site.root / "val" / "c1" / "0.bmp"
    ),
    "code of an attack": lambda site: (site.root / "own.py").write_text(ATTACK + "\n# other\n"),
    "no attack": lambda site: (site.root / "own.py").unlink(),
    "seed": with_("--seed", "1"),
    "crop": with_("--crop", "24"),
    "mean": with_("--mean", "0,0,0"),
    "protocol": with_("--protocol", "paper"),
    "survivors": with_("--survivors"),
    "precision": with_("--attack-precision", "bf16"),
    "score": with_("--score-8bit", "all"),
    "limit": with_("--limit", "4"),
    "label": with_("--label", "other"),
    "batch": with_("--batch-size", "3"),
    "shard": with_("--shard", "1/2"),
    "weights of the file": with_("--weights", "ema"),
    "damaged part": damage,
    "missing part": lambda site: site.part(2).unlink(),
    "no part": lambda site: shutil.rmtree(site.part(0).parent),
    "run.json": lambda site: (site.out / "run.json").write_text("{}"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_same_is_said_as_by_who_remembers_nothing(
    site: Site,
    change: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Exit status, what is said, and the parts that are there afterwards."""
    CHANGES[change](site)
    copy = tmp_path / "copy"
    shutil.copytree(site.out, copy)
    answers = []
    for remembers in (True, False):
        if not remembers:
            shutil.rmtree(site.out)
            shutil.copytree(copy, site.out)
            part_files.proofs_in.cache_clear()
            monkeypatch.setenv("ROBUSTBENCH_TWICING_CACHE", str(tmp_path / "nothing"))
        capsys.readouterr()
        status = main(site.arguments)
        said = [line for line in capsys.readouterr().err.splitlines() if " passes, " not in line]
        said = [line.partition(".damaged-")[0] for line in said]
        parts = sorted(path.name for path in (site.out / "parts").rglob("part-*.parquet"))
        answers.append((status, said, parts))
    assert answers[0] == answers[1]
    as_before = change in ("nothing", "batch", "shard")
    text = "\n".join(answers[0][1])
    assert ("images are evaluated" in text) is as_before, text


def test_another_version_reads_the_records_again(
    site: Site, loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    original = RunFolder.read

    def reading(folder: RunFolder, evaluation: object, file: object, *more: object) -> object:
        read.append(file.path)  # type: ignore[attr-defined]
        return original(folder, evaluation, file, *more)  # type: ignore[arg-type]

    def looked(patched: bool) -> int:
        read.clear()
        part_files.proofs_in.cache_clear()
        monkeypatch.setattr("robustbench_twicing.cli.results.read_runs", stop)
        with pytest.raises(Shown):
            main(site.arguments)
        return len(read)

    class Shown(Exception):
        """Says that the work is over, and results would be shown."""

    def stop(*arguments: object, **options: object) -> None:
        raise Shown

    monkeypatch.setattr(RunFolder, "read", reading)
    assert looked(False) == 0
    for module in (part_files, known_models):
        monkeypatch.setattr(module, "suite_sha256", lambda: "another version")
    assert looked(True) >= PARTS
    assert loads == ["fmnist_deit"]


def test_a_file_that_a_disk_changed_under_its_old_times_is_repaired(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    columns = ["condition", "n_images", "top1", "top5", "status"]
    whole = pd.read_csv(site.out / "results.csv")[columns]
    stamps = {file: stamp.stamp_of(file) for file in map(site.part, range(PARTS))}
    damage(site)
    monkeypatch.setattr(
        part_files, "stamp_of", lambda path: stamps.get(path) or stamp.stamp_of(path)
    )
    assert main(site.arguments) == 0
    assert "is damaged" in caplog.text
    pd.testing.assert_frame_equal(pd.read_csv(site.out / "results.csv")[columns], whole)
    assert len(list(site.part(0).parent.glob("*.damaged-*"))) == 1
