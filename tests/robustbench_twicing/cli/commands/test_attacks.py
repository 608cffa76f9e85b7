"""attacks lists what can be run."""

import pytest

from attacks import ATTACKS
from robustbench_twicing.cli.app import main
from robustbench_twicing.data.imagenet_c import CATEGORIES


def test_every_attack_is_listed_with_source_and_constants(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["attacks"]) == 0
    out = capsys.readouterr().out
    for name, spec in ATTACKS.items():
        assert f"{name}: {spec.norms}; knowledge: {spec.knowledge}" in out
        assert spec.source in out
    assert "steps 20, rel_step 0.15" in out
    assert "under protocol paper: estimate_at twice-the-image" in out


def test_the_order_is_that_of_names_and_of_imagenet_c(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attacks"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.partition(":")[0] for line in lines if "; knowledge: " in line]
    assert names == [*sorted(set(ATTACKS) - {"noise"}), "noise"]
    shown = [line.removeprefix("corruptions, ") for line in lines if line.startswith("corruptions")]
    assert shown == [f"{group}: {', '.join(names)}" for group, names in CATEGORIES.items()]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the libraries' own imports
def test_attacks_of_libraries_are_listed_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attacks", "--library"]) == 0
    out = capsys.readouterr().out
    assert "torchattacks:PGD: L-infinity; knowledge: white box" in out
    assert "torchattacks:APGD: L-infinity, L2; knowledge: white box" in out
    assert "foolbox:L2PGD: L2; knowledge: white box" in out
    assert "autoattack: L-infinity, L2; knowledge: white box" in out
