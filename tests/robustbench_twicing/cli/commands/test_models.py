"""The models command: names at once, counts when asked."""

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner, Result

from robustbench_twicing.cli.commands import models
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.table import MODELS, list_models


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.callback()(lambda: None)
    models.register(app)
    return CliRunner().invoke(app, ["models", *arguments], catch_exceptions=False)


@pytest.mark.slow
def test_every_name_is_listed_unbroken() -> None:
    words = set(run().output.replace(",", " ").split())
    assert set(MODELS) <= words
    assert set(list_models()) <= words


def test_a_pattern_chooses_by_name_or_alias() -> None:
    output = run("sharp_tiny").output
    assert "deit_tiny_twicing_patch16_224" in output
    assert "NAME[10-12]" in output
    assert "deit_small" not in output
    assert "[10-12]" not in run("deit_tiny_patch16_224").output


@pytest.mark.slow
def test_counts_are_shown_when_asked() -> None:
    words = run("deit_tiny_patch16_224", "--verbose").output.split()
    assert {"5,717,416", "152", "1.254"} <= set(words)
    assert "5,717,416" not in run("deit_tiny_patch16_224").output


@pytest.mark.slow
def test_whatever_model_takes_can_be_looked_up() -> None:
    assert "timm:resnet18" in run("resnet18").output
    output = run("deit_sharp_tiny_patch16_224[10-12]", "-v").output
    assert "deit_tiny_twicing_patch16_224[10-12]" in output
    assert "1.276" in output


def test_a_name_that_nobody_knows_is_explained() -> None:
    with pytest.raises(UserError, match="Did you mean deit_tiny_patch16_224"):
        run("deit_tny_patch16_224")


def test_listing_builds_nothing() -> None:
    code = (
        "import sys; from robustbench_twicing.models.table import list_models;"
        "from robustbench_twicing.models.resolve import resolve_model;"
        "[resolve_model(name) for name in list_models()];"
        "sys.exit('torch' in sys.modules or 'timm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
