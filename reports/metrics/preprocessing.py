"""How images became network input, in words, and who says so."""

from collections.abc import Mapping, Sequence

from robustbench_twicing.files.printable import name_some

from ..merging.entry import Entry
from .failures import MOST_NAMES


def preprocessing_words(entry: Entry) -> str:
    """Sizes, interpolation and constants, and who says each of them where that is known."""
    parts = entry.evaluation.preprocessing
    resized = "not resized" if parts.resize is None else f"resized to {parts.resize}"
    resized += " whatever their proportions" if parts.squash else ""
    text = f"{resized} ({parts.interpolation}), cropped to {parts.crop} pixels"
    if not entry.evaluation.record.details.get("takes_pixels"):
        mean, std = (", ".join(map(str, part)) for part in (parts.mean, parts.std))
        text += f", mean {mean}, std {std}"
    origins = preprocessing_origins(entry)
    return f"{text} (from {origins})" if origins else text


def preprocessing_origins(entry: Entry) -> str:
    """Who says the parts; empty for a run of before this was noted, or of one's own network."""
    details = entry.evaluation.record.details
    told: Mapping[str, str] = details.get("preprocessing_from") or {}
    unsaid = {"squash", *(("mean", "std") if details.get("takes_pixels") else ())}
    by_origin: dict[str, list[str]] = {}
    for part in sorted(told.keys() - unsaid):
        by_origin.setdefault(told[part], []).append(part)
    if len(by_origin) == 1:
        return next(iter(by_origin))
    return "; ".join(f"{origin}: {', '.join(parts)}" for origin, parts in by_origin.items())


def preprocessing_notes(entries: Sequence[Entry]) -> list[str]:
    """A sentence for each preprocessing; one without names where all models have the same."""
    labels: dict[str, dict[str, None]] = {}
    for entry in entries:
        labels.setdefault(preprocessing_words(entry), {})[entry.label] = None
    if len(labels) == 1:
        return [f"preprocessing: {text}" for text in labels]
    return [
        f"preprocessing of {name_some(list(named), MOST_NAMES)}: {text}"
        for text, named in labels.items()
    ]
