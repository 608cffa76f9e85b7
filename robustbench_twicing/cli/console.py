"""The console of every command: nothing that is printed steers the terminal but rich's own style.

Names of models, images and checkpoints' keys come from files; colours, cursor movements and
characters that turn the direction of writing in them are shown as escapes.
"""

from collections.abc import Iterable

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from ..files.printable import printable_lines


class Console(RichConsole):
    """A console that prints what cannot be printed as escapes."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Segments of a renderable, whose text is safe."""
        for segment in super().render(renderable, options):
            yield (
                segment if segment.control else segment._replace(text=printable_lines(segment.text))
            )
