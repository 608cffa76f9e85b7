"""A look at the tokens and the attention inside a transformer while it computes.

Hooks hand each tensor on and keep none, so that whoever looks decides what memory is needed.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from timm.models.cait import ClassAttn
from timm.models.vision_transformer import Attention, Block, VisionTransformer
from torch import Tensor, nn

from ..errors import UserError
from ..models.attention import ValueWeights
from ..models.fan.network import Fan
from ..models.fan.token_mixing import TokenMixing
from ..models.vit.deit import VisionTransformerDistilled
from ..models.vit.neutreno import NeutrenoAttention, NeutrenoBlock, NeutrenoTransformer
from ..models.vit.oversmoothing import AttnScaleAttention, AttnScaleBlock, FeatScaleBlock
from ..models.vit.twicing import TwicingAttention
from ..registry import unknown
from .classifier import Classifier

TENSORS = ("block", "attention", "mix", "weights")
"""What can be looked at; see `LayerTensor`."""
SUPPORTED = (
    "DeiT and its variants, FAN, and timm's VisionTransformer with plain attention, kernels='plain'"
)
_VITS = (VisionTransformer, VisionTransformerDistilled, NeutrenoTransformer)
_VIT_BLOCKS = (Block, NeutrenoBlock, FeatScaleBlock, AttnScaleBlock)
_VIT_ATTENTION = (Attention, TwicingAttention, NeutrenoAttention, AttnScaleAttention)
_PROJECTIONS = {TokenMixing: ("q", "kv"), ClassAttn: ("q", "k")}
"""Of attention that has more than one in place of ``qkv``."""
Layer = int | str
"""1 to L; 0 for the tokens that enter block 1; ``norm`` after the network's last norm; ``class-1``
and ``class-2`` for FAN's blocks of class attention."""


class LayerTensor(NamedTuple):
    """One tensor of one layer, for a batch of B images with N tokens each.

    Attributes:
        name: ``mix``, what the averaging returns, heads side by side, before the output projection;
            ``attention``, the same behind the projection, before it is added to the tokens;
            ``block``, the tokens after the whole block; ``weights``, the softmax matrix A.
        layer: see `Layer`.
        values: tokens (B, N, C), or A (B, heads, N, N) with rows that sum to one; in a block of
            class attention (B, heads, 1, N), the class token's row alone. Not to be changed.
        extra_tokens: how many tokens of each image stand before the patches.
        has_class_token: whether the first token is the class token.
        grid: rows and columns on which the patches lie, row by row.
        value_weights: of ``weights``, what the layer makes of A before it multiplies the values.
    """

    name: str
    layer: Layer
    values: Tensor
    extra_tokens: int
    has_class_token: bool
    grid: tuple[int, int]
    value_weights: ValueWeights = ValueWeights()


Look = Callable[[LayerTensor], object]


@contextmanager
def probe(model: Classifier, tensors: Sequence[str], look: Look) -> Iterator[None]:
    """Inside, every forward pass shows the tensors of its layers, in the order of computation.

    The network computes what it computes without; afterwards, also after an error, it is as it was.
    A is computed from queries and keys, whatever kernel the network uses.

    Args:
        model: of a supported network, with plain kernels.
        tensors: which of `TENSORS`.
        look: called with each; what it raises ends the forward pass.

    Raises:
        UserError: another network, other kernels, or an unknown tensor.
    """
    for name in sorted({*tensors} - {*TENSORS}):
        raise unknown("tensor", name, TENSORS)
    network = check_supported(model)
    grid = _Grid()
    with ExitStack() as hooks:
        for register in grid.sites(network):
            hooks.callback(register().remove)
        for name, register in _sites(network, look, grid):
            if name in tensors:
                hooks.callback(register().remove)
        yield


def check_supported(model: Classifier) -> nn.Module:
    """The network of a classifier whose layers can be looked into.

    Args:
        model: any.

    Raises:
        UserError: they cannot; the line says which networks are supported.
    """
    network = model.network
    kernels = model.record.details.get("kernels", "plain")
    reason = ""
    if kernels != "plain":
        reason = f"kernels={kernels!r} compute its layers otherwise"
    elif type(network) in _VITS:
        blocks: list[Any] = list(network.get_submodule("blocks").children())
        others = [block for block in blocks if type(block) not in _VIT_BLOCKS]
        others += [block.attn for block in blocks if not others and not _is_plain(block.attn)]
        reason = f"its layers are of {type(others[0]).__name__}" if others else ""
    elif type(network) is not Fan:
        reason = f"its network is a {type(network).__name__}"
    if reason:
        raise UserError(
            f"{model.record.model} cannot be looked into: {reason}; supported are {SUPPORTED}"
        )
    return network


def _is_plain(attention: Any) -> bool:
    """Whether the average of the values, and nothing else, enters the output projection."""
    extras = getattr(attention, "gate", None), getattr(attention, "norm", None)
    return type(attention) in _VIT_ATTENTION and all(
        extra is None or isinstance(extra, nn.Identity) for extra in extras
    )


