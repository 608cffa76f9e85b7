"""Proof that the checkout computes what an earlier commit computed, bit for bit.

    python -m benchmarks.same [--base COMMIT] [--here DIR] [--checkpoint FILE --photos DIR]

A worktree of the commit ("there") and the checkout ("here") make the same runs at the same time,
one thread each: whole, in shards, killed and continued, made there and reported here. What they
write is compared in every column except times, versions, the wording of notes and three flags.
Takes minutes; exit status 1 when anything differs or fails.
"""

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.differences import Comparison, compare_folders, part_files, part_times, summary

ROOT = Path(__file__).resolve().parent.parent
BASE = "11dc00548d052d11a315aa94dfe26a057ffb3c9f"
"""The commit before the modules moved."""
FEW_NAMES = ("twicing[3-4]", "fan")
NAMES = (*FEW_NAMES, "deit", "neutreno", "featscale", "attnscale", "twicing", "fan_twicing")
FEW_MODELS, MODELS = (
    [f"--model=fmnist_{name}=bundled" for name in names] for names in (FEW_NAMES, NAMES)
)
PLAIN = "--kernels plain --threads 1 --device cpu"
IMAGES = f"{PLAIN} --data fashion-mnist:test1000 --limit 40 --batch-size 10"
CORRUPTED = (
    "--corruptions gaussian_noise,defocus_blur,fog,jpeg_compression --severities 3 "
    "--imagenet-c-size 32"
)
ALL = f"--eps 4/255 --spsa-steps 8 --spsa-samples 8 {CORRUPTED} {IMAGES}"
ATTACKS = {
    "pixel": "clean,fgsm,pgd,spsa,noise,torchattacks:MIFGSM",
    "paper": "clean,fgsm,pgd,spsa,noise",  # other libraries' attacks cannot follow it
}
FEW = f"--attacks clean,fgsm,pgd,noise --eps 1/255,4/255 {CORRUPTED} {IMAGES}"
PHOTOGRAPHS = f"--attacks clean,fgsm,pgd --eps 1/255 --limit 12 --batch-size 4 {PLAIN}"
SHARDS = 3
FINISHED = (0, 3)  # exit statuses at the end; 3 is with error rows, which are compared


@dataclass
class Side:
    """One of the two trees.

    Attributes:
        name: ``there`` or ``here``.
        tree: the folder with run_eval.py.
        runs: the folder in which its run folders are.
        options: of every evaluation, beside those of the command.
        seconds: how long its commands took, by the clock.
    """

    name: str
    tree: Path
    runs: Path
    options: Sequence[str] = ()
    seconds: float = 0.0

    def environment(self) -> dict[str, str]:
        """In which the tree's modules come before those of an installed package."""
        return {**os.environ, "PYTHONPATH": str(self.tree), "OMP_NUM_THREADS": "1"}

    def check_imports(self) -> None:
        """Raise SystemExit unless the tree's packages are what is imported in it."""
        names = sorted(path.parent.name for path in self.tree.glob("*/__init__.py"))
        script = f"import {', '.join(names)}\nfor x in {', '.join(names)},: print(x.__file__)"
        python = [sys.executable, "-c", script]
        text = subprocess.check_output(python, cwd=self.tree, env=self.environment(), text=True)
        print(f"{self.name}: {', '.join(text.splitlines())}", flush=True)
        if not all(Path(file).is_relative_to(self.tree) for file in text.splitlines()):
            raise SystemExit(f"what is imported in {self.tree} is not its own")


class Command(NamedTuple):
    """A command line that writes into a folder of its side.

    Attributes:
        verb: ``eval`` or ``report``.
        out: name of the folder.
        options: the other arguments.
        reads: names of the run folders that it is given.
    """

    verb: str
    out: str
    options: Sequence[str] = ()
    reads: Sequence[str] = ()

    def start(self, side: Side) -> subprocess.Popen[bytes]:
        """In a process of its own, whose standard error goes to a file beside the folder."""
        out = side.runs / self.out
        asked = [*(str(side.runs / name) for name in self.reads), *self.options, "--out", str(out)]
        asked += side.options if self.verb == "eval" else ()
        with out.with_suffix(".stderr").open("wb") as errors:
            return subprocess.Popen(
                [sys.executable, "run_eval.py", self.verb, *asked],
                cwd=side.tree,
                env=side.environment(),
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )

    def check(self, side: Side, status: int, *, killed: bool) -> None:
        """Raise SystemExit, with the end of its standard error, unless it ended as wanted."""
        if status not in ((-signal.SIGKILL,) if killed else FINISHED):
            text = (side.runs / self.out).with_suffix(".stderr").read_text("utf-8", "replace")
            tail = "\n".join(text.splitlines()[-30:])
            raise SystemExit(f"{side.name}: {self.verb} {self.out} ended with {status}:\n{tail}")


