"""Networks from a user's own code, and every way in which that can fail."""

import os
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from robustbench_twicing.checkpoints.state_dict import file_sha256
from robustbench_twicing.classifiers.loading import load_model
from robustbench_twicing.classifiers.user_code import is_user_code, load_user_network
from robustbench_twicing.errors import UserError

SOURCE = """
from dataclasses import dataclass

import torch
from torch import nn

from sibling import WIDTH

@dataclass
class Sizes:
    width: int = WIDTH

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = Sizes()
        self.bn = nn.BatchNorm2d(3)
        self.head = nn.Linear(3, self.sizes.width)
        self.train()

    def forward(self, x):
        return self.head(self.bn(x).mean((2, 3)))

def build():
    return Net()

def wrong():
    return {"model": Net()}

def fails():
    raise RuntimeError("first line\\nno weights in /data")

def leaves():
    raise SystemExit(3)

def needs(argument):
    return Net()

instance = Net()
number = 7
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A user's file beside a module that it imports."""
    (tmp_path / "sibling.py").write_text("WIDTH = 4\n")
    path = tmp_path / "my_model.py"
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a/b.py:build", True),
        ("package.module:build", True),
        ("timm:resnet18", False),
        ("timm:hf-hub:me/net", False),
        ("hf-hub:me/net", False),
        ("deit_tiny_twicing_patch16_224[10-12]", False),
    ],
)
def test_what_is_user_code(name: str, expected: bool) -> None:
    assert is_user_code(name) == expected


@pytest.mark.parametrize("function", ["build", "Net"])
def test_a_function_or_class_of_a_file(function: str, file: Path) -> None:
    path = list(sys.path)
    random = torch.random.get_rng_state()
    classifier = load_model(f"{file}:{function}")
    assert sys.path == path
    files = [str(getattr(module, "__file__", "")) for module in sys.modules.values()]
    assert not [name for name in files if name.startswith(str(file.parent))]
    assert torch.equal(torch.random.get_rng_state(), random)
    assert classifier(torch.rand(2, 3, 8, 8)).shape == (2, 4)
    assert not any(module.training for module in classifier.modules())
    record = classifier.record
    assert (record.model, record.family) == (f"{file}:{function}", "user")
    assert record.checkpoint == "user code"
    assert len(record.checkpoint_sha256) == len(record.weights_sha256) == 64
    assert "resized to 256 (bicubic) and cropped to 224" in record.notes[0]


def test_two_files_have_their_own_siblings(tmp_path: Path) -> None:
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "sibling.py").write_text(f"WIDTH = {number}\n")
        (folder / "net.py").write_text(SOURCE)
        network = load_user_network(f"{folder}/net.py:build").network
        assert network.get_submodule("head").out_features == number


@pytest.mark.slow
def test_the_text_of_the_file_runs_and_not_bytecode_of_a_text_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "network.py"
    for width in (3, 4):
        file.write_text(f"from torch import nn\n\ndef build():\n    return nn.Linear(2, {width})\n")
        os.utime(file, (1, 1))  # Python takes a text of the same second and length for the same
        network = load_user_network(f"{file}:build").network
        assert isinstance(network, nn.Linear)
        assert network.out_features == width


