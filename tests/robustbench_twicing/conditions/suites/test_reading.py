"""Suites are data: read strictly, with file and line of what is wrong."""

import itertools
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attacks import ATTACKS
from robustbench_twicing.conditions.suites import list_suites, load_suite
from robustbench_twicing.conditions.suites.reading import parse_suite
from robustbench_twicing.data.imagenet_c import EXTRA, MAIN, SEVERITIES
from robustbench_twicing.errors import UserError

PGD = "conditions:\n- attack: pgd\n"
FOG = "conditions:\n- corruption: fog\n"


def over_255(*numbers: float) -> tuple[Fraction, ...]:
    return tuple(Fraction(str(number)) / 255 for number in numbers)


@pytest.mark.parametrize(
    ("name", "protocol", "budgets"),
    [
        (
            "quick",
            "pixel",
            {"clean": (), "fgsm": (0.5, 1, 4, 64), "pgd": (0.5, 1, 4), "noise": (4,)},
        ),
        (
            "pixel",
            "pixel",
            {
                "clean": (),
                "fgsm": (0.1, 0.25, 0.5, 1, 2, 4, 8),
                "pgd": (0.1, 0.25, 0.5, 1, 2, 4, 8),
                "spsa": (1,),
            },
        ),
        (
            "paper",
            "paper",
            {"clean": (), "fgsm": range(1, 7), "pgd": range(1, 7), "spsa": (1,)},
        ),
    ],
)
def test_the_suites_are_those_of_the_design(
    name: str, protocol: str, budgets: dict[str, tuple[float, ...]]
) -> None:
    suite = load_suite(name)
    assert suite.protocol == protocol
    assert [item.attack for item in suite.conditions] == list(budgets)
    for item in suite.conditions:
        assert item.eps == over_255(*budgets[item.attack or ""])


@pytest.mark.parametrize("name", list_suites())
def test_every_suite_of_ours_names_attacks_that_exist(name: str) -> None:
    suite = load_suite(name)
    assert suite.conditions[0].attack == "clean"
    for item in suite.conditions:
        assert item.attack in ({None} if item.corruption else {"clean", *ATTACKS})
        assert bool(item.eps) == (item.attack not in (None, "clean"))


def test_the_suite_of_corruptions_is_all_of_them() -> None:
    clean, corrupted = load_suite("corruptions").conditions
    assert clean.attack == "clean"
    assert corrupted.corruption == (*MAIN, *EXTRA)
    assert corrupted.severity == SEVERITIES


def test_corruptions_stand_alone_or_in_lists() -> None:
    suite = parse_suite(
        "conditions:\n- corruption: fog\n- {corruption: [extra, fog, fog], severity: 3}\n"
        "- {corruption: [snow], severity: [5, 1, 5]}\n",
        "x.yaml",
    )
    one, many, some = suite.conditions
    assert (one.corruption, one.severity) == (("fog",), SEVERITIES)
    assert (many.corruption, many.severity) == ((*EXTRA, "fog"), (3,))
    assert (some.corruption, some.severity) == (("snow",), (5, 1))


def test_budgets_are_read_like_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(PGD + "  eps: [4/255, 0.5/255, 0, 0.01, 1e-3]\n  settings: {steps: 3}\n")
    suite = load_suite(str(path))
    assert suite.protocol == "pixel"
    (item,) = suite.conditions
    assert item.eps == (*over_255(4, 0.5, 0), Fraction(1, 100), Fraction(1, 1000))
    assert item.settings == {"steps": 3}


