"""What a family of models is, and every declared one by its name."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..files.source_code import foreign_code_sha256
from ..registry import Registry, did_you_mean
from .sizes import Sizes

if TYPE_CHECKING:
    from torch import nn

Shapes = Mapping[str, tuple[int, ...]]
"""Key of a state dict -> shape."""
Seen = Mapping[str, int | None]
"""Size -> what keys and shapes show of it; None where they do not."""


@dataclass(frozen=True)
class ModelAbout:
    """What reports need to know of a model; recorded beside it, and never part of its identity.

    Attributes:
        backbone: its group in tables, whatever its attention is. Empty: the family.
        twicing: whether some layers average twice.
        plain: whether it is what its backbone is without any variant.
    """

    backbone: str = ""
    twicing: bool = False
    plain: bool = False


@dataclass(frozen=True)
class ModelRecord:
    """What a run's manifest says of a model.

    Attributes:
        model: canonical printed name, with layer placement.
        family: ``deit``, ``twicing``, ..., ``timm`` or ``user``.
        checkpoint: path as given, ``pretrained``, ``bundled``, ``random:SEED`` or ``user code``.
        checkpoint_sha256: hash of the file; empty where there is none.
        weights: ``plain`` or ``ema``; empty where that does not apply.
        weights_sha256: hash of the tensors that were loaded.
        notes: sentences a reader must know (key used, position embedding resampled, ...).
        flags: short marks that stay on every number (``random-weights``, ``arch-override``, ...).
        about: see `ModelAbout`.
    """

    model: str
    family: str = "user"
    checkpoint: str = "user code"
    checkpoint_sha256: str = ""
    weights: str = ""
    weights_sha256: str = ""
    notes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    about: ModelAbout = field(default_factory=ModelAbout)


@dataclass(frozen=True, eq=False)
class Family:
    """A family of models, as `families.declare` takes it.

    Attributes:
        name: in the command `models` and in records.
        sizes: the class of its sizes, all keyword arguments; see `Sizes`.
        build: from these sizes to the bare network, (B, 3, H, W) normalised images to (B, K)
            logits, with fresh weights. Torch is imported inside, so that names are listed at once.
        shown_as: what its state dicts are in words, with an article and the keys that tell; the
            same for families with the same keys. Empty: a model of the family.
        seen: the sizes that keys and shapes show, by their names in `sizes`, and ``grid``, the side
            of the position embedding in patches. Models of other sizes are then told apart without
            building them.
        backbone: its group in tables; empty for a group of its own.
        plain: whether it is what its backbone is without any variant, unless layers are twicing.
        note: a sentence for every record of such a model.
        unsupported: patterns of names that somebody may well ask for and that cannot be had, with
            the reason.
    """

    name: str
    sizes: type[Sizes]
    build: Callable[[Any], "nn.Module"]
    shown_as: str = ""
    seen: Callable[[Shapes], Seen] = lambda shapes: {}
    backbone: str = ""
    plain: bool = False
    note: str = ""
    unsupported: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What its state dicts are, in words."""
        return self.shown_as or f"a model of the family {self.name}"

    @property
    def size_names(self) -> tuple[str, ...]:
        """The keyword arguments of its sizes."""
        return tuple(size.name for size in fields(self.sizes))

    def code_sha256(self, network: "nn.Module") -> str:
        """Of a user's own family, the code of `build` and of the modules of a network it built."""
        package = self.build.__module__.partition(".")[0]
        kinds = dict.fromkeys(type(module) for module in network.modules())
        declared = [kind for kind in kinds if kind.__module__.partition(".")[0] == package]
        return foreign_code_sha256(self.build, *declared)


FAMILIES: Registry[Family] = Registry("model family")
"""Every declared family by its name."""


def read_sizes(family: str, sizes: Mapping[str, Any]) -> Sizes:
    """The checked sizes of one family.

    Raises:
        UserError: an unknown family, an unknown size, or sizes that do not fit together.
    """
    if family not in FAMILIES:
        refuse_unsupported(family)
    known = FAMILIES[family].size_names
    for name in sizes:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UserError(
                f"a {family} model has no size {name!r}.{hint} Known: {', '.join(known)}"
            )
    for size in fields(FAMILIES[family].sizes):
        if size.name not in sizes and size.default is size.default_factory is MISSING:
            raise UserError(f"a {family} model needs {size.name}")
    return FAMILIES[family].sizes(**sizes)


def model_about(family: str, sizes: Mapping[str, Any]) -> ModelAbout:
    """What reports need to know of a model of a family and these sizes.

    Raises:
        UserError: as `read_sizes`.
    """
    twicing = bool(read_sizes(family, sizes).twicing_layers)
    declared = FAMILIES[family]
    return ModelAbout(declared.backbone, twicing, declared.plain and not twicing)


def refuse_unsupported(name: str) -> None:
    """Explain the names that somebody may well ask for and that cannot be had.

    Raises:
        UserError: a family says that it does not support what is called so.
    """
    for family in FAMILIES.values():
        for pattern, reason in family.unsupported.items():
            if fnmatchcase(name, pattern):
                raise UserError(f"{name!r}: {reason}")
