"""Maps of attention: rows of attention matrices, as they lie on the grid of patches.

Of some layers of some images alone, since all matrices of a data set fit in no memory.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from ..classifiers.classifier import Classifier
from ..classifiers.probe import Layer, LayerTensor, check_supported
from ..errors import UserError
from ..models.fan.network import Fan
from ..models.placement import parse_placement
from ..models.vit.neutreno import NeutrenoTransformer

ROWS = ("class", "received")
"""Of a matrix: what the class token attends to; or the mean over all queries, what each patch
receives, which layers without a class token show in either case."""
MATRICES = ("softmax", "effective")
"""A, or the matrix that multiplies the values; see `ValueWeights`."""
HEADS = ("mean", "each")
COLUMNS = ("image", "layer", "row", "head", "matrix", "map")


class MapChoice(NamedTuple):
    """Which maps are kept.

    Attributes:
        images: ids of the images.
        layers: numbers from 1, like ``12``, ``1-12`` or ``1,6,12``, or ``all``; None for the last
            layer, and for both blocks of FAN's class attention.
        rows: one of `ROWS`.
        matrix: one of `MATRICES`.
        heads: one of `HEADS`.
    """

    images: Sequence[str]
    layers: str | None = None
    rows: str = "class"
    matrix: str = "softmax"
    heads: str = "mean"


def map_layers(model: Classifier, choice: MapChoice) -> Sequence[Layer]:
    """Which layers of a network a choice means.

    Raises:
        UserError: the network is not supported, or has no such layer.
    """
    network = check_supported(model)
    depth = len(list(network.get_submodule("blocks").children()))
    if choice.layers is None:
        if isinstance(network, Fan) and choice.rows == "class":
            return [f"class-{number}" for number in range(1, len(network.cls_attn_blocks) + 1)]
        return [depth]
    if choice.layers == "all":
        return list(range(1, depth + 1))
    try:
        return [index + 1 for index in parse_placement(choice.layers, depth)]
    except UserError as error:
        raise UserError(
            f"--layers {choice.layers!r} does not fit {model.record.model}, which has layers 1 to "
            f"{depth}; write it like {depth}, 1-{depth}, 1,{depth} or all"
        ) from error


class KeptMaps:
    """The maps of one network that a choice asks for, batch by batch.

    Attributes:
        crops: id of a chosen image -> uint8 pixels (H, W, 3) that the network saw.
    """

    def __init__(self, model: Classifier, choice: MapChoice) -> None:
        self.crops: dict[str, NDArray[np.uint8]] = {}
        self._images: Sequence[str] = ()
        self._choice = choice
        self._layers = map_layers(model, choice)
        self._has_dist_token = hasattr(model.network, "dist_token")
        self._pulls = isinstance(model.network, NeutrenoTransformer)
        self._kept: list[tuple[str, str, str, str, str, NDArray[np.float32]]] = []

    def begin(self, images: Sequence[str], pixels: Tensor) -> None:
        """Note the batch that will be looked at.

        Args:
            images: ids.
            pixels: (B, 3, H, W); what is outside [0, 1] is clipped in the crops.
        """
        self._images = images
        for position in self._positions():
            crop = (pixels[position].clamp(0, 1) * 255).round().byte()
            self.crops[images[position]] = crop.permute(1, 2, 0).cpu().numpy()

    def _positions(self) -> list[int]:
        """Of the chosen images in the batch."""
        return [at for at, image in enumerate(self._images) if image in self._choice.images]

    def look(self, seen: LayerTensor) -> None:
        """Keep what is asked for of one matrix A, if anything is."""
        positions = self._positions()
        if seen.name != "weights" or seen.layer not in self._layers or not positions:
            return
        matrix = seen.values[positions]
        if self._choice.matrix == "effective":
            matrix = seen.value_weights.matrix(matrix)
        for row, weights in self._rows(seen, matrix):
            relative = weights * matrix.shape[-1]
            if self._choice.heads == "mean":
                relative = relative.mean(1, keepdim=True)
            maps = relative.view(*relative.shape[:2], *seen.grid).float().cpu().numpy()
            for position, of_heads in zip(positions, maps, strict=True):
                for head, of_head in enumerate(of_heads, 1):
                    name = "mean" if self._choice.heads == "mean" else str(head)
                    key = self._images[position], str(seen.layer), row, name, self._matrix(seen)
                    self._kept.append((*key, of_head))

    def table(self) -> pd.DataFrame:
        """`COLUMNS`, in the order of computation.

        ``row`` is ``class``, ``dist`` or ``received``, ``head`` ``mean`` or a number from 1,
        ``matrix`` what the weights are of in symbols, and ``map`` a float32 array on the grid of
        patches: weights times the number of tokens, so that 1 is uniform attention.
        """
        return pd.DataFrame(self._kept, columns=list(COLUMNS))

    def _rows(self, seen: LayerTensor, matrix: Tensor) -> Iterator[tuple[str, Tensor]]:
        """Names and weights on patches, (B, heads, patches)."""
        to_patches = matrix[..., seen.extra_tokens :]
        if self._choice.rows == "received" or not seen.has_class_token:
            yield "received", to_patches.mean(2)
            return
        yield "class", to_patches[:, :, 0]
        if self._has_dist_token:
            yield "dist", to_patches[:, :, 1]

    def _matrix(self, seen: LayerTensor) -> str:
        if self._choice.matrix == "effective":
            if seen.value_weights.twicing:
                return "2A - A\N{SUPERSCRIPT TWO}"
            if seen.value_weights.lamb is not None:
                return "D + (1 + \N{GREEK SMALL LETTER LAMDA})(A - D)"
            if self._pulls and seen.layer != 1:
                return "A, without its pull to the first values"
        return "A"