def test_the_hash_covers_what_is_imported_from_beside_the_file(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(
        "import torch\nfrom parts import WIDTH\ndef net(): return torch.nn.Identity()\n"
    )
    alone = tmp_path / "alone.py"
    alone.write_text("import torch\ndef net(): return torch.nn.Identity()\n")
    hashes = []
    for width in (1, 1, 2):
        (tmp_path / "parts.py").write_text(f"WIDTH = {width}\n")
        hashes.append(load_user_network(f"{file}:net").file_sha256)
    assert hashes[0] == hashes[1] != hashes[2]
    assert load_user_network(f"{alone}:net").file_sha256 == file_sha256(alone)


@pytest.mark.slow
def test_a_package_of_an_environment_below_the_folder_stays_imported(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = file.parent / ".venv"
    environment.mkdir()
    (environment / "a_package_of_everybody.py").write_text("")
    monkeypatch.syspath_prepend(environment)
    file.write_text("import a_package_of_everybody\n" + SOURCE)
    load_user_network(f"{file}:build")
    assert sys.modules.pop("a_package_of_everybody", None) is not None


def test_a_module_from_the_working_folder(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    network = load_user_network("my_model:build").network
    assert network.get_submodule("head").out_features == 4
    assert "my_model" not in sys.modules
    assert isinstance(load_user_network("torch.nn:Identity").network, nn.Identity)


def test_pixels_reach_the_network_unless_it_asks_for_normalised_input(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text("from torch import nn\nclass Net(nn.Flatten): pass\n")
    x = torch.rand(2, 3, 4, 4)
    assert torch.equal(load_model(f"{path}:Net")(x), x.flatten(1))
    mean, std = (0.1, 0.2, 0.3), (0.5, 0.6, 0.7)
    classifier = load_model(f"{path}:Net", normalize=(mean, std))
    expected = (x - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)
    assert torch.equal(classifier(x), expected.flatten(1))
    assert classifier.preprocessing.mean == mean
    with pytest.raises(UserError, match=r"given pixels, so mean and std would be unused"):
        load_model(f"{path}:Net", mean=mean)


def test_preprocessing_is_what_the_user_says(file: Path) -> None:
    classifier = load_model(f"{file}:build", crop=112, interpolation="bilinear")
    parts = classifier.preprocessing
    assert (parts.crop, parts.resize, parts.interpolation) == (112, 128, "bilinear")
    assert classifier.record.notes == (
        "Preprocessing by request: crop 112 instead of 224, resize 128 instead of 256, "
        "interpolation bilinear instead of bicubic.",
    )


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        (":wrong", "returned a dict; it must return a torch.nn.Module"),
        (":missing", "there is no missing in .*my_model.py; it has Sizes, Net, build, "),
        (":number", "number is a int, not a function"),
        (":instance", "instance is a Net, not a function"),
        (":fails", "failed when called: RuntimeError: no weights in /data$"),
        (":leaves", "failed when called: SystemExit: 3"),
        (":needs", "failed when called: TypeError: .*'argument'"),
        (":", "does not name a function; write it like path/file.py:function"),
    ],
)
def test_a_mistake_in_user_code_is_one_line(tail: str, words: str, file: Path) -> None:
    with pytest.raises(UserError, match=words) as caught:
        load_model(f"{file}{tail}")
    assert "\n" not in str(caught.value)


def test_the_original_error_stays_as_the_cause(file: Path) -> None:
    with pytest.raises(UserError) as caught:
        load_model(f"{file}:fails")
    cause = caught.value.__cause__
    assert isinstance(cause, RuntimeError)
    assert cause.__traceback__ is not None


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import does_not_exist_here", "ModuleNotFoundError: No module named"),
        ("def f(:", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError"),
        ("import sys; sys.exit(2)", "SystemExit: 2"),
    ],
)
def test_a_file_that_cannot_be_imported_leaves_nothing_behind(
    source: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "net.py"
    path.write_text(source)
    search, modules = list(sys.path), set(sys.modules)
    with pytest.raises(UserError, match=f"cannot be imported: {words}"):
        load_model(f"{path}:build")
    assert sys.path == search
    assert set(sys.modules) == modules


@pytest.mark.parametrize("name", ["no/such/file.py:build", "no_such_module_here:build"])
def test_what_is_not_there_is_said(name: str) -> None:
    with pytest.raises(UserError, match=r"no file|No module named"):
        load_model(name)


@pytest.mark.slow
def test_a_checkpoint_for_user_code_is_loaded_strictly(file: Path, tmp_path: Path) -> None:
    network = load_user_network(f"{file}:build").network
    state_dict = {key: torch.ones_like(value) for key, value in network.state_dict().items()}
    torch.save({"epoch": 3, "state_dict": state_dict}, tmp_path / "own.pth")
    classifier = load_model(f"{file}:build", str(tmp_path / "own.pth"))
    assert classifier.network.get_parameter("head.weight").eq(1).all()
    assert classifier.record.checkpoint == str(tmp_path / "own.pth")
    assert classifier.record.details["epoch"] == 3
    del state_dict["head.bias"]
    torch.save(state_dict, tmp_path / "own.pth")
    with pytest.raises(UserError, match=r"missing head\.bias"):
        load_model(f"{file}:build", str(tmp_path / "own.pth"))
    for checkpoint in ("random:0", "pretrained"):
        with pytest.raises(UserError, match="your own code"):
            load_model(f"{file}:build", checkpoint)


@pytest.mark.slow
def test_the_example_takes_weights_as_robustbench_keeps_them(tmp_path: Path) -> None:
    """A look-alike of its files: torchvision's keys behind the prefixes of two wrappers."""
    example = Path(__file__).parents[3] / "examples" / "robustbench_weights.py"
    name = f"{example}:resnet18"
    state = load_user_network(name).network.state_dict()
    weights = {f"module.model.{key}": tensor + 1 for key, tensor in state.items()}
    torch.save({"state_dict": weights}, tmp_path / "weights.pt")
    half = ((0.5,) * 3, (0.5,) * 3)
    model = load_model(name, tmp_path / "weights.pt", normalize=half)
    assert torch.equal(model.network.state_dict()["fc.bias"], state["fc.bias"] + 1)
    assert model.std.tolist() == [0.5] * 3
