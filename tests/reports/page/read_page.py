"""A page read back by the standard library's parser."""

from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

VOID = {"meta", "img", "br", "wbr", "link", "input", "hr", "source", "base"}


class Element(NamedTuple):
    """A start tag.

    Attributes:
        tag: its name.
        attributes: its attributes, unescaped.
        inside: names of the elements around it, the outermost first.
    """

    tag: str
    attributes: dict[str, str]
    inside: tuple[str, ...]


class Read(HTMLParser):
    """Elements and texts of a page; end tags must match.

    Attributes:
        elements: in order.
        texts: all text outside of style and script, in one string.
        raw: content of style and script elements.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.texts = ""
        self.raw: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice"
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append(Element(tag, attributes, tuple(self._open)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("style", "script"):
            self.raw[self._open[-1]] = self.raw.get(self._open[-1], "") + data
        else:
            self.texts += data

    def all(self, tag: str) -> list[Element]:
        """The elements of a name."""
        return [element for element in self.elements if element.tag == tag]
