"""From options to conditions."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from attacks import ATTACKS
from attacks.corruptions import GeneratedImages
from robustbench_twicing.cli.options.evaluation import EvalOptions
from robustbench_twicing.cli.request.conditions import make_conditions, read_conditions, with_norm
from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.conditions.threat_model import PROTOCOLS
from robustbench_twicing.errors import UserError


def make(**options: Any) -> list[Condition]:
    return make_conditions(read_conditions(EvalOptions(**options)))


def keys(**options: Any) -> list[str]:
    return [condition.key for condition in make(**options)]


def test_the_default_is_quick() -> None:
    assert keys() == [
        "pixel:clean",
        *(f"pixel:fgsm@{eps}/255" for eps in ("0.5", "1", "4", "64")),
        *(f"pixel:pgd@{eps}/255" for eps in ("0.5", "1", "4")),
        "pixel:noise@4/255",
    ]


@pytest.mark.parametrize(
    ("suite", "count"), [("pixel", 16), ("paper", 14), ("protocols", 10), ("corruptions", 96)]
)
def test_suites_of_ours(suite: str, count: int) -> None:
    conditions = keys(suite=suite)
    assert len(conditions) == len(set(conditions)) == count


def test_attacks_take_the_suites_budgets_or_those_given() -> None:
    assert keys(attacks="clean, pgd") == [
        "pixel:clean",
        *(f"pixel:pgd@{n}/255" for n in (0.5, 1, 4)),
    ]
    assert keys(attacks="spsa", suite="pixel") == ["pixel:spsa@1/255"]
    assert keys(attacks="noise", eps="8/255,2/255") == ["pixel:noise@8/255", "pixel:noise@2/255"]
    names = ("fgsm", "pgd", "noise")
    assert keys(eps="8/255") == ["pixel:clean", *(f"pixel:{name}@8/255" for name in names)]
    assert keys(attacks="spsa") == [f"pixel:spsa@{eps}/255" for eps in ("0.5", "1", "4")]
    assert keys(attacks="clean", eps="8/255") == ["pixel:clean"]


def test_names_of_attacks_match_in_any_case() -> None:
    typed = make(attacks="Clean,PGD,ImageNet-C/Fog/3", eps="1/255", set=["Pgd.steps=3"])
    assert [condition.id for condition in typed] == ["clean", "pgd@1/255", "imagenet-c/fog/3"]
    assert typed[1] == make(attacks="pgd", eps="1/255", set=["pgd.steps=3"])[0]
    with pytest.raises(UserError, match="condition pgd@1/255 is asked for twice"):
        make(attacks="pgd,PGD", eps="1/255")


def test_a_suite_file_may_write_attacks_in_any_case(tmp_path: Path) -> None:
    suite = tmp_path / "own.yaml"
    suite.write_text("conditions: [{attack: CLEAN}, {attack: FGSM, eps: [1/255]}]")
    assert keys(suite=str(suite)) == ["pixel:clean", "pixel:fgsm@1/255"]
    assert keys(suite=str(suite), attacks="fgsm") == ["pixel:fgsm@1/255"]


def test_the_protocol_may_be_another_than_the_suites() -> None:
    conditions = make(protocol="paper", attacks="clean,pgd", eps="1/255")
    assert [condition.key for condition in conditions] == ["paper:clean", "paper:pgd@1/255"]
    assert {condition.threat for condition in conditions} == {PROTOCOLS["paper"].threat}
    assert keys(suite="paper", protocol="paper") == keys(suite="paper")


def test_the_paper_suite_contradicts_another_protocol() -> None:
    with pytest.raises(UserError, match="--suite paper is protocol paper, --protocol says pixel"):
        make(suite="paper", protocol="pixel")


def test_under_l2_budgets_are_lengths() -> None:
    assert keys(protocol="l2", attacks="clean,pgd", eps="0.5,3") == [
        "l2:clean",
        "l2:pgd@l2:0.5",
        "l2:pgd@l2:3",
    ]
    assert keys(suite="l2")[:2] == ["l2:clean", "l2:fgsm@l2:0.1"]


def test_under_patch_budgets_are_sides() -> None:
    assert keys(protocol="patch", attacks="clean,patch", eps="16,patch:32") == [
        "patch:clean",
        "patch:patch@patch:16",
        "patch:patch@patch:32",
    ]
    assert keys(protocol="patch") == keys(suite="patch")
    assert keys(suite="patch")[3:5] == ["patch:patch@patch:48", "patch:patch-random@patch:16"]
    assert keys(protocol="patch", eps="8:16:4")[1:3] == [
        "patch:patch@patch:8",
        "patch:patch@patch:12",
    ]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"protocol": "l2"}, "budgets of suite quick are of L-infinity; give --eps"),
        ({"protocol": "pixel", "suite": "l2"}, "budgets of suite l2 are of L2; give --eps"),
        ({"protocol": "l2", "eps": "4/255"}, "was L-infinity meant"),
        ({"protocol": "l2", "eps": "0.5", "attacks": "foolbox:PGD"}, "that can: L2PGD"),
    ],
)
def test_norms_are_not_mixed_up(options: dict[str, str], line: str) -> None:
    with pytest.raises(UserError, match=line):
        make(**options)


def test_a_suite_of_both_norms_takes_no_budgets_of_one(tmp_path: Path) -> None:
    suite = tmp_path / "both.yaml"
    suite.write_text("include: [quick, l2]")
    assert {key.partition(":")[0] for key in keys(suite=str(suite))} == {"pixel", "l2"}
    with pytest.raises(UserError, match="was L-infinity meant"):
        make(suite=str(suite), eps="4/255")


@pytest.mark.parametrize(
    ("options", "protocol"),
    [({"norm": "l2"}, "l2"), ({"norm": "L2", "protocol": "l2"}, "l2"), ({"norm": "linf"}, "pixel")],
)
def test_a_norm_is_short_for_a_protocol(options: dict[str, str], protocol: str) -> None:
    assert with_norm(EvalOptions(**options)).protocol == protocol  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options", [{"norm": "l2", "protocol": "paper"}, {"norm": "linf", "protocol": "l2"}]
)
def test_a_norm_beside_another_protocol_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(UserError, match="are two things; leave one out"):
        with_norm(EvalOptions(**options))  # type: ignore[arg-type]


def test_constants_are_set_by_attack_and_marked() -> None:
    pgd, spsa = make(
        attacks="pgd,spsa",
        eps="1/255",
        set=["pgd.steps=40", "pgd.random_start=False"],
        spsa_steps=3,
        spsa_samples=16,
    )
    assert pgd.settings == {**ATTACKS["pgd"].settings, "steps": 40, "random_start": False}
    assert pgd.changed == {"steps": 20, "random_start": True}
    assert spsa.settings["steps"] == 3
    assert spsa.settings["samples"] == 16
    assert spsa.changed == {"steps": 40, "samples": 128}


def test_the_last_of_two_settings_counts() -> None:
    (pgd,) = make(attacks="pgd", eps="1/255", set=["pgd.steps=40", "pgd.steps=7"])
    assert pgd.settings["steps"] == 7


def test_a_suites_constants_give_way_to_the_command_lines(tmp_path: Any) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "conditions:\n- {attack: pgd, eps: [1/255], settings: {steps: 5, rel_step: 0.5}}\n"
        "- {attack: fgsm, eps: [2/255], protocol: paper}\n"
    )
    pgd, fgsm = make(suite=str(path), set=["pgd.steps=7"])
    assert pgd.settings == {**ATTACKS["pgd"].settings, "steps": 7, "rel_step": 0.5}
    assert fgsm.key == "paper:fgsm@2/255"
    assert fgsm.eps == Fraction(2, 255)


def test_an_attack_of_a_suite_without_a_budget_needs_one(tmp_path: Any) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("conditions:\n- attack: pgd\n")
    with pytest.raises(UserError, match="attack pgd has no budget; give --eps"):
        make(suite=str(path))
    assert keys(suite=str(path), eps="1/255") == ["pixel:pgd@1/255"]


FOG3 = "pixel:imagenet-c/fog/3"


def test_corruptions_alone_come_with_the_clean_images_and_no_attack() -> None:
    fog = [f"pixel:imagenet-c/fog/{severity}" for severity in range(1, 6)]
    assert keys(corruptions="fog") == ["pixel:clean", *fog]
    assert keys(corruptions="fog", severities="3") == ["pixel:clean", FOG3]
    assert keys(corruptions="extra", severities="1-2")[-1] == "pixel:imagenet-c/saturate/2"
    assert len(keys(corruptions="all")) == 96


def test_corruptions_are_added_to_attacks_and_to_a_named_suite() -> None:
    assert keys(attacks="clean,imagenet-c/fog/3") == ["pixel:clean", FOG3]
    assert keys(attacks="imagenet-c/fog/1,noise", eps="8/255", severities="3") == [
        "pixel:noise@8/255",
        FOG3,
    ]
    assert keys(attacks="clean", corruptions="fog", severities="3") == ["pixel:clean", FOG3]
    assert keys(suite="quick", corruptions="fog", severities="3") == [*keys(), FOG3]
    assert keys(suite="corruptions", severities="3", corruptions="fog") == ["pixel:clean", FOG3]
    assert len(keys(suite="corruptions", severities="3")) == 1 + 19


def test_a_corruption_has_one_row_whatever_the_protocols() -> None:
    conditions = keys(suite="protocols", corruptions="fog", severities="3")
    assert conditions[-1] == FOG3
    assert [key for key in conditions if "imagenet-c" in key] == [FOG3]
    assert keys(suite="protocols", attacks="clean,imagenet-c/fog/3") == [
        "pixel:clean",
        "paper:clean",
        FOG3,
    ]
    assert keys(protocol="paper", corruptions="fog", severities="3")[-1] == FOG3.replace(
        "pixel", "paper"
    )


def test_how_images_are_made_is_said_by_the_options(tmp_path: Path) -> None:
    photos = str(tmp_path)
    (condition,) = make(
        attacks="imagenet-c/frost/3",
        imagenet_c_jpeg="none",
        imagenet_c_size=32,
        frost_dir=photos,
    )
    assert condition.images == GeneratedImages("frost", 3, jpeg=False, side=32, frost_dir=photos)
    (condition,) = make(attacks="imagenet-c/frost/3")
    assert condition.images == GeneratedImages("frost", 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"severities": "3"}, "--severities is given, but no corruption is asked for"),
        ({"imagenet_c": "x"}, "--imagenet-c is given, but no corruption is asked for"),
        ({"frost_dir": "x", "suite": "pixel"}, "--frost-dir is given, but no corruption"),
        ({"frost_dir": "nowhere", "corruptions": "fog"}, "--frost-dir nowhere is not there"),
        ({"corruptions": "rain"}, "no corruption is called 'rain'"),
        ({"corruptions": "fog", "severities": "7"}, "severities '7' are not of 1 to 5"),
        ({"corruptions": "fog", "imagenet_c_jpeg": "90"}, "Known: 85, none"),
        ({"corruptions": "fog", "imagenet_c_size": 31}, "of 31 pixels cannot be corrupted"),
        ({"corruptions": "fog", "imagenet_c": "nowhere"}, "nowhere is not a folder"),
        (
            {"corruptions": "fog", "imagenet_c": "x", "imagenet_c_jpeg": "none"},
            "--imagenet-c-jpeg is about making images, and --imagenet-c reads files",
        ),
        ({"attacks": "clean,imagenet-c"}, "is not imagenet-c/CORRUPTION/SEVERITY"),
        ({"attacks": "imagenet-c/fog/3,imagenet-c/fog"}, "imagenet-c/fog/3 is asked for twice"),
    ],
)
def test_mistakes_about_corruptions_are_explained(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        make(**options)
