"""Every model by name or by family and sizes, as a bare network on normalised input.

- `families/`: the declared families with the names of their models; `family`: what one is.
- `table`: `MODELS`, every name that is ours; `spec`: a row.
- `resolve`: what a name means, timm's (`timm_models`) and layer placements (`placement`) included.
- `build`: `build_model`, a network of a family (`vit/`, `fan/`) and `sizes`, `fan_sizes`, `checks`.
- `attention`: how attention is computed; `facts`: parameters and multiply-adds.
"""

__all__ = [
    "attention",
    "build",
    "checks",
    "facts",
    "family",
    "fan",
    "placement",
    "resolve",
    "spec",
    "table",
    "vit",
]
"""The modules that other rooms may use."""
