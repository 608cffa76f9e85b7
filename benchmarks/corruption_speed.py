"""Time per image of all 19 corruptions against imagecorruptions-imaug, taken in alternation.

usage: OMP_NUM_THREADS=1 python -m benchmarks.corruption_speed [--rounds 40] [--severity 3]

The other package is optional: pip install imagecorruptions-imaug (it brings OpenCV, scikit-image
and numba). Without it own times are printed alone. The JPEG round trip of `corrupt`, which the
other package does not have, is left out of the comparison and printed in a line of its own.
"""

import argparse
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.resources import files
from statistics import median

from PIL import Image

from attacks.corruptions import CORRUPTIONS, corrupt, image_rng
from attacks.corruptions.pixels import Pixels
from robustbench_twicing.preprocessing import Preprocessing
from robustbench_twicing.timing import alternate


def photograph() -> Pixels:
    """A photograph as ImageNet-C takes it: uint8 (224, 224, 3)."""
    with (files("foolbox") / "data" / "imagenet_01_559.jpg").open("rb") as file:
        image = Image.open(file).convert("RGB")
    return Preprocessing(crop=224, resize=256, interpolation="bilinear").pixels(image)


def other_package() -> Callable[..., object] | None:
    """The function `corrupt` of imagecorruptions on one thread; None, said, where it is missing."""
    try:
        import_module("cv2").setNumThreads(1)
        call: Callable[..., object] = import_module("imagecorruptions").corrupt
    except ImportError as error:
        print(f"skipped: imagecorruptions-imaug cannot be imported here ({error}); own times only")
        return None
    return call


def line(name: str, own: float, other: float | None) -> str:
    """One row of the table; times in milliseconds."""
    if other is None:
        return f"{name:<18} {own:8.2f} {'-':>8} {'-':>6} {'-':>7}"
    return f"{name:<18} {own:8.2f} {other:8.2f} {own / other:6.2f} {other / own:6.1f}x"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--severity", type=int, default=3)
    options = parser.parse_args()
    image, other, severity = photograph(), other_package(), options.severity

    total = {"own": 0.0, "jpeg": 0.0, "other": 0.0}
    print(f"{'corruption':<18} {'own ms':>8} {'other ms':>8} {'ratio':>6} {'faster':>7}")
    for name in CORRUPTIONS:
        run = partial(corrupt, image, name, severity, image_rng(0, name, severity, "benchmark"))
        ways: dict[str, Callable[[], object]] = {"own": partial(run, jpeg_quality=None)}
        ways["jpeg"] = run
        if other is not None:
            ways["other"] = partial(other, image, corruption_name=name, severity=severity)
        taken = alternate(ways, options.rounds)
        times = {way: 1000 * median(seconds) for way, seconds in taken.items()}
        for way, milliseconds in times.items():
            total[way] += milliseconds
        print(line(name, times["own"], times.get("other")), flush=True)
    print(line("total", total["own"], total["other"] or None))
    print(f"total with the JPEG round trip: {total['jpeg']:.1f} ms")


if __name__ == "__main__":
    main()
