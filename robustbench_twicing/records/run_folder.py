"""A run folder: run.json, one environment file per session, and Parquet parts."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

import pandas as pd
import pyarrow as pa

from ..errors import UserError
from ..files.atomic import asked, is_free, is_there, write_atomically, write_once
from ..files.printable import folder_name
from ..files.stamp import Stamp
from .cost import Cost
from .identity import not_the_same
from .locks import Ownership, reader
from .manifest import PARTS, SETTINGS, Evaluation, Manifest, read_settings
from .manifest import binding_settings as binding
from .part_files import PartFile, file_name, part_files, proofs_in
from .parts import (
    REPAIR,
    DamagedPartError,
    FileRecords,
    PartRecords,
    Records,
    digest,
    read_parts,
    write_parts,
)
from .schema import RECORD_SCHEMA


class RunFolder:
    """Parts are whole or absent, and one part is one range of images of one label.

    Args:
        path: the folder.
        manifest: what the run is.
        settings: what run.json holds, where that is not just the manifest's own words.
    """

    def __init__(
        self, path: Path, manifest: Manifest, settings: dict[str, Any] | None = None
    ) -> None:
        self.path = path
        self.manifest = manifest
        self._settings = binding(manifest.to_json() if settings is None else settings)
        self._settings_text = json.dumps(self._settings, sort_keys=True)
        self._stamp: Stamp | None = None

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a folder that exists.

        Raises:
            UserError: not a run folder, or of another schema.
        """
        values = read_settings(path)
        if values is None:
            raise UserError(
                f"{path} is not a run folder: it has no run.json; give the --out of an eval"
            )
        return cls(path, Manifest.from_json(values, str(path / SETTINGS)), values)

    @classmethod
    def create_or_continue(cls, path: Path, manifest: Manifest) -> Self:
        """Start a run, or continue one: `run_difference` says whether it is the same.

        Raises:
            UserError: the folder holds something else, or a run with other settings (named).
        """
        foreign = not is_free(path)  # asked first: another process may be about to begin the run
        if is_there(path / SETTINGS):
            return cls.open(path).continued_by(manifest)
        if foreign:
            raise UserError(f"{path} exists and is not a run folder; use another --out")
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{path} cannot be made: {error}; use another --out") from error
        text = json.dumps(manifest.to_json(), indent=1, ensure_ascii=False) + "\n"
        if not write_once(path / SETTINGS, lambda file: file.write_text(text, encoding="utf-8")):
            return cls.create_or_continue(path, manifest)  # another process was first
        return cls(path, manifest)

    def continued_by(self, manifest: Manifest) -> Self:
        """This folder, which a run with another manifest is to continue.

        Raises:
            UserError: that would be another run; it says where they differ first.
        """
        if problem := not_the_same(self.manifest, manifest):
            raise UserError(f"{self.path}{problem}")
        return self

    def part_count(self, evaluation: Evaluation) -> int:
        """How many parts the records have when complete."""
        return -(-evaluation.dataset.n_images // self.manifest.part_size)

    def parts_folder(self, evaluation: Evaluation) -> Path:
        """Where the parts of an evaluation are."""
        label, dataset = folder_name(evaluation.label), folder_name(evaluation.dataset.name)
        return self.path / PARTS / label / dataset

    def part_path(self, evaluation: Evaluation, part: int) -> Path:
        """File that a part is written to, whether it is there or not."""
        return self.parts_folder(evaluation) / file_name(range(part, part + 1))

    def files(self, evaluation: Evaluation) -> list[PartFile]:
        """The parts that are there and the files that have them, in order."""
        with self.reading():  # a folder is listed piece by piece, and files must not go meanwhile
            return part_files(self.parts_folder(evaluation), self.part_count(evaluation))

    def file_of(self, evaluation: Evaluation, part: int) -> PartFile | None:
        """Where a part is; None where it has not been written."""
        files = (file for file in self.files(evaluation) if part in file.parts)
        return next(files, None)

    def is_there(self, evaluation: Evaluation, part: int) -> bool:
        """Whether a part has been written."""
        return self.file_of(evaluation, part) is not None

    def missing(self, evaluation: Evaluation) -> list[int]:
        """Parts that are not there yet."""
        written = {part for file in self.files(evaluation) for part in file.parts}
        return [part for part in range(self.part_count(evaluation)) if part not in written]

    def reading(self) -> AbstractContextManager[None]:
        """Inside, no file of parts gives way to another that holds them, too."""
        return reader(self.path / SETTINGS)

    def owner(self, evaluation: Evaluation) -> Ownership:
        """The claims of this process on the parts of an evaluation; a context."""
        return Ownership(self.parts_folder(evaluation))

    @property
    def complete(self) -> bool:
        """Whether the parts of every evaluation are all there."""
        return not any(self.missing(evaluation) for evaluation in self.manifest.evaluations)

    def check_still_there(self) -> None:
        """Whether the folder is still the one of this run.

        Raises:
            UserError: it was moved or removed, or another run took its place.
        """
        file = self.path / SETTINGS
        stamp = asked(file, lambda: Stamp.of(file.stat()))
        if stamp is not None and stamp == self._stamp:
            return  # the file that was looked into before
        values = read_settings(self.path)
        if not isinstance(values, dict) or binding(values) != self._settings:
            what = "is gone" if values is None else "is of another run by now"
            raise UserError(
                f"{self.path} {what}: it was moved or removed during the work; what was "
                "finished is where it is now; the same command with --out and that place goes on"
            )
        self._stamp = stamp

    def write_part(self, evaluation: Evaluation, part: int, content: PartRecords) -> None:
        """Write one part: it is there in full or not at all.

        Raises:
            UserError: as `check_still_there`, or it cannot be written.
        """
        self.check_still_there()
        parts = range(part, part + 1)
        write_atomically(
            self.part_path(evaluation, part),
            lambda file: write_parts(file, [content], self.belongs_to(evaluation, parts)),
        )

    def belongs_to(self, evaluation: Evaluation, parts: range) -> str:
        """What a file is of: this manifest, this model and data set, these parts."""
        names = f"{json.dumps(evaluation.label)}, {json.dumps(evaluation.dataset.name)}"
        last = f"-{parts[-1]}" if len(parts) > 1 else ""
        step = f" by {parts.step}" if last and parts.step > 1 else ""
        return digest(f"[{self._settings_text}, {names}, {parts[0]}{last}{step}]")

    def read(
        self, evaluation: Evaluation, file: PartFile, coded: Sequence[str] = ()
    ) -> FileRecords:
        """The parts that are read from a file, as `read_parts` gives them.

        Raises:
            DamagedPartError: it is not what was written there.
            UserError: the system cannot read it, or it is of another schema.
        """
        try:
            records = read_parts(file.path, coded)
        except DamagedPartError:
            proofs_in(file.path.parent).forget()
            raise
        held = len(records.metas) == len(file.holds)
        if not held or records.belongs_to != self.belongs_to(evaluation, file.holds):
            raise DamagedPartError(
                f"{file.path} belongs to another run, model, data set or range of images; {REPAIR}"
            )
        return records if file.whole else records.some(file.positions)

    def some_parts(
        self, evaluation: Evaluation, wanted: Iterable[int]
    ) -> Iterator[tuple[int, PartRecords]]:
        """Those of some parts that are there, file by file; errors as of `read`."""
        some = set(wanted)
        with self.reading():
            for file in self.files(evaluation):
                if some.isdisjoint(file.parts):
                    continue
                records = self.read(evaluation, file).split()
                for part, of_part in zip(file.parts, records, strict=True):
                    if part in some:
                        yield part, of_part

    def part(self, evaluation: Evaluation, part: int) -> PartRecords:
        """One part that is there; errors as of `read`."""
        for _, records in self.some_parts(evaluation, [part]):
            return records
        raise UserError(f"{self.part_path(evaluation, part)} cannot be read: it is not there")

    def parts(self, evaluation: Evaluation) -> PartRecords:
        """All parts of an evaluation that are there; errors as of `read`."""
        tables, costs, flags = [RECORD_SCHEMA.empty_table()], dict[str, Cost](), dict[str, None]()
        some = self.some_parts(evaluation, range(self.part_count(evaluation)))
        for _, records in sorted(some, key=itemgetter(0)):
            tables.append(records.table)
            flags.update(dict.fromkeys(records.flags))
            for name, cost in records.costs.items():
                costs.setdefault(name, Cost()).add(cost)
        return PartRecords(pa.concat_tables(tables), costs, tuple(flags))

    def records(self, evaluation: Evaluation) -> Records:
        """The records of an evaluation so far, in order of image, with costs and flags.

        Raises:
            UserError: as `parts`, or an image counted twice under one condition.
        """
        finished = self.parts(evaluation)
        frame: pd.DataFrame = finished.table.unify_dictionaries().to_pandas()
        twice = frame.duplicated(["protocol", "condition", "image"])
        if twice.any():
            row = frame[twice].iloc[0]
            raise UserError(
                f"{self.path}: image {row['image']} is counted twice under {row['condition']} "
                f"for {evaluation.label}"
            )
        return Records(frame, finished.costs, finished.flags)
