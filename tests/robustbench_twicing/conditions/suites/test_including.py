"""A suite may include others: each under its own protocol, nothing twice."""

from pathlib import Path

import pytest

from robustbench_twicing.conditions.suites import Suite, load_suite
from robustbench_twicing.errors import UserError


def load(text: str, tmp_path: Path) -> Suite:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return load_suite(str(path))


def test_full_is_all_of_the_others() -> None:
    full = load_suite("full").conditions
    found = [
        (item.attack or "corruption", item.protocol, item.dataset, len(item.eps) or None)
        for item in full
    ]
    assert found == [
        ("clean", "pixel", None, None),
        ("fgsm", "pixel", None, 7),
        ("pgd", "pixel", None, 7),
        ("spsa", "pixel", None, 1),
        ("clean", "paper", None, None),
        ("fgsm", "paper", None, 6),
        ("pgd", "paper", None, 6),
        ("spsa", "paper", None, 1),
        ("corruption", None, None, None),
        *(
            ("clean", None, name, None)
            for name in ("imagenet-a", "imagenet-r", "imagenetv2", "imagenet-sketch")
        ),
    ]
    for name in ("pixel", "paper"):
        own = [item for item in full if item.protocol == name]
        plain = load_suite(name).conditions
        assert [(item.attack, item.eps) for item in own] == [
            (item.attack, item.eps) for item in plain
        ]


def test_own_conditions_come_last(tmp_path: Path) -> None:
    suite = load(
        "protocol: paper\ninclude: [quick, quick]\nconditions:\n- {attack: spsa, eps: [1/255]}\n",
        tmp_path,
    )
    assert [item.attack for item in suite.conditions] == ["clean", "fgsm", "pgd", "noise", "spsa"]
    assert [item.protocol for item in suite.conditions] == ["pixel"] * 4 + [None]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "include: [pixle]\n",
            r"mine\.yaml: the included suite 'pixle' is unknown. Did you mean 'pixel'?",
        ),
        ("include: [other.yaml]\n", r"the included suite 'other\.yaml' is unknown"),
        ("include: [full]\n", "includes full, which includes others itself"),
        ("include: []\n", "a suite has at least one condition"),
        ("include: 3\n", r"mine\.yaml:1: include: "),
    ],
)
def test_what_cannot_be_included(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=words):
        load(text, tmp_path)
