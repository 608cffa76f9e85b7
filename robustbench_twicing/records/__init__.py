"""The record of a run: a manifest and Parquet parts of one row per image and condition.

- `run_folder`: `RunFolder`, which holds it all; `manifest`: run.json; `schema`: columns, checks.
- `parts`: Parquet files read back and checked; `locks`: who works on which.
- `session`: the work of one process; `environment`: its machine and versions; `cost`: its passes.
- `adversarial`: images kept for a look.
"""

from .adversarial import AdversarialStore
from .manifest import Evaluation, Manifest, condition_key
from .parts import Parts, Records
from .run_folder import Part, RunFolder
from .schema import SCHEMA_VERSION, Status
from .session import session, set_aside_damaged

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
