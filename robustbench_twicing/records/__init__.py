"""The record of a run: a manifest and Parquet parts of one row per image and condition."""

from .adversarial import AdversarialStore
from .healing import set_aside_damaged
from .manifest import Evaluation, Manifest, condition_key
from .reading import Parts, Records
from .schema import SCHEMA_VERSION, Status
from .session import session
from .store import Part, RunFolder

__all__ = [
    "SCHEMA_VERSION",
    "AdversarialStore",
    "Evaluation",
    "Manifest",
    "Part",
    "Parts",
    "Records",
    "RunFolder",
    "Status",
    "condition_key",
    "session",
    "set_aside_damaged",
]
