"""Constants and papers, read from constructors."""

from typing import Any

import pytest

from attacks.libraries.signatures import constants_of, source_of


class Attack:
    """A constructor with arguments of all kinds."""

    def __init__(
        self,
        model: Any,
        eps: float = 8 / 255,
        steps: int = 10,
        rel: float = 0.5,
        start: bool = True,
        loss: str = "ce",
        seed: int = 3,
        verbose: bool = False,
        norm: str = "Linf",
        inner: Any = None,
        needed: Any = ...,
    ) -> None:
        """Not called."""


def test_plain_defaults_are_constants_with_the_block_first() -> None:
    found = constants_of(Attack)
    assert found == {"block": 32, "steps": 10, "rel": 0.5, "start": True, "loss": "ce"}
    assert next(iter(found)) == "block"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[https://arxiv.org/abs/1706.06083]", "https://arxiv.org/abs/1706.06083"),
        ("See http://arxiv.org/abs/1706.06083.", "http://arxiv.org/abs/1706.06083"),
        ("https://arxiv.org/pdf/1706.06083v2, page 3", "https://arxiv.org/pdf/1706.06083v2"),
        ("by hand", "https://example.org"),
        (None, "https://example.org"),
    ],
)
def test_the_paper_is_the_docstrings_or_the_library(text: str | None, wanted: str) -> None:
    made = type("Made", (), {"__doc__": text})
    assert source_of(made, "https://example.org") == wanted
