"""What a script may give to `evaluate`, and that its numbers are the command line's."""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import torchattacks
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from attacks import fgsm, pgd, spsa, spsa_any
from robustbench_twicing import evaluate, load_model, results
from robustbench_twicing.cli.api import EvaluatedRun
from robustbench_twicing.cli.app import main
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.conditions.threat_model import PROTOCOLS, ThreatModel
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import BrokenAttackError, UserError
from tests.tiny import Linear, convnet, noise

MODEL, DATA = "fmnist_twicing=bundled", "fashion-mnist:test1000"
COLUMNS = ["condition", "image", "target", "prediction", "rank", "loss", "linf"]


def away(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """An attack that takes nothing but the batch: the whole budget up."""
    return (x + 4 / 255).clamp(max=1)


def drawn(model: nn.Module, x: Tensor, y: Tensor, *, eps: float) -> Tensor:
    """An attack that draws from the global random state."""
    return (x + eps * torch.rand(x.shape).sub(0.5).sign()).clamp(0, 1)


def fails(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    raise ValueError("it cannot")


@pytest.fixture(scope="module")
def tensors() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(256, (6, 3, 8, 8), generator=generator, dtype=torch.uint8)
    return images, torch.tensor([0, 1, 0, 1, 0, 1])


@pytest.fixture(scope="module")
def command_line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pgd, spsa and a corruption of one bundled model, by the command line."""
    out = tmp_path_factory.mktemp("command") / "run"
    command = ["eval", "--model", MODEL, "--data", DATA, "--limit", "12", "--out", str(out)]
    command += ["--attacks", "clean,pgd,fgsm,spsa,imagenet-c/fog/3", "--eps", "2/255"]
    status = main([*command, "--spsa-steps", "2", "--spsa-samples", "2"])
    assert status == 0
    return out


@pytest.mark.slow
def test_python_and_command_line_give_the_same_numbers_image_by_image(command_line: Path) -> None:
    run = evaluate(
        MODEL,
        DATA,
        {
            "clean": None,
            "pgd@2/255": partial(pgd, eps=2 / 255),
            "fgsm@2/255": None,
            "spsa@2/255": partial(spsa, eps=2 / 255, steps=2, samples=2),
            "imagenet-c/fog/3": None,
        },
        limit=12,
    )
    theirs = results(command_line)
    ours = run.results()
    same = [name for name in theirs.columns if name not in ("seconds",)]
    pd.testing.assert_frame_equal(ours[same], theirs[same])
    recorded = pd.concat(
        pd.read_parquet(path) for path in sorted(command_line.rglob("*.parquet"))
    ).astype(dict.fromkeys(("condition", "image"), str))
    ours_, theirs_ = (
        frame[COLUMNS].astype({"condition": str}).sort_values(COLUMNS[:2], ignore_index=True)
        for frame in (run.images(), recorded)
    )
    pd.testing.assert_frame_equal(ours_, theirs_)
    assert (run.folder.path / "results.csv").exists()


@pytest.mark.slow
def test_a_list_of_names_is_what_the_command_line_means(command_line: Path) -> None:
    run = evaluate(MODEL, DATA, ["clean", "pgd@2/255", "imagenet-c/fog/3"], limit=12)
    theirs = results(command_line).set_index("condition")["top1"]
    ours = run.results().set_index("condition")["top1"]
    assert ours.to_dict() == theirs[ours.index].to_dict()


def test_a_bare_module_takes_pixels(tensors: tuple[Tensor, Tensor]) -> None:
    network = Linear().train()
    run = evaluate(network, tensors, ["clean", "fgsm@4/255"])
    x, y = tensors
    right = (network(x.float() / 255).argmax(1) == y).float().mean()
    assert run.results()["top1"][0] == pytest.approx(100 * float(right))
    assert network.training
    assert run.results()["model"].tolist() == ["Linear"] * 2
    record = run.folder.manifest.evaluations[0].record
    assert len(record.weights_sha256) == 64


def test_mean_and_std_are_of_a_network_that_takes_normalised_input(
    tensors: tuple[Tensor, Tensor],
) -> None:
    network, mean, std = Linear(), (0.4, 0.5, 0.6), (0.2, 0.25, 0.3)
    run = evaluate(network, tensors, mean=mean, std=std)
    x, y = tensors
    wide = [torch.tensor(values).view(3, 1, 1) for values in (mean, std)]
    right = (network((x.float() / 255 - wide[0]) / wide[1]).argmax(1) == y).float().mean()
    assert run.results()["top1"][0] == pytest.approx(100 * float(right))


def test_a_modules_parameters_are_as_they_were(tensors: tuple[Tensor, Tensor]) -> None:
    network = nn.Sequential(nn.Flatten(), nn.Linear(192, 2)).train()
    evaluate(network, tensors, "fgsm@1/255")
    assert network.training
    assert all(parameter.requires_grad for parameter in network.parameters())
    assert all(parameter.grad is None for parameter in network.parameters())


def forms(x: Tensor, y: Tensor) -> Iterator[Any]:
    yield x, y
    yield x.float() / 255, y.numpy()
    yield [x.numpy(), y.tolist()]
    yield TensorDataset(x.float() / 255, y)
    yield Pairs(x, y)
    yield DataLoader(TensorDataset(x, y), batch_size=4)


class Pairs(torch.utils.data.Dataset[Any]):
    """Pictures and plain labels, as torchvision's sets without a transform give them."""

    def __init__(self, x: Tensor, y: Tensor) -> None:
        self.x, self.y = x, y

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Image.Image, int]:
        return Image.fromarray(self.x[index].permute(1, 2, 0).numpy()), int(self.y[index])


@pytest.mark.slow
def test_all_forms_of_the_same_images_give_the_same_records(tensors: tuple[Tensor, Tensor]) -> None:
    first, *others = (
        evaluate(Linear(), data, ["clean", "pgd@4/255"]).images()[COLUMNS]
        for data in forms(*tensors)
    )
    assert len(others) == 5
    for other in others:
        pd.testing.assert_frame_equal(first, other)


def test_a_data_set_and_a_limit_are_as_before() -> None:
    run = evaluate(convnet(), noise(9), "clean", limit=4)
    assert run.results()["flags"].tolist() == ["limit-4-of-9"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x, y: (x.clamp(1, 250).float() / 255 + 0.001, y), "no multiples of 1/255"),
        (lambda x, y: (x.float(), y), r"pixels go from \d+ to 255"),
        (lambda x, y: (x.float() / 127.5 - 1, y), "give pixels, and mean= and std="),
        (lambda x, y: (x.half() / 255, y), "images are float16"),
        (lambda x, y: (x[:, :2], y), "have the shape"),
        (lambda x, y: (x, y[:3]), "6 images have 3 labels"),
        (lambda x, y: (x, y.float()), "labels are float32"),
        (lambda x, y: (x, y - 1), "label -1 is not a class"),
        (lambda x, y: (x[:, :, :6], y), "8 x 6 pixels, and have to be square"),
        (lambda x, y: DataLoader(TensorDataset(x, y), shuffle=True), "the DataLoader shuffles"),
        (lambda x, y: DataLoader(TensorDataset(x, y), drop_last=True), "leaves images out"),
        (lambda x, y: (x.float() * float("nan"), y), "pixels go from nan"),
        (lambda x, y: (x, torch.eye(6, dtype=torch.int64)), r"of shape \(6, 6\)"),
        (lambda x, y: TensorDataset(x), "do not give pairs of an image and a label"),
    ],
)
def test_images_that_are_not_what_they_must_be(
    change: Any, words: str, tensors: tuple[Tensor, Tensor]
) -> None:
    with pytest.raises(UserError, match=words):
        evaluate(Linear(), change(*tensors))


