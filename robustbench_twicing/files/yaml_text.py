"""YAML that is data as it is written, and refused in one line where it is anything else."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import yaml

from ..errors import UserError


class YamlMapping(NamedTuple):
    """What a text holds, and where.

    Attributes:
        values: by key.
        node: the same as YAML's parser sees it.
    """

    values: dict[Any, Any]
    node: yaml.Node | None

    def line(self, location: Sequence[Any]) -> int:
        """Line of the deepest part of a location that is in the text, counted from 1.

        Args:
            location: keys and positions, from the outside in, as pydantic names a mistake.
        """
        node = self.node
        for part in location:
            following = None
            if isinstance(node, yaml.MappingNode):
                pairs = ((key, value) for key, value in node.value if key.value == part)
                following = next((value for _, value in pairs), None)
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
                following = node.value[part] if part < len(node.value) else None
            if following is None:
                break
            node = following
        return 1 if node is None else int(node.start_mark.line) + 1


def parse_mapping(text: str, name: str, keys: str) -> YamlMapping:
    """The mapping that a text holds.

    Args:
        text: YAML.
        name: of the file, for messages, like ``suite file own.yaml``.
        keys: what it should hold, in words, for messages.

    Raises:
        UserError: not YAML, a key that is given twice, an alias, or no mapping.
    """
    try:
        node = yaml.compose(text, _Loader)
        values = yaml.load(text, _Loader)
    except _NOT_YAML as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"{name} is not YAML: {reason}") from error
    if not isinstance(values, dict):
        raise UserError(f"{name} is not a mapping; it has the keys {keys}")
    return YamlMapping(values, node)


class _Loader(yaml.SafeLoader):
    """Refuses what makes YAML more than data as it is written.

    A key that is given twice, of which YAML's own rule would silently keep the last; and aliases,
    by which a few lines can stand for billions.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            problem = f"the alias *{event.anchor} is not read here; write out what it stands for"
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                problem = f"{key.value} is given twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
        return super().construct_mapping(node, deep)


_NOT_YAML = (yaml.YAMLError, ValueError, RecursionError, LookupError, AttributeError, TypeError)
"""What PyYAML raises for bad text: ``!!int ''`` is an IndexError, ``!!timestamp x`` another."""
