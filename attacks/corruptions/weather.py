"""Weather: snow, frost and fog."""

from pathlib import Path

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from robustbench_twicing.errors import UserError

from .declaration import Levels, at, corruption
from .frost_textures import frost_textures
from .imaging.pixels import Pixels, by_channel, to_bytes, to_unit
from .imaging.plasma import plasma
from .imaging.trail import motion_trail
from .imaging.zoom import zoom_middle

SNOW: Levels = {
    "mean": (0.1, 0.2, 0.55, 0.55, 0.55),
    "std": (0.3,) * 5,
    "zoom": (3, 2, 4, 4.5, 2.5),
    "threshold": (0.5, 0.5, 0.9, 0.85, 0.85),
    "blur_radius": (10, 12, 12, 12, 12),
    "blur_sigma": (4, 4, 8, 8, 12),
    "keep": (0.8, 0.7, 0.7, 0.65, 0.55),
}
FROST: Levels = {
    "image_weight": (1, 0.8, 0.7, 0.65, 0.6),
    "frost_weight": (0.4, 0.6, 0.7, 0.7, 0.75),
}
FOG: Levels = {"strength": (1.5, 2, 2.5, 2.5, 3), "decay": (2, 2, 1.7, 1.5, 1.4)}
FOG_SIDE = 256


@corruption("snow", group="weather", levels=SNOW)
def snow(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Whiten the image and let smeared flakes fall over it.

    Draws: one normal field (H, W); then the angle, uniform in [-135, -45) degrees.
    """
    levels = at(SNOW, severity)
    noise = rng.normal(levels["mean"], levels["std"], image.shape[:2])
    flakes = zoom_middle(noise[..., None], levels["zoom"])[..., 0]
    flakes[flakes < levels["threshold"]] = 0
    layer = motion_trail(
        to_bytes(flakes),
        levels["blur_radius"],
        levels["blur_sigma"],
        angle=rng.uniform(-135, -45),
    )
    fallen = layer / 255.0
    fallen = fallen + np.rot90(fallen, 2)
    keep, pale = levels["keep"], _luma(image) * 1.5 + 0.5

    def snowed(plane: Pixels) -> Pixels:
        x = np.divide(plane, 255, dtype=np.float32)
        return to_bytes(keep * x + (1 - keep) * np.maximum(x, pale) + fallen)

    return by_channel(image, snowed)


@corruption("frost", group="weather", levels=FROST, grey=False, needs=frost_textures)
def frost(
    image: Pixels, severity: int, rng: RandomState, *, frost_dir: Path | str | None = None
) -> Pixels:
    """Add a random cut-out of a photograph of frost; RGB only.

    Draws: which of five textures, then the cut-out's row, then its column.

    Raises:
        UserError: the textures are not found, or the image is not smaller than all of them.
    """
    levels = at(FROST, severity)
    textures = frost_textures(frost_dir)
    height, width = image.shape[:2]
    tallest, widest = (min(texture.shape[axis] for texture in textures) - 1 for axis in (0, 1))
    if height > tallest or width > widest:
        raise UserError(
            f"frost got {height} x {width} pixels, but its textures allow "
            f"{tallest} x {widest} at most; corrupt at 224 x 224 and resize afterwards"
        )
    texture = textures[rng.randint(len(textures))]
    top = rng.randint(0, texture.shape[0] - height)
    left = rng.randint(0, texture.shape[1] - width)
    cut = texture[top : top + height, left : left + width]
    frozen = levels["image_weight"] * image + levels["frost_weight"] * cut
    return np.minimum(frozen, 255, out=frozen).astype(np.uint8)


@corruption("fog", group="weather", levels=FOG)
def fog(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Mix with a plasma fractal.

    The map is 256 x 256, of which the top left corner is used; larger images, which the original
    cannot do, get a map of the next power of two.

    Draws: see `plasma`.
    """
    levels = at(FOG, severity)
    height, width = image.shape[:2]
    side = max(FOG_SIDE, 1 << (max(height, width) - 1).bit_length())
    density = levels["strength"] * plasma(side, levels["decay"], rng)[:height, :width]
    brightest = image.max() / 255.0

    def fogged(plane: Pixels) -> Pixels:
        x = to_unit(plane)
        x += density
        x *= brightest
        x /= brightest + levels["strength"]
        return to_bytes(x)

    return by_channel(image, fogged)


def _luma(image: Pixels) -> NDArray[np.float32]:
    """Brightness, 0..1, of (H, W, 3), or of (H, W) itself."""
    x: NDArray[np.float32] = np.divide(image, 255, dtype=np.float32)
    if x.ndim == 2:
        return x
    luma = x[..., 0] * np.float32(0.299)
    luma += x[..., 1] * np.float32(0.587)
    luma += x[..., 2] * np.float32(0.114)
    return luma
