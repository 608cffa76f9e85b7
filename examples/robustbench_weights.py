"""Weights of RobustBench's list, through code of one's own.

    --model examples/robustbench_weights.py:resnet18 --checkpoint FILE --normalize imagenet

RobustBench keeps one file of weights a model, and the network in its own code; a function that
returns that network is all that is needed. Prefixes of its wrappers (``module.``, ``model.``) are
taken off, and the weights are loaded strictly: a file of another network is refused.
"""

from torch import nn


def resnet18() -> nn.Module:
    """The network of ``Salman2020Do_R18`` and of others on ImageNet: torchvision's ResNet-18.

    It expects normalised input: ``--normalize imagenet`` makes that a layer. Where RobustBench's
    code has no normalisation, as for many CIFAR-10 models, leave the option out.
    """
    from torchvision.models import resnet18 as network

    made: nn.Module = network(weights=None)
    return made
