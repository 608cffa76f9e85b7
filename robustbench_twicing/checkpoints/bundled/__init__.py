"""The bundled zoo: one small trained model of each family, on Fashion-MNIST, and where it lies."""

from pathlib import Path

from ...errors import UserError

ZOO = (
    "fmnist_deit",
    "fmnist_neutreno",
    "fmnist_featscale",
    "fmnist_attnscale",
    "fmnist_twicing",
    "fmnist_twicing[3-4]",
    "fmnist_fan",
    "fmnist_fan_twicing",
)
"""Models whose weights come with the package, by canonical name."""


def bundled_file(name: str) -> Path:
    """The file with a model's bundled weights: seed 0 of the recipe ``fmnist``.

    Args:
        name: canonical, with layer placement.

    Raises:
        UserError: nothing is bundled for this model.
    """
    if name not in ZOO:
        raise UserError(f"no weights are bundled for {name}; they are for {', '.join(ZOO)}")
    return Path(__file__).parent / file_name(name)


def file_name(name: str) -> str:
    """``fmnist_twicing[3-4]`` as ``fmnist_twicing_3-4.safetensors``."""
    return name.replace("[", "_").replace("]", "") + ".safetensors"
