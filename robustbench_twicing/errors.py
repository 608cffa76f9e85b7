"""The two kinds of failure that are not bugs."""


class UserError(Exception):
    """A mistake of the caller: one line saying what was asked, what is wrong, what would be right.

    The command line prints the line and exits with status 1.
    """


class UnreadableError(UserError):
    """The system does not hand out a file that was there: a mount that is gone, a broken disk.

    It says nothing of the image, so it ends the run; no record is made of it.
    """


class ModelChangedError(UserError):
    """An attack changed the model: nothing that is computed with it afterwards can be trusted."""


class MissingImageError(UserError):
    """A condition has no counterpart of a clean image, as in a download that is not complete."""


class BrokenAttackError(Exception):
    """An attack returned something that must not be scored (NaN, outside its ball, a wrong shape).

    The runner turns it into an error row; it never counts as a robust image.
    """
