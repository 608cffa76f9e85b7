"""What other kernels do to a network."""

from torch import nn

from .last_block import read_prefix_only
from .linear import OneDnnLinear, OneDnnMlp, fuses
from .patches import OneDnnPatches, cuts_patches


def use_onednn(network: nn.Module) -> None:
    """Let a frozen network compute its logits faster in fp32 on the CPU; names and tensors stay.

    Every `nn.Linear` computes in oneDNN, and so does every convolution over patches side by side;
    in timm's MLP the exact GELU is part of the linear layer before it. These compute as before
    under autocast, in other number formats, on other devices, and where their weights want a
    gradient. The last block of a vision transformer leaves out the tokens that its head does not
    read. Layers of a subclass are left alone. The logits differ by rounding.

    `benchmarks/pgd_time.py` and `benchmarks/spsa_time.py` show the gain on the machine at hand.
    """
    read_prefix_only(network)
    for module in network.modules():
        if type(module) is nn.Linear:
            module.__class__ = OneDnnLinear
        elif cuts_patches(module):
            module.__class__ = OneDnnPatches
        elif fuses(module):
            module.__class__ = OneDnnMlp