def test_images_of_another_size_than_a_models_are_refused(tensors: tuple[Tensor, Tensor]) -> None:
    with pytest.raises(UserError, match="8 x 8 pixels, the model takes 28 x 28"):
        evaluate(load_model("fmnist_deit", "bundled"), tensors)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((3, noise(3)), "a model is a Classifier .* not int"),
        ((convnet(), 3), "data is a folder, .* not int"),
        ((convnet(), (1, 2, 3)), "data is a folder, .* not tuple"),
        ((convnet(), noise(3), 3), "conditions are names .* not int"),
        ((convnet(), noise(3), {"clean": 3}), "'clean' is given int"),
        ((convnet(), noise(3), [3]), "not a name that is int"),
    ],
)
def test_a_type_error_names_what_is_accepted(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        evaluate(*arguments)


def test_what_contradicts_itself_is_refused(tensors: tuple[Tensor, Tensor]) -> None:
    with pytest.raises(UserError, match="a Classifier has its own"):
        evaluate(convnet(), noise(3), mean=(0.5,) * 3, std=(0.5,) * 3)
    with pytest.raises(UserError, match="give both mean and std"):
        evaluate(Linear(), tensors, mean=(0.5,) * 3)
    with pytest.raises(UserError, match="leave num_classes out"):
        evaluate(convnet(), "samples:imagenet", num_classes=77)
    with pytest.raises(UserError, match="Linear has 2 classes, tensors needs 3"):
        evaluate(Linear(), tensors, num_classes=3)


def test_the_model_and_the_folder_are_named_as_asked(tmp_path: Path) -> None:
    evaluate(convnet(), noise(5), ["clean"], out=tmp_path / "run", label="mine")
    table = results(tmp_path / "run")
    assert table["label"].tolist() == ["mine"]
    written = pd.read_csv(tmp_path / "run" / "results.csv")
    assert written["top1"].tolist() == table["top1"].tolist()


def test_functions_of_the_package_are_the_command_lines_attacks() -> None:
    run = evaluate(
        convnet(),
        noise(5),
        {
            "pgd@4/255": partial(pgd, eps=4 / 255, steps=3),
            "mine@4/255": partial(pgd, steps=3),
            "spsa-any@4/255": partial(spsa_any, steps=2, samples=2),
            "paper@4/255": partial(pgd, steps=3, threat=PROTOCOLS["paper"].threat),
        },
    )
    first, named, any_, paper = run.folder.manifest.conditions
    assert first.settings == {"steps": 3, "rel_step": 0.15, "random_start": True, "restarts": 1}
    assert first.changed == {"steps": 20}
    assert (named.attack, named.about.title) == ("mine", "PGD-{steps}")
    assert any_.settings["samples"] == 2
    assert any("spsa-any leaves" in note for note in any_.notes)
    assert (paper.protocol, paper.threat) == ("paper", PROTOCOLS["paper"].threat)
    images = run.images().set_index(["condition", "image"])["loss"]
    assert images["pgd@4/255"].tolist() == images["mine@4/255"].tolist()


def test_a_function_of_ones_own_is_recorded_whole() -> None:
    bound = partial(fgsm, generator=None, eps=1 / 255)
    run = evaluate(convnet(), noise(3), {"mine@4/255": drawn, "fgsm@1/255": bound})
    mine, _ = run.folder.manifest.conditions
    assert mine.settings["function"] == f"{__name__}.drawn"
    assert len(mine.code_sha256) == 64
    assert mine.threat == PROTOCOLS["pixel"].threat


def test_global_random_state_is_seeded_and_put_back() -> None:
    model, data = convnet(), noise(5)
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    first, second = (evaluate(model, data, {"mine@4/255": drawn}).images() for _ in range(2))
    assert torch.equal(torch.rand(1), expected)
    pd.testing.assert_frame_equal(first[COLUMNS], second[COLUMNS])


def test_an_attack_of_torchattacks_works_as_it_is(tensors: tuple[Tensor, Tensor]) -> None:
    classifier = convnet()
    attack = torchattacks.FGSM(classifier, eps=4 / 255)
    run = evaluate(classifier, noise(9), {"theirs@4/255": attack, "fgsm@4/255": None})
    theirs, ours, worst = run.results()["top1"]
    assert theirs == ours == worst
    network = Linear()
    on_pixels = evaluate(
        network, tensors, {"theirs@4/255": torchattacks.FGSM(network, eps=4 / 255)}
    )
    assert on_pixels.results()["status"].tolist() == ["ok"]
    with pytest.raises(UserError, match="attacks another model than the one that is evaluated"):
        evaluate(convnet(), noise(3), {"theirs@4/255": attack})
    with pytest.raises(UserError, match="id and function must say the same budget"):
        evaluate(classifier, noise(3), {"theirs@8/255": attack})


def test_a_threat_model_of_no_protocol_is_refused() -> None:
    odd = partial(pgd, eps=1 / 255, threat=ThreatModel("normalized", clip=True))
    with pytest.raises(UserError, match="has a threat model of no protocol"):
        evaluate(convnet(), noise(3), {"pgd@1/255": odd})


def test_a_run_is_not_continued_with_a_function_without_a_name(tmp_path: Path) -> None:
    out = tmp_path / "run"
    for _ in range(2):
        evaluate(convnet(), noise(3), {"mine@4/255": away}, out=out)
    anonymous = {"mine@4/255": lambda model, x, y: x}
    with pytest.raises(UserError, match="a function that has no name"):
        evaluate(convnet(), noise(3), anonymous, out=out)
    assert evaluate(convnet(), noise(3), anonymous, out=tmp_path / "fresh").complete


class Upside(Linear):
    """The same weights, and another answer."""

    def forward(self, x: Tensor) -> Tensor:
        return -super().forward(x)


def test_a_module_of_equal_weights_and_other_code_is_another_model(
    tensors: tuple[Tensor, Tensor], tmp_path: Path
) -> None:
    Upside.__name__ = "Linear"
    out = tmp_path / "run"
    evaluate(Linear(), tensors, out=out)
    evaluate(Linear(), tensors, out=out)
    with pytest.raises(UserError, match="the code of model Linear has changed"):
        evaluate(Upside(), tensors, out=out)


def test_arguments_are_bound_by_keyword(tensors: tuple[Tensor, Tensor]) -> None:
    with pytest.raises(UserError, match="bind by keyword"):
        evaluate(Linear(), tensors, {"mine@4/255": partial(drawn, Linear())})
    with pytest.raises(UserError, match=r"mean=\(0.5,\) is not three numbers"):
        evaluate(Linear(), tensors, mean=(0.5,), std=(0.5,))  # type: ignore[arg-type]


def test_an_attack_that_fails_is_a_row_or_an_error() -> None:
    run = evaluate(convnet(), noise(3), {"mine@4/255": fails})
    assert run.results()["status"].tolist() == ["error"]
    with pytest.raises(BrokenAttackError, match=r"mine@4/255 at .*ValueError: it cannot"):
        evaluate(convnet(), noise(3), {"mine@4/255": fails}, strict=True)


def test_a_run_shows_itself() -> None:
    run = evaluate(convnet(), noise(5), ["clean", "fgsm@4/255"])
    assert isinstance(run, EvaluatedRun)
    assert re.search(r"fgsm@4/255\s+5\s+[\d.]+", repr(run))
    assert "<td" in run._repr_html_()
    images = run.images()
    top1 = images.groupby("condition", observed=True)["right"].mean() * 100
    assert top1.to_dict() == dict(
        zip(run.results()["condition"], run.results()["top1"], strict=True)
    )


def test_progress_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    steps: list[Any] = []
    evaluate(convnet(), noise(5), [clean()], progress=steps.append)
    assert sum(step.images for step in steps) == 5
    evaluate(convnet(), noise(5), [clean()])
    assert capsys.readouterr().err == ""


def test_a_temporary_run_lasts_as_long_as_it_is_held() -> None:
    run = evaluate(convnet(), noise(3))
    path = run.folder.path
    assert json.loads((path / "run.json").read_text())["seed"] == 0
    del run
    assert not path.exists()


def test_the_same_images_from_files_and_from_memory_have_the_same_pixels() -> None:
    dataset = open_dataset(DATA, limit=4)
    model = load_model("fmnist_deit", "bundled")
    x = np.stack([dataset.pixels(index, model.preprocessing) for index in range(4)])
    in_memory = evaluate(model, (x.transpose(0, 3, 1, 2), np.array(dataset.labels)), "fgsm@1/255")
    from_files = evaluate(model, dataset, "fgsm@1/255")
    for name in ("prediction", "loss", "pixels_sha256"):
        assert in_memory.images()[name].tolist() == from_files.images()[name].tolist()
