"""Many rounds of: take a good file, damage it, read it; seeded, so that each comes out again."""

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from .watching import watch

ROUNDS = int(os.environ.get("FUZZ", "16"))
"""Damaged files of each kind; ``make fuzz`` asks for 1,000."""
Mutation = Callable[[Random, bytes], bytes]
Files = Mapping[str, bytes]
CANARY = "something-was-executed"


class Kind(NamedTuple):
    """A kind of input.

    Attributes:
        good: names of good inputs, each of them one or several files by relative path.
        mutations: by the ending of a file's name; ``""`` for all others.
        read: reads what lies in a folder; given the folder and the damaged file.
        names_folder: whether an error may name the folder in place of the file.
        mib: MiB that reading may take.
    """

    good: Mapping[str, Files]
    mutations: Mapping[str, Sequence[Mutation]]
    read: Callable[[Path, Path], object]
    names_folder: bool = False
    mib: int = 256


def fuzz(name: str, kind: Kind, folder: Path) -> Counter[str]:
    """Damage and read, `ROUNDS` times.

    Args:
        name: of the kind; seeds its damages.
        kind: see `Kind`.
        folder: to work in.

    Returns:
        How many were ``accepted`` (the damage did no harm) and ``refused``.

    Raises:
        AssertionError: listing every fault once, with the rounds in which it was found.
    """
    counts: Counter[str] = Counter()
    faults: dict[str, list[str]] = {}
    canary = folder / CANARY
    for number in range(ROUNDS):
        place = folder / f"{name}-file"
        shutil.rmtree(place, ignore_errors=True)
        damaged, how = _damage(Random(f"{name} {number}"), kind, place)
        names = place.name if kind.names_folder else damaged.name
        found = watch(
            lambda place=place, damaged=damaged: kind.read(place, damaged),  # type: ignore[misc]
            names=names,
            canary=canary,
            mib=kind.mib,
        )
        counts["refused" if found.refused else "accepted"] += 1
        if found.fault:
            same = re.sub(r"[0-9]+", "#", found.fault.rpartition(": ")[0])[:200]
            faults.setdefault(same, []).append(f"{number} ({how}): {found.fault}")
            kept = folder / f"{name}-{number}"
            if len(faults[same]) == 1:
                shutil.copytree(place, kept, symlinks=True, ignore=_special)
    listed = [f"{fault}\n    in {len(where)}: {where[0]}" for fault, where in faults.items()]
    assert not faults, f"{len(faults)} faults of {name}, in {folder}:\n" + "\n".join(listed)
    return counts


def _damage(random: Random, kind: Kind, place: Path) -> tuple[Path, str]:
    """Write the files, one of them damaged up to three times; its path, and what was done."""
    good = random.choice(sorted(kind.good))
    files = dict(kind.good[good])
    victim = random.choice(sorted(files))
    mutations = kind.mutations.get(Path(victim).suffix, kind.mutations.get("", ()))
    done = []
    for _ in range(random.choice((1, 1, 2, 3))):
        mutation = random.choice(mutations)
        files[victim] = mutation(random, files[victim])
        done.append(mutation.__name__)
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    return place / victim, f"{good}/{victim}: {', '.join(done)}"


def _special(folder: str, names: Sequence[str]) -> list[str]:
    """What cannot be copied."""
    return [name for name in names if not (Path(folder) / name).is_file()]
