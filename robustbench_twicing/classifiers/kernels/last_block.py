"""The last block of a vision transformer, for the tokens that its head reads.

A head on the class token reads no other: in the last block the rest need keys and values, and with
twicing their first average, but neither their output projection nor their MLP.
"""

from typing import Any, cast

from timm.layers.attention import Attention
from timm.layers.drop import DropPath
from timm.layers.layer_scale import LayerScale
from timm.layers.mlp import Mlp
from timm.layers.norm import LayerNorm
from timm.models.deit import VisionTransformerDistilled
from timm.models.vision_transformer import Block, VisionTransformer
from torch import Tensor, nn

from ...models.attention import average
from ...models.vit.heads import refuse_masks
from ...models.vit.neutreno import NeutrenoAttention, NeutrenoBlock, NeutrenoTransformer
from ...models.vit.oversmoothing import AttnScaleAttention, AttnScaleBlock, FeatScaleBlock
from ...models.vit.twicing import TwicingAttention
from .linear import affine

READ = {VisionTransformer: 1, NeutrenoTransformer: 1, VisionTransformerDistilled: 2}
"""How many leading tokens the head of a network reads, where it pools none."""
BLOCKS = (Block, AttnScaleBlock, FeatScaleBlock, NeutrenoBlock)
OWN_ATTENTION = (TwicingAttention, AttnScaleAttention, NeutrenoAttention)
NORMS = (nn.LayerNorm, LayerNorm, nn.Identity)
PARTS = {
    **dict.fromkeys(("norm1", "norm2"), NORMS),
    **dict.fromkeys(("ls1", "ls2"), (LayerScale, nn.Identity)),
    **dict.fromkeys(("drop_path1", "drop_path2"), (DropPath, nn.Identity)),
    "attn": (Attention, *OWN_ATTENTION),
    "mlp": (Mlp,),
}
"""What a block may consist of: but for attention, everything works token by token."""
ATTENTION_PARTS = {"qkv", "q_norm", "k_norm", "attn_drop", "norm", "proj", "proj_drop"}


class PrefixBlock(Block):
    """timm's Block that returns its ``read`` leading tokens only."""

    read: int

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """Tokens (B, N, C) to tokens (B, read, C)."""
        refuse_masks(attn_mask, is_causal)
        x = x[:, : self.read] + self.drop_path1(self.ls1(self.attn(self.norm1(x))))
        mixed: Tensor = x + self.drop_path2(self.ls2(self.mlp(self.norm2(x))))
        return mixed


class PrefixAttention(Attention):
    """timm's Attention whose queries are the ``read`` leading tokens only."""

    read: int

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """Tokens (B, N, C) to tokens (B, read, C)."""
        refuse_masks(attn_mask, is_causal)
        first, heads = x[:, : self.read], self.num_heads
        weight, width = self.qkv.weight, self.qkv.out_features // 3
        bias: Tensor | None = self.qkv.bias
        for_q, for_kv = (None, None) if bias is None else (bias[:width], bias[width:])
        queries = affine(first, weight[:width], for_q).view(len(x), -1, 1, heads, width // heads)
        others = affine(x, weight[width:], for_kv).view(len(x), -1, 2, heads, width // heads)
        q, k, v = (each.transpose(1, 2) for each in (*queries.unbind(2), *others.unbind(2)))
        y = average(self.q_norm(q), self.k_norm(k), v, fused=self.fused_attn)
        projected: Tensor = self.proj(self.norm(y.transpose(1, 2).flatten(2)))
        return projected


def read_prefix_only(network: nn.Module) -> bool:
    """Let the last block leave out the tokens that the head does not read, where that is exact.

    The network must be one of `READ` itself, in eval mode, with a head on the class token and a
    last block of known parts, and nobody may look inside: any other network is left as it is.

    Returns:
        Whether it was done. The network's logits are the same but for rounding; its tokens
        (``forward_features``) are the prefix only.
    """
    if not (_has_token_head(network) and not _is_watched(network) and _has_known_end(network)):
        return False
    read = READ[type(network)]
    block: Any = cast(nn.Sequential, network.get_submodule("blocks"))[-1]
    if type(block) in (Block, AttnScaleBlock):
        block.__class__ = PrefixBlock
        if type(block.attn) is Attention:
            block.attn.__class__ = PrefixAttention
    # FeatScale needs the mean over all tokens: its attention is timm's, and ignores this.
    block.read = block.attn.read = read
    return True


def _has_token_head(network: nn.Module) -> bool:
    """Whether the head takes the class token (and the distillation token) and pools nothing."""
    return (
        type(network) in READ
        and network.global_pool == "token"
        and getattr(network, "attn_pool", None) is None
        and type(network.norm) in NORMS
        and type(network.fc_norm) in NORMS
    )


def _is_watched(network: nn.Module) -> bool:
    """Whether somebody's hook sees tokens, or somebody replaced a method of this one network."""
    hooked = any(each._forward_hooks or each._forward_pre_hooks for each in network.modules())
    replaced = {"forward", "forward_features", "forward_head", "pool"} & vars(network).keys()
    return hooked or bool(replaced)


def _has_known_end(network: nn.Module) -> bool:
    """Whether the last block and its attention are what they are taken for, and nobody else's."""
    *before, block = cast(nn.Sequential, network.get_submodule("blocks"))
    parts = dict(block.named_children())
    if type(block) not in BLOCKS or parts.keys() != PARTS.keys():
        return False
    if any(type(part) not in PARTS[name] for name, part in parts.items()):
        return False
    attention = parts["attn"]
    if type(attention) is Attention:
        # A version of timm whose attention has other parts computes something else with them.
        inner = dict(attention.named_children())
        if inner.keys() != ATTENTION_PARTS or type(inner["qkv"]) is not nn.Linear:
            return False
    shared = {each for other in before for each in other.modules()}
    return attention not in shared
