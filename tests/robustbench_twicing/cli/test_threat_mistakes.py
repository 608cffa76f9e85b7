"""Mistakes about norms, distances and survivors: one clear line and exit status 1."""

from pathlib import Path

import pytest

from tests.robustbench_twicing.cli.conftest import Site, one_line

RANDOM = """

class Drawing(Brightness):
    def forward(self, x):
        return super().forward(x) + torch.rand(len(x), 1000)


def drawing():
    return Drawing()
"""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--norm l2 --eps 4/255", ["'4/255'", "was L-infinity meant", "--protocol pixel"]),
        ("--eps l2:0.5", ["'l2:0.5'", "--protocol l2"]),
        ("--protocol pixel --eps l2:0.5", ["'l2:0.5'", "--protocol l2"]),
        ("--eps patch:32", ["'patch:32'", "--protocol patch"]),
        ("--protocol patch --eps 4/255", ["'4/255'", "whole pixels", "--protocol pixel"]),
        ("--protocol patch --eps 1.5", ["'1.5'", "whole pixels, like 32"]),
        ("--protocol patch --eps 9", ["patch@patch:9", "8 x 8 px", "at most 8, like 2"]),
        ("--protocol patch --suite quick", ["of L-infinity", "give --eps", "like patch"]),
        (
            "--protocol patch --attacks pgd --eps 16",
            ["pgd cannot follow protocol patch", "can: noise, patch, patch-random"],
        ),
        ("--attacks patch --eps 16/255", ["patch cannot follow protocol pixel", "knows patch"]),
        ("--attacks patch --eps 32", ["patch cannot follow protocol pixel", "--protocol patch"]),
        (
            "--protocol patch --attacks patch-attention --eps 2",
            ["place attention", "cannot be looked into", "other places are centre, random"],
        ),
        ("--protocol patch --set patch.places=4", ["place centre is one place", "worst-of"]),
        ("--norm l2 --protocol paper --eps 0.5", ["--norm l2", "--protocol paper", "leave one"]),
        ("--attacks fmn --eps 4/255", ["--eps 4/255", "fmn finds distances", "leave --eps out"]),
        ("--survivors --attacks clean", ["--survivors", "no attack"]),
        ("--survivors --corruptions fog --severities 1", ["--survivors", "no attack"]),
    ],
)
def test_a_mistake_about_threats_is_one_line(
    options: str, words: list[str], site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.eval(*options.split()) == 1
    line = one_line(capsys)
    assert all(word in line for word in words), line
    assert not (site.root / "run").exists()


def test_a_network_that_draws_has_no_survivors(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    code = Path(site.model.partition(":")[0])
    code.write_text(code.read_text() + RANDOM)
    drawing = Site(site.root, site.data, f"{code}:drawing")
    assert drawing.eval("--survivors", "--attacks", "fgsm", "--eps", "1/255") == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert "not-deterministic" in line
    assert "leave --survivors out" in line
