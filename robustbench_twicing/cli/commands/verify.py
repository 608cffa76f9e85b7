"""verify: own attacks against torchattacks, foolbox and cleverhans, on any model."""

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import typer

from ...errors import UserError
from ...files.printable import count
from ..options.command import add_command
from ..options.evaluation import OF_IMAGES, OF_MODELS, OF_PIXELS, EvalOptions
from ..signals import DONE, ERROR_ROWS

if TYPE_CHECKING:
    from rich.table import Table

    from attacks.verification import Agreement

    from ...conditions.attack_batch import AttackBatch

IMAGES = 4
DEFAULT_DATA = "samples:imagenet"
OPTIONS = (
    *OF_MODELS,
    *("data", *OF_IMAGES, "eps"),
    *("attention", "kernels", "compile", "memory_format"),
    *(*OF_PIXELS, "normalize"),
    *("device", "threads", "seed"),
)
"""Those of eval that change what is compared."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(
        app,
        "verify",
        run,
        help_text="Compare own attacks with other libraries, on your model, at one budget: "
        f"{IMAGES} images of {DEFAULT_DATA} at 1/255 unless others are given.",
        only=OPTIONS,
    )


def run(options: EvalOptions) -> int:
    """Print a table of agreement for every model.

    Uses some images of --data (the photographs that foolbox ships by default), 4 of them unless
    --limit says otherwise, at a budget of 1/255 or that of --eps.

    Returns:
        Exit status: 3 where an attack disagrees.
    """
    import numpy as np
    import torch

    from attacks.verification import Setting, verify

    from ...classifiers.device import choose_device
    from ...conditions.attack_batch import AttackBatch
    from ...conditions.budgets import parse_budgets
    from ...data.dataset import require_one_label
    from ...data.loader import to_tensor
    from ...evaluation.clean_step import clean_scores
    from ...evaluation.validation import check_request
    from ..request.request import make_request
    from ..terminal import Console

    budgets = parse_budgets(options.eps) if options.eps else [Fraction(1, 255)]
    if len(budgets) > 1:
        raise UserError(f"verify compares at one budget, and --eps {options.eps} has several")
    budget = float(budgets[0])
    request = make_request(
        replace(options, data=options.data or [DEFAULT_DATA], limit=options.limit or IMAGES)
    )
    if len(request.tasks) > 1:
        names = ", ".join(task.data.name for task in request.tasks)
        raise UserError(f"verify compares on one data set, and these are several: {names}")
    check_request(request.models, request.tasks)
    data = request.tasks[0].data
    require_one_label(data, "verify, which compares attacks,")
    device = choose_device(options.device)
    console = Console()
    agreements: list[Agreement] = []
    for label, model in request.models.items():
        if data.space is not None:
            model = model.answering_in(data.space)
        indices = range(min(len(data), options.limit or IMAGES))
        pixels = [data.pixels(index, model.preprocessing) for index in indices]
        x = to_tensor(np.stack(pixels), device)
        y = torch.tensor([data.labels[index] for index in indices], device=device)
        clean = AttackBatch(model.to(device), x, y, images=data.ids[: len(x)])
        clean_scores(label, model, data, clean, y)
        _check_gradient(label, clean)
        rows = list(verify(Setting(model, x, y, budget, options.seed)))
        agreements += rows
        console.print(_table(f"{label}, {count(len(x), 'image')}, eps {budget * 255:g}/255", rows))
    console.print(
        "largest: largest difference of a pixel (spsa gradient: of an entry of the gradient; fmn: "
        "of a distance); share: of pixels more than 1e-6 apart; up to 1 in 10,000 may be, where a "
        "gradient next to zero has another sign. pgd: the start, the first step, and every further "
        "step from the library's own iterate."
    )
    return ERROR_ROWS if any(row.agrees is False for row in agreements) else DONE


def _check_gradient(label: str, clean: "AttackBatch") -> None:
    """Refuse a network without a gradient, on which nothing can be compared."""
    from ...classifiers.gradient import input_gradient

    try:
        input_gradient(clean.model, clean.x, clean.y)
    except (Exception, SystemExit) as error:
        raise UserError(
            f"{label}: the network has no gradient that attacks could follow: "
            f"{type(error).__name__}: {error}; FGSM and PGD cannot be compared on it"
        ) from error


def _table(title: str, rows: "list[Agreement]") -> "Table":
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left")
    for name in ("attack", "against", "largest", "share", "verdict"):
        table.add_column(name, overflow="fold")
    for row in rows:
        verdict = {True: "agrees", False: "DISAGREES", None: "not run"}[row.agrees]
        table.add_row(
            row.attack,
            row.reference,
            "" if row.largest is None else f"{row.largest:.1e}",
            "" if row.differing is None else f"{row.differing:.1e}",
            f"{verdict}: {row.remark}" if row.remark else verdict,
        )
    return table
