"""What a network makes of the tokens of an image: numbers that explain, beside those that score.

- `similarity`: how alike the tokens of a layer are.
- `attention`: how an attention matrix spreads its weights; `attention_maps`: where to;
  `spectrum`: its eigenvalues; `kernels`: eigencapacity.
- `measures`: what is measured of each layer, and under which names; `running`: over all images.
- `showing`: these images, as they are and under attacks and corruptions.
- `record`: analysis.json, what the numbers are of.

`probe` (of `classifiers`), `LayerTensor` and `token_similarity` are here for scripts; they are
loaded on first use, so that --help needs no torch.
"""

from importlib import import_module

__all__ = ["attention_maps", "kernels", "measures", "record", "running"]
"""The modules that other rooms may use."""

_FOR_SCRIPTS = {
    "LayerTensor": "..classifiers.probe",
    "probe": "..classifiers.probe",
    "token_similarity": ".similarity",
}


def __getattr__(name: str) -> object:
    if name in _FOR_SCRIPTS:
        return getattr(import_module(_FOR_SCRIPTS[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