def test_budgets_of_one_attack_or_of_all() -> None:
    suite = parse_suite(
        "conditions:\n- {attack: clean}\n- {attack: fgsm, eps: [1/255, 4/255]}\n"
        "- {attack: pgd, eps: [2/255, 1/255]}\n- {attack: fgsm, eps: [8/255]}\n",
        "x.yaml",
    )
    assert suite.budgets("fgsm") == over_255(1, 4, 8)
    assert suite.budgets("spsa") == over_255(1, 4, 2, 8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.yaml is not a mapping"),
        ("- a\n", "is not a mapping; it has the keys protocol and conditions"),
        ("conditions: [\n", "x.yaml is not YAML: while parsing"),
        ("a: 1\n", r"x.yaml:1: .*; allowed here: protocol, include, conditions$"),
        (
            "conditions:\n- {attack: clean, dataset: imagenet}\n",
            "x.yaml:2: .*it is the clean one; allowed here: imagenet-a, imagenet-r, imagenetv2,",
        ),
        ("conditions:\n- {attack: clean, dataset: imagenet-q}\n", "no data set is called 'image"),
        (
            "conditions:\n- {corruption: fog, dataset: sketch}\n",
            "x.yaml:2: .*corruptions take severity and nothing else",
        ),
        ("conditions: []\n", "x.yaml:1: the suite: .*a suite has at least one condition"),
        (
            "conditions:\n- {attack: pgd}\nprotocol: l1\n",
            r"x.yaml:3: .*allowed here: pixel",
        ),
        (
            PGD + "  epsilon: [1/255]\n",
            r"x.yaml:3: 'epsilon' means nothing here; allowed here: attack, protocol, eps",
        ),
        (
            PGD + "  eps:\n  - 1/255\n  - 4\n",
            r"x.yaml:5: .*write 4/255",
        ),
        (
            PGD + "  eps: 1/255\n",
            r"x.yaml:3: conditions.0.eps: .*budgets like",
        ),
        (PGD + "  eps: [yes]\n", r"x.yaml:3: .*written like 4/255"),
        (PGD + "  eps: [[1]]\n", r"x.yaml:3: .*written like 4/255"),
        (PGD + "  eps: [.nan]\n", r"x.yaml:3: .*is not a number"),
        ("conditions:\n- {attack: clean}\n- 7\n", r"x.yaml:3: conditions.1: "),
        ("conditions:\n- eps: [1/255]\n", r"x.yaml:2: conditions.0: .*an attack or corruptions"),
        (
            "conditions:\n- attack: clean\n  eps: [1/255]\n",
            "x.yaml:2: conditions.0: .*clean takes no",
        ),
        (
            FOG + "- corruption: [snow, fogg]\n",
            r"x.yaml:3: .*'fogg'. Did you mean 'fog'.*allowed here: gaussian_noise, .*, all$",
        ),
        (FOG + "- corruption: []\n", r"x.yaml:3: .*a name, like fog, or a list"),
        (FOG + "- corruption: [3]\n", r"x.yaml:3: .*a name, like fog, or a list"),
        (
            FOG + "  severity: [1, 6]\n",
            r"x.yaml:3: .*number from 1 to 5, .*allowed here: 1, 2, 3, 4, 5$",
        ),
        (FOG + "  severity: 1-5\n", r"x.yaml:3: .*a whole number from 1 to 5"),
        (FOG + "  severity: true\n", r"x.yaml:3: .*a whole number from 1 to 5"),
        (FOG + "  severity: []\n", r"x.yaml:3: .*a whole number from 1 to 5"),
        (FOG + "  eps: [1/255]\n", r"x.yaml:2: .*they have no budget"),
        (FOG + "  protocol: paper\n", r"x.yaml:2: .*take severity and nothing else"),
        (FOG + "  attack: pgd\n", r"x.yaml:2: .*either an attack or corruptions"),
        (PGD + "  severity: 3\n", r"x.yaml:2: .*severity belongs to corruption"),
        (
            "conditions: [{attack: clean}]\nconditions: [{attack: clean}]\n",
            "conditions is given twice.*line 2",
        ),
        (
            PGD + "  eps: [1/255]\n  eps: [4/255]\n",
            "eps is given twice.*line 4",
        ),
        ("conditions:\n- attack: !!python/object/apply:os.system [ls]\n", "x.yaml is not YAML"),
        ("a: 1\n---\nb: 2\n", "x.yaml is not YAML"),
        ("a: !!int ''\n", "x.yaml is not YAML"),
        ("a: !!timestamp x\n", "x.yaml is not YAML"),
        ("a: !!bool x\n", "x.yaml is not YAML"),
        ("\t\x00", "x.yaml is not YAML"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        parse_suite(text, "x.yaml")
    assert len(str(caught.value).splitlines()) == 1


KEYS = ["conditions", "protocol", "attack", "eps", "corruption", "severity"]
YAML = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=8,
)


@pytest.mark.slow
@given(
    st.one_of(
        st.text("abc:-[]{}&*!|>'\"%@#, \n\t01", max_size=40), st.text(max_size=30), YAML.map(str)
    )
)
@example("[" * 500)
@example("a: &a [*a]")
@example("&a {conditions: *a}")
@example("? [1]\n: 2")
@example("<<: 1")
@example("conditions: 0o8")
@example("2001-99-99: 1")
def test_whatever_is_in_the_file_ends_in_a_suite_or_one_line(text: str) -> None:
    try:
        parse_suite(text, "x.yaml")
    except UserError as error:
        message = str(error)
    else:
        message = "in order"
    assert len(message.splitlines()) == 1


def test_an_unknown_suite_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no suite is called 'fast'. Known: .*quick.*\.yaml"):
        load_suite("fast")
    with pytest.raises(UserError, match=r"no suite is called 'quik'. Did you mean 'quick'\?"):
        load_suite("quik")
    with pytest.raises(UserError, match=r"no suite file .*nowhere\.yaml\. Known: .*quick"):
        load_suite(str(tmp_path / "nowhere.yaml"))
    with pytest.raises(UserError, match=r"quik\.yaml\. Did you mean 'quick'\?"):
        load_suite(str(tmp_path / "quik.yaml"))
    (tmp_path / "mine.yaml").write_text("")
    with pytest.raises(UserError, match=r"mien\.yaml\. Did you mean '.*/mine\.yaml'\?"):
        load_suite(str(tmp_path / "mien.yaml"))
    folder = tmp_path / "folder.yml"
    folder.mkdir()
    with pytest.raises(UserError, match="cannot be read"):
        load_suite(str(folder))


def test_a_file_that_is_no_suite_is_not_read_in_full(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_text("a" * 1_000_001)
    with pytest.raises(UserError, match="such a file has 100,000 at most"):
        load_suite(str(path))
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="is not UTF-8 text"):
        load_suite(str(path))


LAUGHS = "a: &a {x: 1}\n" + "".join(
    f"{new}: &{new} {{<<: [{', '.join([f'*{old}'] * 9)}]}}\n"
    for old, new in itertools.pairwise("abcdefghijk")
)


@pytest.mark.parametrize(
    "text",
    [
        LAUGHS,
        "protocol: &p pixel\nconditions: [{attack: clean, protocol: *p}]",
        "conditions: &c [{attack: clean}, *c]",
    ],
)
def test_an_alias_is_refused_before_it_stands_for_billions(text: str) -> None:
    with pytest.raises(UserError, match=r"the alias \*\w is not read here; write out"):
        parse_suite(text, "x.yaml")


def test_budgets_are_of_the_norm_of_their_protocol() -> None:
    text = "protocol: l2\nconditions:\n- {attack: pgd, eps: [0.5, 3]}\n"
    assert parse_suite(text, "x").conditions[0].eps == (Fraction(1, 2), Fraction(3))
    text = "conditions:\n- {attack: pgd, eps: [3], protocol: l2}\n"
    assert parse_suite(text, "x").conditions[0].eps == (Fraction(3),)
    text = "conditions:\n- {attack: patch, eps: [32], protocol: patch}\n"
    assert parse_suite(text, "x").conditions[0].eps == (Fraction(32),)
    with pytest.raises(UserError, match="is above 1"):
        parse_suite("conditions:\n- {attack: pgd, eps: [3]}\n", "x")
