"""verify from the command line: a table per model, and status 3 where an attack disagrees."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from robustbench_twicing.cli.app import main
from tests.robustbench_twicing.cli.conftest import Site

pytestmark = pytest.mark.slow

fgsm, paper = import_module("attacks.fgsm"), import_module("attacks.verification.paper")
MORE = """

class Textured(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weights", torch.sin(torch.arange(192_000)).view(1000, -1))

    def forward(self, x):
        return 0.3 * x.flatten(1) @ self.weights.T


class Single(Textured):
    def forward(self, x):
        return 0.3 * x.flatten(1) @ self.weights.float().T


def textured():
    return Textured()


def single():
    return Single()


def few():
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 1))
"""


@pytest.fixture
def model(site: Site) -> str:
    """A linear network whose gradient is nowhere zero."""
    path = Path(site.model.removesuffix(":build"))
    path.write_text(path.read_text() + MORE)
    return f"{path}:textured"


def verify(site: Site, *arguments: str) -> int:
    crop = ("--crop", "8", "--device", "cpu")
    return main(["verify", "--data", str(site.data), *crop, *arguments])


def verdicts(out: str) -> list[str]:
    """Last cell of every row of the tables."""
    lines = [line for line in out.splitlines() if line[:1] in "│┃|"]
    cells = [line.strip("│┃| ").split("│")[-1].strip() for line in lines]
    return [cell for cell in cells if cell.startswith(("agrees", "DISAGREES", "not run"))]


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.skipif(find_spec("cleverhans") is None, reason="cleverhans is not installed")
def test_on_a_normalised_model_all_rows_agree(
    site: Site, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify(site, "--model", model, "--normalize", "imagenet") == 0
    out = capsys.readouterr().out
    assert [verdict.partition(":")[0] for verdict in verdicts(out)] == ["agrees"] * 9
    assert "textured, 4 images, eps 1/255" in out
    assert "share: of pixels more than 1e-6 apart" in out


def test_a_model_of_pixels_has_no_rows_of_protocol_paper(
    site: Site, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify(site, "--model", model, "--limit", "2", "--eps", "4/255") == 0
    out = capsys.readouterr().out
    verdict_cells = verdicts(out)
    assert verdict_cells.count("not run: the model takes pixels") == 3
    assert len([cell for cell in verdict_cells if cell.startswith("agrees")]) == 6
    assert "textured, 2 images, eps 4/255" in out


def test_without_cleverhans_the_rest_is_compared(
    site: Site, model: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper, "find_spec", lambda name: None)
    assert verify(site, "--model", model, "--normalize", "imagenet") == 0
    verdict_cells = verdicts(capsys.readouterr().out)
    assert verdict_cells.count("not run: cleverhans is not installed") == 3


def test_a_broken_attack_ends_with_status_3_whichever_model_it_is(
    site: Site, model: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: Any = fgsm.step
    monkeypatch.setattr(fgsm, "step", lambda x, g, eps, *rest: whole(x, g, 0.9 * eps, *rest))
    other = model.replace(":textured", ":single")
    models = ("--model", model, "--model", other, "--label", "a", "--label", "[b]")
    assert verify(site, *models) == 3
    out = capsys.readouterr().out
    assert "a, 4 images" in out
    assert "[b], 4 images" in out
    assert verdicts(out).count("DISAGREES") == 2 + 2
    assert "3.9e-04" in out  # a tenth of 1/255


@pytest.mark.skipif(find_spec("cleverhans") is None, reason="cleverhans is not installed")
def test_a_network_of_float32_alone_is_not_compared_in_float64(
    site: Site, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    single = model.replace(":textured", ":single")
    assert verify(site, "--model", single, "--normalize", "imagenet") == 0
    verdict_cells = verdicts(capsys.readouterr().out)
    assert verdict_cells.count("not run: the network does not run in float64") == 1
    assert len([cell for cell in verdict_cells if cell.startswith("agrees")]) == 8


def test_the_photographs_of_foolbox_are_the_default(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["verify", "--model", "timm:test_vit=random:0", "--limit", "1", "--device", "cpu"]
    assert main([*command, "--eps", "0"]) == 0
    assert "1 image, eps 0/255" in capsys.readouterr().out


def test_what_changes_nothing_here_is_no_option(
    site: Site, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ("--suite", "--attacks", "--out", "--shard", "--set", "--protocol", "--workers"):
        assert verify(site, "--model", model, option, "1") == 2, option
        assert f"No such option: {option}" in capsys.readouterr().err
    assert verify(site, "--model", model, "--eps", "1/255,4/255") == 1
    assert "compares at one budget, and --eps 1/255,4/255 has several" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("build", ""),
        (
            "nan",
            "on clean images; check its weights (user code)",
        ),
        ("few", "few has 1 classes, photos needs 1000; they must be the same classes"),
    ],
)
def test_a_model_on_which_nothing_can_be_compared_is_one_line(
    function: str, words: str, site: Site, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = model.replace(":textured", f":{function}")
    assert verify(site, "--model", other) == (1 if words else 0)
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == (1 if words else 0)
