"""Make the bundled cut of Fashion-MNIST's test split: 100 images a class, chosen by a seed.

python -m robustbench_twicing.data.fashion_mnist.cut DIR [OUT.npz]
"""

import sys
from pathlib import Path

import numpy as np

from ...errors import UserError
from ...files.atomic import write_atomically
from ...seeds import derive_seed
from .idx import NUM_CLASSES, read_split
from .opening import CUT_FILE

PER_CLASS = 100
SEED = 0


def write_cut(folder: Path, out: Path) -> None:
    """Write images, labels and their positions in the test split, in the split's order.

    The arrays are stored as they are, so that the bytes depend on no compressor's version.

    Args:
        folder: with the files of the test split.
        out: ``.npz`` of ``images`` uint8 (1000, 28, 28), ``labels`` uint8 and ``positions`` uint16.

    Raises:
        UserError: the files are not there, or `out` cannot be written.
    """
    images, labels = read_split(folder, "test")
    chosen: list[int] = []
    for label in range(NUM_CLASSES):
        members = np.flatnonzero(labels == label).tolist()
        members.sort(key=lambda position: derive_seed(SEED, "fashion-mnist", "test1000", position))
        chosen += members[:PER_CLASS]
    positions = np.sort(np.array(chosen, dtype=np.uint16))

    def write(path: Path) -> None:
        with path.open("wb") as file:
            np.savez(file, images=images[positions], labels=labels[positions], positions=positions)

    write_atomically(out, write)


def main(arguments: list[str]) -> int:
    """Run from the command line; the exit status."""
    if len(arguments) not in (1, 2):
        sys.stderr.write(
            "cut: give the folder with Fashion-MNIST's files, and OUT.npz or nothing\n"
        )
        return 1
    out = Path(arguments[1]) if len(arguments) == 2 else Path(__file__).with_name(CUT_FILE)
    try:
        write_cut(Path(arguments[0]), out)
    except UserError as error:
        sys.stderr.write(f"cut: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
