"""The record of a run: a manifest and Parquet parts of one row per image and condition."""

from .manifest import Evaluation, Manifest
from .schema import SCHEMA_VERSION, Status
from .store import Part, Records, RunFolder

__all__ = ["SCHEMA_VERSION", "Evaluation", "Manifest", "Part", "Records", "RunFolder", "Status"]
