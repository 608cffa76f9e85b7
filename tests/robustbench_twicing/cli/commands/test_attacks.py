"""attacks lists what can be run."""

import pytest

from attacks import ATTACKS
from robustbench_twicing.cli.app import main


def test_every_attack_is_listed_with_source_and_constants(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["attacks"]) == 0
    out = capsys.readouterr().out
    for name, spec in ATTACKS.items():
        assert f"{name}: {spec.norms}, {spec.knowledge}" in out
        assert spec.source in out
    assert "steps 20, rel_step 0.15" in out
    assert "under protocol paper: estimate_at twice-the-image" in out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the libraries' own imports
def test_attacks_of_libraries_are_listed_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attacks", "--library"]) == 0
    out = capsys.readouterr().out
    assert "torchattacks:PGD: L-infinity, white box" in out
    assert "torchattacks:APGD: L-infinity, L2, white box" in out
    assert "foolbox:L2PGD: L2, white box" in out
    assert "autoattack: L-infinity, L2, white box" in out
