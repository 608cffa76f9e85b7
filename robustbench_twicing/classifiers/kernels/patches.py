"""Convolutions over patches side by side, as one linear layer."""

from torch import Tensor, nn

from .linear import affine, is_plain


class OneDnnPatches(nn.Conv2d):
    """`nn.Conv2d` whose patches neither overlap nor leave gaps; see `cuts_patches`.

    The general kernel's gradient of the input takes many times what the same matrix product does.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Images (B, C, H, W) to (B, out, H // height, W // width), as the convolution does."""
        height, width = self.kernel_size
        if (
            input.ndim != 4
            or input.shape[2] < height
            or input.shape[3] < width
            or is_plain(input, self.weight, self.bias)
        ):
            return super().forward(input)
        batch, channels = input.shape[:2]
        rows, columns = input.shape[2] // height, input.shape[3] // width
        # A rest that fills no patch is not looked at, as in the convolution.
        whole = input[:, :, : rows * height, : columns * width]
        patches = whole.reshape(batch, channels, rows, height, columns, width)
        flat = patches.permute(0, 2, 4, 1, 3, 5).flatten(3)
        return affine(flat, self.weight.flatten(1), self.bias).permute(0, 3, 1, 2)


def cuts_patches(module: nn.Module) -> bool:
    """Whether a layer is a plain convolution over patches larger than a pixel, side by side."""
    return (
        type(module) is nn.Conv2d
        and module.kernel_size == module.stride
        and module.kernel_size != (1, 1)
        and module.padding == (0, 0)
        and module.dilation == (1, 1)
        and module.groups == 1
    )
