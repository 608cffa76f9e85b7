"""A user's own attack from a file: what it may look like, and what it may do wrong."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch

from attacks.libraries import own_attack
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.runner import Run
from tests.tiny import column, convnet, noise, run, table

EPS = Fraction(4, 255)
MINE = """
import random

import numpy as np
import torch


def plain(model, x, y, *, eps, generator):
    return (x + eps).clamp(0, 1)


def with_constants(model, x, y, eps=8 / 255, generator=None, steps=5, share=0.5, up=True, way="a"):
    assert (steps, share, up, way) == EXPECTED, (steps, share, up, way)
    return (x + share * eps).clamp(0, 1)


EXPECTED = (5, 0.5, True, "a")


def open_ended(model, x, y, **more):
    assert set(more) == {"eps", "generator"}
    return (x + more["eps"]).clamp(0, 1)


def from_generator(model, x, y, *, eps, generator):
    assert isinstance(generator, torch.Generator)
    noise = torch.rand(x.shape, generator=generator)
    return (x + eps * (2 * noise - 1)).clamp(0, 1)


def from_globals(model, x, y, *, eps, generator):
    share = (random.random() + np.random.rand() + torch.rand(x.shape)) / 3
    return (x + eps * (2 * share - 1)).clamp(0, 1)


def follows_the_gradient(model, x, y, *, eps, generator):
    x.requires_grad_()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    return (x + eps * x.grad.sign()).clamp(0, 1)


def raises(model, x, y, *, eps, generator):
    raise ZeroDivisionError("no luck")


def leaves(model, x, y, *, eps, generator):
    raise SystemExit(3)


def nan(model, x, y, *, eps, generator):
    return x * float("nan")


def far(model, x, y, *, eps, generator):
    return (x + 1.1 * eps).clamp(0, 1)


def unclipped(model, x, y, *, eps, generator):
    return x + eps


def nothing(model, x, y, *, eps, generator):
    return None


def without_eps(model, x, y, *, generator):
    return x


def without_generator(model, x, y, *, eps):
    return x


def too_few(model, x, *, eps, generator):
    return x


def needs_more(model, x, y, *, eps, generator, target):
    return x


def takes_block(model, x, y, *, eps, generator, block=3):
    return x


def takes_hash(model, x, y, *, eps, generator, sha256=""):
    return x


label_default = lambda model, x, y=0, *, eps, generator, steps=2: x
positional = lambda model, x, y, eps, generator, /, steps=2: x
NUMBER = 3
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return str(path)


def evaluated(name: str, out: Path, count: int = 7, **options: Any) -> Run:
    return run(
        convnet(), noise(count), [clean(), own_attack(name).condition(EPS)], out / "run", **options
    )


def row(name: str, out: Path) -> dict[str, Any]:
    return table(evaluated(name, out))[f"{name}@4/255"]


@pytest.mark.slow
@pytest.mark.parametrize("function", ["plain", "open_ended", "from_generator", "with_constants"])
def test_functions_of_any_such_form_are_run(function: str, file: str, tmp_path: Path) -> None:
    found = row(f"{file}:{function}", tmp_path)
    assert found["status"] == "ok"
    assert found["linf_255_max"] == pytest.approx(2 if function == "with_constants" else 4, abs=0.1)


@pytest.mark.slow
def test_its_loss_rises_where_it_follows_the_gradient(file: str, tmp_path: Path) -> None:
    model = convnet()
    done = evaluated(f"{file}:follows_the_gradient", tmp_path)
    records = done.records()
    rows = records[records["condition"] != "clean"]
    assert (rows["loss"] > rows["clean_loss"]).all()
    assert all(each.grad is None for each in model.parameters())


def test_keywords_with_plain_defaults_are_constants(file: str) -> None:
    spec = own_attack(f"{file}:with_constants")
    constants = dict(spec.settings)
    sha256 = constants.pop("sha256")
    assert constants == {"block": 32, "steps": 5, "share": 0.5, "up": True, "way": "a"}
    assert len(sha256) == 64
    assert sha256[:16] in spec.source
    assert spec.white_box
    assert spec.condition(EPS, overrides={"steps": 7}).changed == {"steps": 5}
    assert set(own_attack(f"{file}:label_default").settings) == {"block", "sha256", "steps"}


@pytest.mark.slow
def test_constants_reach_the_function(file: str, tmp_path: Path) -> None:
    Path(file).write_text(MINE.replace('(5, 0.5, True, "a")', '(7, 0.25, False, "b")'))
    spec = own_attack(f"{file}:with_constants")
    other: Any = {"steps": 7, "share": 0.25, "up": False, "way": "b"}
    done = run(convnet(), noise(3), [spec.condition(EPS, overrides=other)], tmp_path / "run")
    assert column(done, "status") == ["ok"]
    assert column(done, "flags") == ["steps=7;share=0.25;up=False;way=b"]


@pytest.mark.slow
@pytest.mark.parametrize("function", ["from_generator", "from_globals"])
def test_what_it_draws_can_be_repeated(function: str, file: str, tmp_path: Path) -> None:
    name = f"{file}:{function}"
    state = torch.get_rng_state()
    runs = []
    for number, seed in enumerate((0, 0, 1)):
        torch.manual_seed(number)
        done = evaluated(name, tmp_path / str(number), seed=seed)
        runs.append(done.records()["linf"].tolist())
    torch.set_rng_state(state)
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("raises", r"ZeroDivisionError: no luck \(mine.py:\d+\)"),
        ("leaves", r"^tried to leave Python with 3"),
        ("nan", "not finite"),
        ("far", "left its ball of 4/255 by 0.4/255"),
        ("unclipped", r"left the valid range \[0, 1\]"),
        ("nothing", "Error: "),
    ],
)
def test_what_must_not_be_scored_is_an_error_row(
    function: str, message: str, file: str, tmp_path: Path
) -> None:
    done = evaluated(f"{file}:{function}", tmp_path)
    assert column(done, "status") == ["ok", "error"]
    records = done.records()
    messages = records[records["condition"] != "clean"]["message"]
    assert messages.str.contains(message).all(), messages.iloc[0]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("without_eps", "eps"),
        ("without_generator", "generator"),
        ("too_few", "too many positional arguments"),
        ("needs_more", "target"),
        ("takes_block", "block is a constant of the suite"),
        ("takes_hash", "sha256 is a constant of the suite"),
        ("positional", "eps"),
        ("absent", "there is no absent"),
        ("NUMBER", "is a int, not a function"),
    ],
)
def test_a_function_that_cannot_be_called_is_said_at_once(
    function: str, words: str, file: str
) -> None:
    with pytest.raises(UserError, match=words) as caught:
        own_attack(f"{file}:{function}")
    assert "\n" not in str(caught.value)
    assert function in str(caught.value)


def test_a_builtin_without_a_signature_is_said_at_once() -> None:
    with pytest.raises(UserError, match="cannot be called"):
        own_attack("builtins:max")


def test_it_follows_protocol_pixel_only(file: str) -> None:
    with pytest.raises(UserError, match="cannot follow protocol paper; it knows pixel"):
        own_attack(f"{file}:plain").condition(EPS, "paper")


def test_another_text_of_the_file_is_another_attack(file: str) -> None:
    first = own_attack(f"{file}:plain").settings["sha256"]
    Path(file).write_text(MINE + "\n")
    assert own_attack(f"{file}:plain").settings["sha256"] != first
