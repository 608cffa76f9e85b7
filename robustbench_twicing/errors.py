"""The two kinds of failure that are not bugs, and what is said of modules that have moved."""

import sys
from collections.abc import Mapping
from importlib.abc import MetaPathFinder


class UserError(Exception):
    """A mistake of the caller: one line saying what was asked, what is wrong, what would be right.

    The command line prints the line and exits with status 1.
    """


class UnreadableError(UserError):
    """The system does not hand out a file that was there: a mount that is gone, a broken disk.

    It says nothing of the image, so it ends the run; no record is made of it.
    """


class ModelChangedError(UserError):
    """An attack changed the model for good: nothing computed with it afterwards can be trusted."""


class MissingImageError(UserError):
    """A condition has no counterpart of a clean image, as in a download that is not complete."""


class BrokenAttackError(Exception):
    """An attack returned something that must not be scored (NaN, outside its ball, a wrong shape).

    The runner turns it into an error row; it never counts as a robust image.
    """


class MovedModules(MetaPathFinder):
    """Answers the import of a module that has moved in one line that names its new place.

    Args:
        package: that asks for it; from then on its old names are answered.
        moved: old name to new, both below the package.
    """

    def __init__(self, package: str, moved: Mapping[str, str]) -> None:
        self.places = {f"{package}.{old}": f"{package}.{new}" for old, new in moved.items()}
        sys.meta_path.append(self)

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """No module; asked only after everything that could find one.

        Raises:
            ModuleNotFoundError: the name is an old one.
        """
        self.check(fullname)

    def check(self, fullname: str) -> None:
        """Nothing, unless the name is an old one.

        Raises:
            ModuleNotFoundError: it is.
        """
        if fullname in self.places:
            raise ModuleNotFoundError(
                f"{fullname} has moved: import from {self.places[fullname]}", name=fullname
            )
