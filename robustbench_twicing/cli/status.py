"""Exit statuses of the command line."""

DONE = 0
MISTAKE = 1
"""The user's mistake or a bad value; one line on standard error says what would be right."""
UNKNOWN = 2
"""An unknown option or command."""
ERROR_ROWS = 3
"""Finished, but with conditions that failed and are not scored."""
INCOMPLETE = 4
"""Interrupted, or images are missing."""


class StoppedError(Exception):
    """A signal ended the work; the message says how to go on."""
