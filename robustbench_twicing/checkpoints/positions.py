"""Move a position embedding to another grid of patches."""

from math import isqrt

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from ..errors import UserError


def resample_positions(positions: Tensor, grid: tuple[int, int], extra: int) -> Tensor:
    """Resample a learned position embedding as the DeiT papers' code does.

    Bicubic, ``align_corners=False``, without antialiasing (timm 1.0 antialiases instead); the rows
    of the class and distillation tokens are kept as they are.

    Args:
        positions: (1, extra + n * n, C), n * n patches in row-major order.
        grid: rows and columns wanted.
        extra: number of tokens before the patches.

    Returns:
        (1, extra + rows * columns, C), float32.

    Raises:
        UserError: the patches do not form a square.
    """
    cells = positions.shape[1] - extra
    side = isqrt(max(cells, 0))
    wanted = extra + grid[0] * grid[1]
    if cells < 1 or side * side != cells:
        raise UserError(
            f"pos_embed covers {positions.shape[1]} tokens and the network has {wanted}; "
            f"{max(cells, 0)} patches are no square grid, so it cannot be resampled"
        )
    head, patches = positions[:, :extra].float(), positions[:, extra:].float()
    image = patches.reshape(1, side, side, -1).permute(0, 3, 1, 2)
    image = interpolate(image, size=grid, mode="bicubic", align_corners=False, antialias=False)
    return torch.cat([head, image.permute(0, 2, 3, 1).flatten(1, 2)], dim=1)
