"""Names: a plain dict that refuses duplicates and explains a failed look-up; names in any case."""

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Generic, NoReturn, TypeVar

from .errors import UserError

T = TypeVar("T")


def in_any_case(name: str, names: Iterable[str]) -> str:
    """The one of some names that differs in nothing but the case of its letters.

    The name itself where it is among them, where there is none, or where there are several.
    """
    names = list(names)
    alike = [known for known in names if known.lower() == name.lower()]
    return name if name in names or len(alike) != 1 else alike[0]


def nearest(name: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """The one of some names that was most likely meant, in whatever case; empty for none.

    Args:
        name: as typed.
        names: that are known.
        cutoff: how alike they have to be, as `difflib.get_close_matches` takes it.
    """
    known = {other.lower(): other for other in names}
    near = get_close_matches(name.lower(), known, n=1, cutoff=cutoff)
    return known[near[0]] if near else ""


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """`` Did you mean 'deit_tiny'?``, by the `nearest` of some names; empty for none."""
    near = nearest(name, names)
    return f" Did you mean {near!r}?" if near else ""


def unknown(asked: str, name: object, names: Iterable[str]) -> UserError:
    """A mistake that says what is known, and which of it may have been meant.

    Args:
        asked: for what: an option, like ``--device``.
        name: that is none of them.
        names: in the order in which they are told.
    """
    names = list(names)
    hint = did_you_mean(str(name), names)
    return UserError(f"{asked} {name!r} is unknown.{hint} Known: {', '.join(names)}")


class Registry(dict[str, T], Generic[T]):
    """Names to entries of one kind.

    Args:
        kind: what an entry is called in messages, for example ``"model"``.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def __setitem__(self, name: str, entry: T) -> None:
        if name in self:
            raise ValueError(f"{self.kind} {name!r} is registered twice")
        super().__setitem__(name, entry)

    def check_name(self, name: str, reserved: Collection[str] = ()) -> None:
        """Refuse a name that ids of conditions and the command line cannot hold.

        Args:
            name: of what is declared.
            reserved: names that mean something else.

        Raises:
            ValueError: other characters than letters, digits, ``-`` and ``_``, or a reserved name;
                or one that differs from another in case alone.
        """
        if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9_-]*", name):
            raise ValueError(
                f"{self.kind} {name!r}: a name is made of letters, digits, - and _, and begins "
                f"with a letter or digit, like my-{self.kind}"
            )
        taken = {other.lower() for other in (*reserved, *(self.keys() - {name}))}
        if name.lower() in taken:  # names are asked for in any case
            raise ValueError(f"{self.kind} {name!r}: this name has a meaning already; use another")

    def __missing__(self, name: str) -> NoReturn:
        raise UserError(
            f"no {self.kind} is called {name!r}.{did_you_mean(name, self)} "
            f"Known: {', '.join(sorted(self))}"
        )
