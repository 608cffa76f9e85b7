"""Other kernels: the same numbers but for rounding, recorded, and off with one option."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu

from robustbench_twicing import build_model, kernels, load_model
from robustbench_twicing.cli import main
from robustbench_twicing.errors import UserError
from robustbench_twicing.kernels import OneDnnLinear, OneDnnLinearGelu, choose_kernels, use_onednn

CPU = torch.device("cpu")
onednn = pytest.mark.skipif(not kernels._has_onednn(), reason="this torch has no oneDNN")
SIZES = {"img_size": 32, "patch_size": 8, "embed_dim": 48, "depth": 2, "num_heads": 3}


def layer(*, bias: bool = True, seed: int = 0) -> nn.Linear:
    torch.manual_seed(seed)
    return nn.Linear(24, 40, bias=bias).requires_grad_(False)


def faster(module: nn.Module) -> nn.Module:
    use_onednn(module)
    return module


def both(bias: bool) -> tuple[nn.Module, nn.Module]:
    return layer(bias=bias), faster(nn.Sequential(layer(bias=bias)))


def gradient(module: nn.Module, x: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    loss = (module(leaf) ** 3).sum()
    return torch.autograd.grad(loss, leaf)[0]


@onednn
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(24,), (1, 24), (7, 24), (2, 5, 24), (2, 3, 4, 24), (0, 24)])
def test_a_linear_layer_is_the_same_but_for_rounding(shape: tuple[int, ...], bias: bool) -> None:
    plain, other = both(bias)
    x = torch.randn(shape)
    torch.testing.assert_close(other(x), plain(x), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(gradient(other, x), gradient(plain, x), rtol=1e-4, atol=1e-4)
    assert other(x).requires_grad is False
    assert other(x.requires_grad_()).requires_grad is True


@onednn
def test_input_that_is_not_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, other = both(bias=True)
    x = torch.randn(6, 24, 5).transpose(1, 2)
    torch.testing.assert_close(other(x), plain(x), rtol=1e-5, atol=1e-5)


@onednn
def test_gelu_in_the_same_pass_is_the_exact_one() -> None:
    plain, x = layer(), torch.linspace(-9, 9, 7 * 24).view(7, 24)
    other = layer()
    other.__class__ = OneDnnLinearGelu
    torch.testing.assert_close(other(x), gelu(plain(x)), rtol=1e-5, atol=1e-5)
    wanted = gradient(nn.Sequential(plain, nn.GELU()), x)
    torch.testing.assert_close(gradient(other, x), wanted, rtol=1e-4, atol=1e-4)


@onednn
@pytest.mark.parametrize("family", ["deit", "twicing", "neutreno", "featscale"])
def test_a_whole_network_has_the_same_logits_gradients_and_keys(family: str) -> None:
    torch.manual_seed(0)
    plain = build_model(family, num_classes=10, **SIZES).eval().requires_grad_(False)
    other = build_model(family, num_classes=10, **SIZES).eval().requires_grad_(False)
    other.load_state_dict(plain.state_dict())
    use_onednn(other)
    assert list(other.state_dict()) == list(plain.state_dict())
    assert {type(each) for each in other.modules()} >= {OneDnnLinear, OneDnnLinearGelu}
    assert not any(type(each) is nn.Linear for each in other.modules())
    x, y = torch.randn(3, 3, 32, 32), torch.tensor([0, 1, 2])
    with torch.no_grad():
        torch.testing.assert_close(other(x), plain(x), rtol=1e-4, atol=1e-4)
    found, wanted = (_loss_gradient(each, x, y) for each in (other, plain))
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-5)


def _loss_gradient(network: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    return torch.autograd.grad(cross_entropy(network(leaf), y), leaf)[0]


@onednn
def test_what_is_not_frozen_fp32_on_the_cpu_computes_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*arguments: Any) -> Tensor:
        raise AssertionError("the other kernel was used")

    monkeypatch.setattr(kernels, "_pointwise", never)
    plain, x = layer(), torch.randn(3, 24)
    other = faster(nn.Sequential(layer()))
    assert torch.equal(other.double()(x.double()), plain.double()(x.double()))
    plain, other = layer(), faster(nn.Sequential(layer()))
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(other(x), plain(x))
    other.requires_grad_(True)
    other(x).sum().backward()
    assert all(each.grad is not None for each in other.parameters())


@onednn
def test_layers_of_a_subclass_are_left_alone() -> None:
    class Mine(nn.Linear):
        """Somebody's own."""

        def forward(self, input: Tensor) -> Tensor:
            """Something else."""
            return input

    network = faster(nn.Sequential(Mine(2, 2)))
    assert type(network[0]) is Mine  # type: ignore[index]


@onednn
def test_a_logit_that_is_not_a_number_stays_one() -> None:
    _, other = both(bias=True)
    x = torch.zeros(2, 24)
    x[0, 0] = float("nan")
    assert other(x)[0].isnan().all()
    assert other(x)[1].isfinite().all()


@pytest.mark.parametrize(
    ("about", "capability", "device", "expected"),
    [
        ("vendor_id\t: AuthenticAMD", "AVX512", "cpu", "onednn"),
        ("vendor_id\t: AuthenticAMD", "AVX2", "cpu", "plain"),
        ("vendor_id\t: GenuineIntel", "AVX512", "cpu", "plain"),
        ("vendor_id\t: AuthenticAMD", "AVX512", "cuda", "plain"),
        (None, "AVX512", "cpu", "plain"),
    ],
)
@onednn
def test_auto_is_onednn_where_a_gain_was_measured(
    about: str | None,
    capability: str,
    device: str,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    file = tmp_path / "cpuinfo"
    if about is not None:
        file.write_text(about)
    monkeypatch.setattr(kernels, "_CPU_INFO", file)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert choose_kernels("auto", torch.device(device)) == expected
    assert choose_kernels("plain", torch.device(device)) == "plain"


def test_what_cannot_be_done_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"--kernels 'mkl' is unknown; it is auto, plain, onednn"):
        choose_kernels("mkl", CPU)
    with pytest.raises(UserError, match=r"--kernels onednn is for the CPU, .* this is cuda"):
        choose_kernels("onednn", torch.device("cuda"))
    monkeypatch.setattr(kernels, "_has_onednn", lambda: False)
    with pytest.raises(UserError, match=r"with a torch that has oneDNN; .* use auto or plain"):
        choose_kernels("onednn", CPU)
    assert choose_kernels("auto", CPU) == "plain"


@onednn
def test_the_choice_is_recorded() -> None:
    for name in ("plain", "onednn"):
        model = load_model("timm:test_vit", "random:0", kernels=name)
        assert model.record.details["kernels"] == name
        layers = any(isinstance(each, OneDnnLinear) for each in model.modules())
        assert layers == (name == "onednn")


@onednn
def test_a_run_is_not_continued_with_other_kernels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", "--model", "timm:test_vit=random:0", "--data", "samples:imagenet"]
    command += ["--limit", "2", "--attacks", "clean", "--out", str(tmp_path / "run")]
    assert main([*command, "--kernels", "onednn"]) == 0
    assert main([*command, "--kernels", "plain"]) == 1
    assert "kernels: 'onednn' there, 'plain' asked for" in capsys.readouterr().err
