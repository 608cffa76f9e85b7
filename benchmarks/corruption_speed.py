"""Time per image of all 19 corruptions against imagecorruptions-imaug, taken in alternation.

    python benchmarks/corruption_speed.py [--rounds 20] [--severity 3] [--threads N]

The other package is optional. The JPEG round trip of `corrupt`, which the other package does not
have, is left out of the comparison and has a column of its own.
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from statistics import median

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacks.corruptions import CORRUPTIONS, corrupt, image_rng
from attacks.corruptions.imaging.pixels import Pixels
from benchmarks.table import Table, show
from benchmarks.timing import arguments, measured
from robustbench_twicing.data.preprocessing import Preprocessing

Corrupt = Callable[..., object]


def photograph() -> Pixels:
    """A photograph as ImageNet-C takes it: uint8 (224, 224, 3)."""
    with (files("foolbox") / "data" / "imagenet_01_559.jpg").open("rb") as file:
        image = Image.open(file).convert("RGB")
    return Preprocessing(crop=224, resize=256, interpolation="bilinear").pixels(image)


def other_package() -> tuple[Corrupt | None, str]:
    """The function `corrupt` of imagecorruptions on one thread, or None and why."""
    try:
        import_module("cv2").setNumThreads(1)
        call: Corrupt = import_module("imagecorruptions").corrupt
    except ImportError as error:
        return None, (
            f"Skipped: imagecorruptions-imaug cannot be imported here ({error}); `make bench` "
            "installs what it needs. Own times only."
        )
    return call, "Against imagecorruptions-imaug, which has no JPEG round trip."


def measure(*, rounds: int = 20, severity: int = 3) -> Iterator[Table]:
    """One table, with the sum over all corruptions."""
    image, (other, note) = photograph(), other_package()
    times = {name: milliseconds(image, name, severity, other, rounds) for name in CORRUPTIONS}
    total = {way: sum(of_name[way] for of_name in times.values()) for way in times["fog"]}
    rows = [_row(name, ways) for name, ways in {**times, "all 19": total}.items()]
    about = f"ms/image, severity {severity}, one thread, 224 px, median of {rounds}. {note}"
    columns = ["corruption", "own", "other", "ratio", "own with JPEG"]
    yield Table("Corruptions", columns, rows, about)


def milliseconds(
    image: Pixels, name: str, severity: int, other: Corrupt | None, rounds: int
) -> dict[str, float]:
    """Median of each way to make one corruption."""
    run = partial(corrupt, image, name, severity, image_rng(0, name, severity, "benchmark"))
    ways: dict[str, Callable[[], object]] = {"own": partial(run, jpeg_quality=None), "jpeg": run}
    if other is not None:
        ways["other"] = partial(other, image, corruption_name=name, severity=severity)
    return {way: 1000 * median(taken) for way, taken in measured(ways, rounds).items()}


def _row(name: str, times: dict[str, float]) -> list[str]:
    own, other = times["own"], times.get("other")
    against = ["-", "-"] if other is None else [f"{other:.2f}", f"{own / other:.2f}"]
    return [name, f"{own:.2f}", *against, f"{times['jpeg']:.2f}"]


if __name__ == "__main__":
    show(measure(**arguments(__doc__, measure.__kwdefaults__)))