class _Grid:
    """The grid of patches that a pass has reached; blocks of FAN may halve it."""

    def __init__(self) -> None:
        self.shape = (0, 0)

    def sites(self, network: Any) -> Iterator[Callable[[], Any]]:
        """What registers the hooks that keep it; first of all, so that others know it."""

        def of_pixels(module: Any, inputs: tuple[Tensor]) -> None:
            self.shape = module.dynamic_feat_size(inputs[0].shape[-2:])

        def of_output(module: nn.Module, inputs: object, output: tuple[Tensor, Any]) -> None:
            self.shape = output[1]

        if isinstance(network, Fan):
            for module in (network.patch_embed, *network.blocks):
                yield partial(module.register_forward_hook, of_output)
        else:
            yield partial(network.patch_embed.register_forward_pre_hook, of_pixels)


def _sites(network: Any, look: Look, grid: _Grid) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every tensor of every layer, and what registers the hook that shows it."""
    is_fan = isinstance(network, Fan)
    extra = 0 if is_fan else network.num_prefix_tokens
    of_patches = partial(_Place, look, grid, extra, not is_fan and network.has_class_token)
    with_class_token = partial(_Place, look, grid, 1, True)
    first = of_patches(0).before("block")
    yield "block", partial(network.blocks[0].register_forward_pre_hook, first)
    for number, block in enumerate(network.blocks, 1):
        place, attention = of_patches(number), block.attn
        yield "block", partial(block.register_forward_hook, place.after("block"))
        yield "attention", partial(attention.register_forward_hook, place.after("attention"))
        yield "mix", partial(attention.proj.register_forward_pre_hook, place.before("mix"))
        yield from _weights_sites(attention, place)
    for number, block in enumerate(network.cls_attn_blocks if is_fan else (), 1):
        yield from _weights_sites(block.attn, with_class_token(f"class-{number}"))
    if not isinstance(network.norm, nn.Identity):
        last = (with_class_token if is_fan else of_patches)("norm")
        yield "block", partial(network.norm.register_forward_hook, last.after("block"))


class _Place(NamedTuple):
    """Where a hook is, and who looks."""

    look: Look
    grid: _Grid
    extra_tokens: int
    has_class_token: bool
    layer: Layer

    def show(self, name: str, values: Tensor, *details: ValueWeights) -> None:
        tokens = self.extra_tokens, self.has_class_token, self.grid.shape
        self.look(LayerTensor(name, self.layer, values, *tokens, *details))

    def before(self, name: str) -> Callable[..., None]:
        """A hook that shows a module's first input."""

        def hook(module: nn.Module, inputs: tuple[Any, ...]) -> None:
            self.show(name, inputs[0])

        return hook

    def after(self, name: str) -> Callable[..., None]:
        """A hook that shows a module's output; of several, which NeuTRENO and FAN give, the first.

        FAN's blocks return the tokens' grid beside them, NeuTRENO's layers the first values.
        """

        def hook(module: nn.Module, inputs: object, output: Any) -> None:
            self.show(name, output[0] if isinstance(output, tuple) else output)

        return hook


def _weights_sites(attention: Any, place: "_Place") -> Iterator[tuple[str, Callable[[], Any]]]:
    """Hooks on the projections that give queries and keys; the last of them shows A."""
    outputs: list[Tensor] = []
    *first, last = _PROJECTIONS.get(type(attention), ("qkv",))

    def keep(module: nn.Module, inputs: object, output: Tensor) -> None:
        outputs[:] = [output]

    def show(module: nn.Module, inputs: object, output: Tensor) -> None:
        q, k = _queries_and_keys(attention, [*outputs, output])
        outputs.clear()
        place.show("weights", _softmax_matrix(q, k), ValueWeights.of_layer(attention))

    for name in first:
        yield "weights", partial(getattr(attention, name).register_forward_hook, keep)
    yield "weights", partial(getattr(attention, last).register_forward_hook, show)


def _queries_and_keys(attention: Any, outputs: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Outputs of the projections as (B, heads, N, d); of class attention one query an image."""
    heads, images = attention.num_heads, len(outputs[0])
    if len(outputs) == 1:
        tokens = outputs[0].shape[1]
        q, k, _ = outputs[0].view(images, tokens, 3, heads, -1).unbind(2)
        if type(attention) is Attention:
            q, k = attention.q_norm(q), attention.k_norm(k)
    else:
        q, k = outputs
        width = q.shape[-1]
        q = q.view(images, -1, heads, width // heads)
        k = k[..., :width].reshape(images, -1, heads, width // heads)
    return q.transpose(1, 2), k.transpose(1, 2)


def _softmax_matrix(q: Tensor, k: Tensor) -> Tensor:
    """A (B, heads, N or 1, N) of queries and keys (B, heads, N, d), in one piece of memory."""
    images, heads, _, width = q.shape
    q, k = (of_heads.detach().flatten(0, 1) for of_heads in (q, k))
    # Without beta, nothing is read from the tensor that is added to.
    scores = torch.baddbmm(q.new_empty(()), q, k.mT, beta=0, alpha=width**-0.5)
    return torch.softmax(scores, -1, out=scores).view(images, heads, *scores.shape[1:])
