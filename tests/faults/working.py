"""A small evaluation in processes of its own, to be killed."""

import os
import time
from fractions import Fraction
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

import torch
from torch import Tensor

from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.evaluation.options import WHOLE, Shard
from robustbench_twicing.records import compaction
from tests.tiny import ConvNet, convnet, noise, quick_conditions, run

IMAGES, BATCH = 24, 2
CONDITIONS = quick_conditions("clean", "fgsm", "pgd", "noise", budgets=(Fraction(4, 255),))
_SERVER = get_context("forkserver")
_SERVER.set_forkserver_preload([__name__])


class Slow(ConvNet):
    """So slow that there is time to kill it."""

    def forward(self, x: Tensor) -> Tensor:
        """Network input (N, 3, H, W) to logits (N, classes)."""
        time.sleep(0.001)
        return super().forward(x)


def slow() -> Classifier:
    """The convolutional net, slow."""
    model = convnet()
    model.network.__class__ = Slow
    return model


def work(
    out: Path,
    shard: Shard = WHOLE,
    batch: int = BATCH,
    *,
    survivors: bool = False,
    joined: bool = False,
) -> None:
    """Evaluate, or go on; where parts are ``joined``, two files hold six of them each."""
    if joined:
        compaction.FEW, compaction.MOST_RECORDS = 3, 6 * batch * len(CONDITIONS)
    torch.set_num_threads(1)
    options = {"batch_size": batch, "shard": shard, "survivors": survivors}
    run(slow(), noise(IMAGES), CONDITIONS, out, **options)


def start(out: Path, shard: Shard = WHOLE, batch: int = BATCH, **options: bool) -> BaseProcess:
    """`work` in a process of its own."""
    process = _SERVER.Process(target=_quietly, args=(out, shard, batch), kwargs=options)
    process.start()
    return process


def _quietly(out: Path, shard: Shard, batch: int, **options: bool) -> None:
    """What is said of damaged parts and of other processes is no matter here."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    work(out, shard, batch, **options)


def end(process: BaseProcess) -> int:
    """Wait for it; its exit code, negative for a signal."""
    process.join(120)
    assert process.exitcode is not None, "still at work after two minutes"
    return process.exitcode
