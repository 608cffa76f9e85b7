"""A run folder: run.json, one environment file per session, and Parquet parts."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from secrets import token_hex
from typing import Any, Self

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import UserError
from ..files.atomic import asked, is_free, is_there, write_atomically, write_once
from ..files.printable import folder_name
from .cost import Cost
from .identity import not_the_same
from .locks import Ownership
from .manifest import PARTS, SESSIONS, SETTINGS, Evaluation, Manifest, read_settings
from .manifest import binding_settings as binding
from .parts import (
    META,
    META_HASH,
    REPAIR,
    DamagedPartError,
    PartMeta,
    PartRecords,
    Records,
    digest,
    read_part,
)
from .schema import RECORD_SCHEMA, SCHEMA_VERSION


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
        self._stamp: tuple[int, ...] | None = None

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
            folder = cls.open(path)
            problem = not_the_same(folder.manifest, manifest)
            if problem:
                raise UserError(f"{path}{problem}")
            return folder
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

    def add_session(self, environment: dict[str, Any]) -> Path:
        """Note the machine and versions of a process that works on this run; the file."""
        text = json.dumps(environment, indent=1, ensure_ascii=False) + "\n"
        folder = self.path / SESSIONS
        # Containers number their processes alike, so time and process are not unique.
        name = f"{environment['started'].replace(':', '')}-{token_hex(4)}.json"
        write_atomically(folder / name, lambda file: file.write_text(text, encoding="utf-8"))
        return folder / name

    def part_count(self, evaluation: Evaluation) -> int:
        """How many parts the records have when complete."""
        return -(-evaluation.dataset.n_images // self.manifest.part_size)

    def part_path(self, evaluation: Evaluation, part: int) -> Path:
        """File of a part, whether it is there or not."""
        label, dataset = folder_name(evaluation.label), folder_name(evaluation.dataset.name)
        return self.path / PARTS / label / dataset / f"part-{part:06d}.parquet"

    def is_there(self, evaluation: Evaluation, part: int) -> bool:
        """Whether a part has been written."""
        return is_there(self.part_path(evaluation, part))

    def missing(self, evaluation: Evaluation) -> list[int]:
        """Parts that are not there yet."""
        parts = range(self.part_count(evaluation))
        return [part for part in parts if not self.is_there(evaluation, part)]

    def owner(self, evaluation: Evaluation) -> Ownership:
        """The claims of this process on the parts of an evaluation; a context."""
        return Ownership(self.part_path(evaluation, 0).parent)

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
        stat = asked(file, file.stat)
        stamp = stat and (stat.st_dev, stat.st_ino, stat.st_size, stat.st_ctime_ns)
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
        meta = {
            "schema": SCHEMA_VERSION,
            "rows": content.table.num_rows,
            "belongs_to": self._belongs_to(evaluation, part),
            "costs": {name: asdict(cost) for name, cost in content.costs.items()},
            "flags": content.flags,
        }
        text = json.dumps(meta)
        table = content.table.replace_schema_metadata({META: text, META_HASH: digest(text)})
        path = self.part_path(evaluation, part)
        write_atomically(path, lambda file: pq.write_table(table, file, write_page_checksum=True))

    def _belongs_to(self, evaluation: Evaluation, part: int) -> str:
        """What a part is of: this manifest, this model and data set, this range of images."""
        names = f"{json.dumps(evaluation.label)}, {json.dumps(evaluation.dataset.name)}"
        return digest(f"[{self._settings_text}, {names}, {part}]")

    def part_records(self, evaluation: Evaluation, part: int) -> pd.DataFrame:
        """Columns of `RECORD_SCHEMA` of one part that is there.

        Raises:
            UserError: a damaged part.
        """
        frame: pd.DataFrame = self.read(evaluation, part)[0].to_pandas()
        return frame

    def part(self, evaluation: Evaluation, part: int) -> PartRecords:
        """One part that is there, with its costs and flags.

        Raises:
            DamagedPartError: it is not what was written there.
            UserError: the system cannot read it.
        """
        table, meta = self.read(evaluation, part)
        return PartRecords(table, {**meta.costs}, tuple(meta.flags))

    def read(
        self, evaluation: Evaluation, part: int, coded: Sequence[str] = ()
    ) -> tuple[pa.Table, PartMeta]:
        """One part that is there, and what stands beside it, as `read_part` gives them.

        Raises:
            DamagedPartError: it is not what was written there.
            UserError: the system cannot read it, or it is of another schema.
        """
        path = self.part_path(evaluation, part)
        table, meta = read_part(path, coded)
        if meta.belongs_to != self._belongs_to(evaluation, part):
            raise DamagedPartError(
                f"{path} belongs to another run, model, data set or range of images; {REPAIR}"
            )
        return table, meta

    def parts(self, evaluation: Evaluation) -> PartRecords:
        """The parts of an evaluation that are there, in order of image.

        Raises:
            UserError: a part that is damaged, of another schema, or of something else.
        """
        tables, costs, flags = [RECORD_SCHEMA.empty_table()], dict[str, Cost](), dict[str, None]()
        for part in range(self.part_count(evaluation)):
            if self.is_there(evaluation, part):
                records = self.part(evaluation, part)
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


def part_size_of(path: Path) -> int:
    """Images of one part of the run in a folder; 0 where there is none.

    Raises:
        UserError: as `RunFolder.open`.
    """
    return RunFolder.open(path).manifest.part_size if is_there(path / SETTINGS) else 0
