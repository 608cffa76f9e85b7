"""Columns of a record, and the versions that a reader knows."""

from enum import StrEnum

import pyarrow as pa

from ..errors import UserError

SCHEMA_VERSION = 2
FIRST_VERSION = 1
"""Without the columns after ``message``; read, and never written."""
MOST_DRAWS = 32
"""Of a network, as one record holds them."""


class Status(StrEnum):
    """What became of one image under one condition."""

    OK = "ok"
    ERROR = "error"
    SKIPPED = "skipped"
    MISSING = "missing"
    INHERITED = "inherited"  # not attacked, since another attack has fooled it: ``witness``


_NAME = pa.dictionary(pa.int32(), pa.string())

RECORD_SCHEMA = pa.schema(
    [
        ("label", _NAME),
        ("dataset", _NAME),
        ("protocol", _NAME),
        ("condition", _NAME),
        ("index", pa.int32()),  # position in the data set
        ("image", pa.string()),  # image id
        ("pixels_sha256", pa.string()),  # of the uint8 pixels, first 16 hex digits
        ("target", pa.int32()),
        ("clean_prediction", pa.int32()),
        ("clean_rank", pa.int32()),  # 0: right before the attack
        ("prediction", pa.int32()),
        ("rank", pa.int32()),  # 0: top-1 right, below 5: top-5 right
        ("clean_loss", pa.float64()),
        ("loss", pa.float64()),
        ("gradient", pa.float64()),  # largest |d loss / d pixel| at the clean image, if computed
        ("rank_8bit", pa.int32()),  # rank after rounding the adversarial image to 8 bits
        ("linf", pa.float64()),  # largest pixel change by an attack, in [0, 1]
        ("status", _NAME),
        ("message", pa.string()),
        ("l2", pa.float64()),  # Euclidean length of the change by an attack, in pixels in [0, 1]
        ("l0", pa.int32()),  # pixel positions that an attack changed, in any channel
        ("radius", pa.float64()),  # distance of the nearest adversarial example that was found
        ("goal", pa.int32()),  # the class that a targeted attack wants
        ("witness", pa.string()),  # id of the condition whose values these are
        ("draws_right", pa.int64()),  # of several draws of the network: bit d where d is right
    ]
)
"""One row per (label, dataset, protocol, condition, image). Facts only; empty where not scored."""
FIRST_SCHEMA = pa.schema(list(RECORD_SCHEMA)[: RECORD_SCHEMA.names.index("message") + 1])
"""The columns of version 1."""
EARLIER_SCHEMAS = {FIRST_VERSION: FIRST_SCHEMA, SCHEMA_VERSION: pa.schema(list(RECORD_SCHEMA)[:-1])}
"""By version, fewer columns that a part may have: those of version 2 before ``draws_right``."""


def check_version(version: object, where: str) -> None:
    """Refuse a file of a schema that is not known here.

    Raises:
        UserError: naming both versions and which side is to be updated.
    """
    if version in (FIRST_VERSION, SCHEMA_VERSION) and not isinstance(version, bool):
        return
    newer = isinstance(version, int) and version > SCHEMA_VERSION
    advice = "update robustbench-twicing" if newer else "evaluate again with this version"
    raise UserError(
        f"{where}: schema {version!r}, this version reads {FIRST_VERSION} and "
        f"{SCHEMA_VERSION}; {advice}"
    )