def run(command: Command, sides: Sequence[Side], *, kill: bool = False) -> None:
    """Run a command on some sides at the same time, to its end or until there is a part.

    Raises:
        SystemExit: it failed on one of them; on the others it is killed.
    """
    begun, taken = time.perf_counter(), dict[str, float]()
    processes = [command.start(side) for side in sides]
    try:
        while len(taken) < len(sides):
            time.sleep(0.02)
            for side, process in zip(sides, processes, strict=True):
                if kill and part_files(side.runs / command.out):
                    process.kill()
                if side.name not in taken and process.poll() is not None:
                    taken[side.name] = time.perf_counter() - begun
                    command.check(side, process.returncode, killed=kill)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    for side in sides:
        side.seconds += taken[side.name]
    times = ", ".join(f"{seconds:.0f} s {name}" for name, seconds in taken.items())
    print(f"{command.verb} {command.out}{', killed' if kill else ''}: {times}", flush=True)


def runs(there: Side, here: Side, photographs: Sequence[str]) -> Iterator[Comparison]:
    """Make every run on both sides and compare; on photographs only with options of these."""
    both = (there, here)
    commands = [few := Command("eval", "whole", [*FEW_MODELS, *shlex.split(FEW)])]
    for protocol, attacks in ATTACKS.items():
        asked = [*MODELS, "--protocol", protocol, "--attacks", attacks, *shlex.split(ALL)]
        commands.append(Command("eval", protocol, asked))
    if photographs:
        commands.append(Command("eval", "photographs", [*photographs, *shlex.split(PHOTOGRAPHS)]))
    for command in commands:
        run(command, both)
        yield compare_folders(command.out, *(side.runs / command.out for side in both))
    yield from _shards(few, both)
    shutil.copytree(there.runs / "pixel", here.runs / "read")  # report writes into it, too
    run(Command("report", "report", reads=["read"]), (here,))
    about = "run there, report here"
    yield compare_folders(about, there.runs / "pixel", here.runs / "report", csv_only=True)
    yield from _killed(few, there, here)


def _shards(few: Command, sides: tuple[Side, Side]) -> Iterator[Comparison]:
    """Shares of one run in folders of their own, merged by a report."""
    there, here = sides
    names = {f"shard-{number}": f"{number}/{SHARDS}" for number in range(1, SHARDS + 1)}
    for name, share in names.items():
        run(few._replace(out=name, options=[*few.options, "--shard", share]), sides)
        yield compare_folders(name, there.runs / name, here.runs / name)
    run(Command("report", "merged", reads=list(names)), sides)
    for name in ("merged", few.out):
        about = f"merged here, {name} there"
        yield compare_folders(about, there.runs / name, here.runs / "merged", csv_only=True)


def _killed(few: Command, there: Side, here: Side) -> Iterator[Comparison]:
    """A run that is killed and continued."""
    killed, sides = few._replace(out="killed"), (there, here)
    run(killed, sides, kill=True)
    before = {side.name: part_times(side.runs / killed.out) for side in sides}
    run(killed, sides)
    for side in sides:
        name, folder = f"{killed.out}, continued {side.name}", side.runs / killed.out
        comparison = compare_folders(name, there.runs / few.out, folder)
        kept = before[side.name].items() <= part_times(folder).items()
        anew = () if kept else ("parts that were there were made anew",)
        yield comparison._replace(differences=(*comparison.differences, *anew))


@contextmanager
def worktree(commit: str, folder: Path) -> Iterator[Path]:
    """A worktree of a commit; taken away at the end, whatever happened."""
    git = ("git", "-C", str(ROOT), "worktree")
    try:
        subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
        yield folder.resolve()
    finally:
        if folder.exists():
            subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def main() -> None:
    """Make the runs, print what is the same and what is not, and end with the status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base", default=BASE, metavar="COMMIT", help="default %(default)s")
    parser.add_argument("--here", type=Path, default=ROOT, metavar="DIR", help="default: this tree")
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="of deit_tiny_patch16_224")
    parser.add_argument("--photos", type=Path, metavar="DIR", help="ImageNet's, in wnid folders")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="new folder for all run folders")
    asked = parser.parse_args()
    if (asked.checkpoint is None) != (asked.photos is None):
        parser.error("--checkpoint and --photos go together")
    photographs = list[str]()
    if asked.photos is None:
        print("left out: real weights on photographs; give --checkpoint FILE and --photos DIR")
    else:
        model = f"deit_tiny_patch16_224={asked.checkpoint.resolve(strict=True)}"
        photographs = ["--model", model, "--data", str(asked.photos.resolve(strict=True))]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    comparisons = []
    with tempfile.TemporaryDirectory(prefix="same-") as temporary:
        kept = (asked.keep or Path(temporary) / "runs").resolve()
        with worktree(asked.base, Path(temporary) / "base") as base:
            there = Side("there", base, kept / "there")
            here = Side("here", asked.here.resolve(strict=True), kept / "here")
            if not any("score_8bit" in file.read_text() for file in base.rglob("options.py")):
                here.options = ("--score-8bit", "all")  # as the commit always did
            for side in (there, here):
                side.runs.mkdir(parents=True)
                side.check_imports()
            for comparison in runs(there, here, photographs):
                print("\n".join(comparison.lines()), flush=True)
                comparisons.append(comparison)
    print(f"{summary(comparisons)}; {there.seconds:.0f} s there, {here.seconds:.0f} s here")
    sys.exit(any(comparison.differences for comparison in comparisons))


if __name__ == "__main__":
    main()
