"""Train the zoo: every model with every seed, one after the other, continuing what is there.

    python -m robustbench_twicing.training.zoo DIR --out runs/zoo --seeds 0,1,2

DIR holds Fashion-MNIST's files. With ``--install``, seed 0's weights and the table of accuracies
replace those in the package.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
import torch

from ..checkpoints.bundled import ZOO, bundled_file
from ..checkpoints.safetensors_files import read_metadata, read_safetensors
from ..checkpoints.state_dict import weights_sha256
from ..data.fashion_mnist import CUT, TRAIN
from ..data.opening import open_dataset
from ..errors import UserError
from ..files.atomic import write_atomically
from .folder import LOG, WEIGHTS
from .progress import Lines
from .recipes import choose_recipe
from .session import train

RECIPE = "fmnist"
TABLE = bundled_file(ZOO[0]).with_name("seeds.csv")
COLUMNS = (
    *("model", "seed", "right", "images", "data", "recipe", "recipe_sha256"),
    *("weights_sha256", "seconds"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; the exit status."""
    asked = _parse(arguments)
    out: Path = asked.out
    try:
        seeds = [int(seed) for seed in asked.seeds.split(",")]
        for seed in seeds:
            for name in asked.models or ZOO:
                _train(name, asked.data, out, seed)
        if asked.install:
            install(out, seeds)
    except (UserError, ValueError) as error:
        sys.stderr.write(f"making: {error}\n")
        return 1
    return 0


def training_folder(out: Path, name: str, seed: int) -> Path:
    """Where one model is trained with one seed."""
    return out / f"{name}-seed{seed}"


def install(out: Path, seeds: Sequence[int]) -> None:
    """Put seed 0's weights and the table of all seeds into the package.

    Args:
        out: with the finished trainings.
        seeds: those that go into the table, where they are finished; seed 0 must be.

    Raises:
        UserError: a model of seed 0 is not finished.
    """
    finished = {name: training_folder(out, name, 0) / WEIGHTS for name in ZOO}
    for name, weights in finished.items():
        if not weights.is_file():
            raise UserError(f"{weights} is not there; train {name} with seed 0 first")
    for name, weights in finished.items():
        shutil.copyfile(weights, bundled_file(name))
    table = pd.DataFrame(_lines(out, seeds), columns=COLUMNS)
    write_atomically(TABLE, lambda path: table.to_csv(path, index=False, lineterminator="\n"))


def _train(name: str, files: str, out: Path, seed: int) -> None:
    recipe = choose_recipe(RECIPE)
    torch.set_num_threads(recipe.threads or 1)
    train(
        name,
        open_dataset(f"{TRAIN}{files}"),
        training_folder(out, name, seed),
        recipe=recipe,
        val=open_dataset(CUT),
        seed=seed,
        report=Lines(f"{name} seed {seed}", recipe.batch_size),
    )


def _lines(out: Path, seeds: Sequence[int]) -> Iterator[list[str]]:
    for name in ZOO:
        for seed in seeds:
            folder = training_folder(out, name, seed)
            if not (folder / WEIGHTS).is_file():
                continue
            facts = read_metadata(folder / WEIGHTS)
            right, _, images = facts["accuracy"].partition(" of ")
            last = json.loads((folder / LOG).read_text(encoding="utf-8").splitlines()[-1])
            digest = weights_sha256(read_safetensors(folder / WEIGHTS))
            yield [
                *(name, str(seed), right, images, facts["accuracy_data"], facts["recipe"]),
                *(facts["recipe_sha256"], digest, str(round(last["seconds"]))),
            ]


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="robustbench_twicing.training.zoo", description=__doc__)
    parser.add_argument("data", help="folder with Fashion-MNIST's four files")
    parser.add_argument("--out", type=Path, default=Path("runs/zoo"))
    parser.add_argument("--seeds", default="0", help="like 0,1,2")
    parser.add_argument("--models", nargs="*", choices=ZOO, help="these only")
    parser.add_argument("--install", action="store_true", help="replace what the package carries")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
