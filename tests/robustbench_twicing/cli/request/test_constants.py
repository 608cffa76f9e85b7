"""Constants from the command line: what they may be, and the mark they leave on a number."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from robustbench_twicing.cli.options.evaluation import EvalOptions
from robustbench_twicing.cli.request.conditions import make_conditions, read_conditions
from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.errors import UserError
from tests.robustbench_twicing.cli.conftest import Site

OWN = """
def mine(model, x, y, *, eps, generator, share=0.5, times=0, shift=-1.5, up=True, way="a"):
    return (x + share * eps).clamp(0, 1)
"""


def make(**options: Any) -> list[Condition]:
    return make_conditions(read_conditions(EvalOptions(**options)))


def conditions(attacks: str, *texts: str, **options: Any) -> list[Condition]:
    return make(attacks=attacks, eps="1/255", set=list(texts), **options)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("pgd.steps=7", 7),
        ("pgd.rel_step=0.5", 0.5),
        ("pgd.rel_step=1", 1.0),
        ("pgd.random_start=FALSE", False),
        ("pgd.random_start=true", True),
        ("spsa.estimate_at=twice-the-image", "twice-the-image"),
        ("spsa.learning_rate=1e-3", 0.001),
        ("pgd-any.steps=3", 3),
        ("torchattacks:APGD.loss=dlr", "dlr"),
        ("torchattacks:PGD.rel_step=0.1", 0.1),
        ("foolbox:LinfPGD.steps=3", 3),
        ("autoattack.version=plus", "plus"),
        ("autoattack.block=8", 8),
    ],
)
def test_a_value_has_the_kind_of_the_constant(text: str, value: object) -> None:
    attack, name = text.split("=")[0].rsplit(".", 1)
    (made,) = conditions(attack, text)
    assert made.settings[name] == value
    assert type(made.settings[name]) is type(value)
    assert list(made.changed) == ([] if value is True else [name])


@pytest.mark.slow
def test_constants_of_an_attack_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "my.attacks.py"
    path.write_text(OWN)
    name = f"{path}:mine"
    texts = ("share=0.25", "times=0", "shift=-1.5", "up=false", "way=b=c")
    (made,) = conditions(name, *(f"{name}.{text}" for text in texts))
    constants = {key: made.settings[key] for key in ("share", "times", "shift", "up", "way")}
    assert constants == {"share": 0.25, "times": 0, "shift": -1.5, "up": False, "way": "b=c"}
    assert set(made.changed) == {"share", "up", "way"}
    for text in ("times=-1", "shift=-2"):
        with pytest.raises(UserError, match="is not a finite number of at least "):
            conditions(name, f"{name}.{text}")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pgb.steps=3", "no attack is called 'pgb'. Did you mean 'pgd'"),
        (".steps=3", "no attack is called ''"),
        (
            "pgd.=3",
            "attack pgd has no constant ''; it has: steps, rel_step, random_start, restarts",
        ),
        ("fgsm.steps=3", "attack fgsm has no constant 'steps'; it has: none"),
        ("pgd=3", "is not ATTACK.CONSTANT=VALUE"),
        ("pgd.steps=", "pgd.steps= is not a whole number"),
        ("pgd.steps=1.5", "pgd.steps=1.5 is not a whole number"),
        ("pgd.steps=-3", "pgd.steps=-3 is not a finite number of at least 1"),
        ("pgd.restarts=0", "pgd.restarts=0 is not a finite number of at least 1"),
        ("pgd.rel_step=-0.1", "is not a finite number of at least 0"),
        ("pgd.rel_step=inf", "is not a finite number of at least 0"),
        ("pgd.rel_step=a", "pgd.rel_step=a is not a number"),
        ("clean.steps=3", "no attack is called 'clean'"),
        ("torchattacks:PGD.alpha=0.1", "has no constant 'alpha'; it has: block, steps"),
    ],
)
def test_a_mistake_is_one_line(text: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        conditions("clean,fgsm,pgd", text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("option", "attack"), [("restarts", "pgd"), ("spsa_steps", "spsa"), ("spsa_samples", "spsa")]
)
def test_options_with_names_of_their_own_are_constants(option: str, attack: str) -> None:
    options: Any = {option: 3}
    (made,) = conditions(attack, **options)
    assert made.settings[option.removeprefix("spsa_")] == 3
    with pytest.raises(UserError, match=f"a constant of {attack} is set, but {attack} is not"):
        conditions("fgsm", **options)
    with pytest.raises(UserError, match="is not a finite number of at least 1"):
        conditions(attack, **{option: 0})


def test_settings_of_a_suite_are_checked_in_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    item = "- {attack: pgd, eps: [1/255], settings: {SETTING}}\n"
    for setting, words in {
        "stepz: 3": "has no constant 'stepz'",
        "steps: 2.5": "pgd.steps=2.5 is not a whole number",
        "random_start: 1": "pgd.random_start=1 is not true or false",
        "rel_step: .nan": "is not a finite number",
    }.items():
        path.write_text("conditions:\n" + item.replace("SETTING", setting))
        with pytest.raises(UserError, match=words):
            make(suite=str(path))
    path.write_text("conditions:\n" + item.replace("SETTING", "random_start: false, rel_step: 1"))
    (made,) = make(suite=str(path))
    assert made.settings["random_start"] is False
    assert made.settings["rel_step"] == 1.0
    assert isinstance(made.settings["rel_step"], float)


def test_a_condition_with_a_protocol_of_its_own_contradicts_another(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--suite protocols is protocol paper, --protocol says pix"):
        make(suite="protocols", protocol="pixel")
    path = tmp_path / "mine.yaml"
    path.write_text("conditions:\n- {attack: fgsm, eps: [1/255], protocol: pixel}\n")
    with pytest.raises(UserError, match="is protocol pixel, --protocol says paper"):
        make(suite=str(path), protocol="paper")
    (made,) = make(suite=str(path), protocol="pixel")
    assert made.key == "pixel:fgsm@1/255"
    (free,) = make(suite=str(path), protocol="paper", attacks="pgd", eps="1/255")
    assert free.key == "paper:pgd@1/255"
    both = make(suite="protocols", attacks="fgsm", eps="1/255")
    assert [condition.key for condition in both] == ["pixel:fgsm@1/255", "paper:fgsm@1/255"]


def test_an_attack_that_cannot_follow_protocol_paper_says_so() -> None:
    for attack in ("apgd", "torchattacks:PGD", "foolbox:PGD"):
        with pytest.raises(UserError, match=f"{attack} cannot follow protocol paper"):
            conditions(attack, protocol="paper")


@pytest.mark.slow
def test_another_constant_is_a_mark_on_its_rows_alone(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--attacks", "clean,fgsm,pgd", "--eps", "1/255", "--set", "pgd.steps=5")
    assert site.eval(*arguments, "--restarts", "2") == 0
    rows = site.results()
    assert rows["pgd@1/255"]["flags"].split(";") == ["steps=5", "restarts=2"]
    assert rows["pgd@1/255"]["steps"] == "5"
    assert float(rows["pgd@1/255"]["step_size_255"]) == pytest.approx(0.15)
    assert rows["pgd@1/255"]["n_forward"] == str(11 * (2 * 5 + 2 + 1) + 2)
    assert rows["fgsm@1/255"]["flags"] == rows["clean"]["flags"] == ""
    out = capsys.readouterr().out
    assert "steps=5 (pgd@1/255): the attack's constant steps is 5 here" in out


@pytest.mark.slow
def test_the_protocols_own_value_is_no_mark(site: Site) -> None:
    texts = ("--set", "pgd.steps=20", "--set", "pgd.rel_step=0.15", "--restarts", "1")
    assert site.eval("--attacks", "pgd", "--eps", "1/255", *texts) == 0
    assert site.results()["pgd@1/255"]["flags"] == ""


@pytest.mark.slow
def test_both_protocols_are_rows_of_their_own_with_a_table_side_by_side(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert site.eval("--suite", "protocols", "--normalize", "imagenet") == 0
    out = capsys.readouterr().out
    assert "the protocols side by side" in out
    assert "- protocol paper: as the Twicing paper's numbers were made" in out
    assert "- protocol pixel: budgets are pixel changes in" in out
    side = next(line for line in out.split("side by side")[1].splitlines() if "pgd@4/255" in line)
    cells = [cell.strip() for cell in side.strip("│| ").split("│")]
    assert cells[2] == "4"
    assert cells[4] == f"{4 * 0.229:.3g}"
    lines = (site.root / "run" / "results.csv").read_text().splitlines()
    place = lines[0].split(",").index("protocol")
    rows = [line for line in lines[1:] if ",worst@" not in line]
    assert [line.split(",")[place] for line in rows] == ["pixel"] * 5 + ["paper"] * 5


def test_the_eps_of_a_suite_is_replaced_under_both_protocols() -> None:
    both = make(suite="protocols", eps="2/255")
    assert [condition.key for condition in both if condition.eps == Fraction(2, 255)] == [
        "pixel:fgsm@2/255",
        "pixel:pgd@2/255",
        "paper:fgsm@2/255",
        "paper:pgd@2/255",
    ]
