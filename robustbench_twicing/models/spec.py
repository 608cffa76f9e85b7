"""What the suite knows of a model by its name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..data.preprocessing import Preprocessing
from .family import ModelAbout, model_about
from .placement import format_placement


@dataclass(frozen=True)
class ModelSpec:
    """One row of the table of models.

    Attributes:
        name: canonical printed name, with layer placement where not all layers are twicing.
        family: first argument of `build_model`.
        sizes: the keyword arguments of `build_model`.
        preprocessing: what the papers (or timm) did to photographs for this model.
        source: where the architecture is described.
        timm_name: the timm model whose pretrained weights fit; None where timm has none.
    """

    name: str
    family: str
    sizes: Mapping[str, Any]
    preprocessing: Preprocessing
    source: str
    timm_name: str | None = None
    aliases: tuple[str, ...] = field(default=(), compare=False)

    @property
    def about(self) -> ModelAbout:
        """What reports need to know of it."""
        return model_about(self.family, self.sizes)

    @property
    def twicing(self) -> bool:
        """Whether some layers average twice, so that a layer placement makes sense."""
        return self.about.twicing

    @property
    def placed_name(self) -> str:
        """The name with its layer placement written out, all layers too: ``...twicing[1-12]``.

        A file that is called so says which layers are twicing; a bare name leaves that open.
        """
        if not self.twicing or "[" in self.name:
            return self.name
        return self.name + format_placement(range(self.sizes["depth"]))
