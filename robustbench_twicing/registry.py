"""A plain dict that refuses duplicates and explains a failed look-up."""

from difflib import get_close_matches
from typing import Generic, NoReturn, TypeVar

from .errors import UserError

T = TypeVar("T")


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

    def __missing__(self, name: str) -> NoReturn:
        near = get_close_matches(name, self, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UserError(
            f"no {self.kind} is called {name!r}.{hint} Known: {', '.join(sorted(self))}"
        )
