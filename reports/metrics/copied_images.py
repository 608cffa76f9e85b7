"""Corrupted images that are another condition's: a folder was copied over, or never corrupted."""

from collections.abc import Mapping

from robustbench_twicing.conditions.condition import CLEAN

from .diagnostics import Scored


def copied_images(scored: Mapping[int, Scored]) -> dict[int, str]:
    """A flag for each condition whose files are, all of them, the images of another one.

    Images that were corrupted on the fly are left out: flat ones may come out as they went in.

    Args:
        scored: by position, all conditions of one model, data set and protocol; their rows'
            ``pixels_sha256`` is categorical, with the same categories everywhere.

    Returns:
        By position: ``same-images-as-CONDITION``.
    """
    by_content: dict[bytes, list[int]] = {}
    for position, one in scored.items():
        if (_is_from_files(one) or one.condition.attack == CLEAN) and len(one.rows):
            by_content.setdefault(_content(one), []).append(position)
    flags = {}
    for positions in by_content.values():
        for position in positions:
            others = [each for each in positions if each != position]
            if others and _is_from_files(scored[position]):
                flags[position] = f"same-images-as-{scored[others[0]].condition.id}"
    return flags


def _is_from_files(one: Scored) -> bool:
    return one.condition.images is not None and "files" in one.condition.images.describe()


def _content(one: Scored) -> bytes:
    rows = one.rows.sort_values("index")
    images, pixels = (rows[name].cat.codes.to_numpy() for name in ("image", "pixels_sha256"))
    return images.tobytes() + pixels.tobytes()
