"""timm's published weights, with a hub that is made up: no test needs a network."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from robustbench_twicing.checkpoints import hub
from robustbench_twicing.checkpoints.state_dict import weights_sha256
from robustbench_twicing.classifiers.loading import load_model
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.build import build_model

TINY = "deit_tiny_patch16_224"


@pytest.fixture(scope="module")
def state_dict() -> dict[str, Tensor]:
    """Weights of a DeiT-tiny."""
    with torch.random.fork_rng(devices=[]):
        return dict(build_model("deit").state_dict())


class Hub:
    """The hub as the tests want it: a cache, and a network that may be down."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cached: Path | None = None) -> None:
        import huggingface_hub

        self.asked: list[Any] = []
        monkeypatch.setattr(
            huggingface_hub,
            "try_to_load_from_cache",
            lambda repository, file: str(cached) if cached else None,
        )
        monkeypatch.setattr(hub, "urlopen", self.refuse)

    def refuse(self, request: Any, timeout: float) -> None:
        self.asked.append((request.full_url, timeout))
        raise OSError("Name or service not known")


@pytest.mark.slow
def test_pretrained_offline_is_one_line_after_one_short_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hub = Hub(monkeypatch)
    with pytest.raises(UserError, match=r"not in the local cache .*Name or service not known\)"):
        load_model(TINY, "pretrained")
    ((url, timeout),) = hub.asked
    assert "timm/deit_tiny_patch16_224.fb_in1k/resolve/main/model.safetensors" in url
    assert timeout <= 5


@pytest.mark.slow
def test_pretrained_is_for_what_timm_has(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub(monkeypatch)
    for name in ("deit_tiny_twicing_patch16_224", "fan_tiny_12_p16_224"):
        with pytest.raises(UserError, match=f"no pretrained weights for {name}"):
            load_model(name, "pretrained")
    assert hub.asked == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [TINY, f"timm:{TINY}"])
def test_pretrained_from_the_cache(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, state_dict: dict[str, Tensor]
) -> None:
    path = tmp_path / "model.safetensors"
    torch.save(state_dict, path)
    hub = Hub(monkeypatch, cached=path)
    record = load_model(name, "pretrained").record
    assert hub.asked == []
    assert record.checkpoint == "pretrained"
    assert record.weights_sha256 == weights_sha256(state_dict)
    assert len(record.checkpoint_sha256) == 64
    assert f"publishes for {TINY}" in record.notes[0]
    with pytest.raises(UserError, match="has 1000 classes"):
        load_model(name, "pretrained", num_classes=10)
