"""RobustBench's JSON: what is measured has its key, and what is not says why."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports import merge, results, with_worst
from reports.exports import robustbench
from reports.exports.model_info import ModelInfo
from reports.exports.robustbench import model_infos
from robustbench_twicing.cli.app import main
from robustbench_twicing.data.imagenet import wnids
from robustbench_twicing.data.known_sets import robustbench as their_images
from robustbench_twicing.errors import UserError
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.session import add_session
from tests.reports.made import write_run

IMAGES = [f"val/{wnids()[n % 10]}/ILSVRC2012_val_{n:08}.JPEG" for n in range(8)]
CLEAN = [0, 0, 0, 0, 0, 0, 3, 3]
AUTOATTACK = [0, 0, 0, 5, 5, 5, 3, 0]
"""The last image, wrong before and right afterwards, is not robust."""
SPSA = [0, 0, 9, 0, 0, 0, 3, 3]
OUTCOMES: dict[str, Sequence[Any]] = {
    "clean": CLEAN,
    "autoattack@4/255": AUTOATTACK,
    "spsa@4/255": SPSA,
}
PACKAGE = "pyautoattack"


@pytest.fixture(autouse=True)
def their_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if RobustBench took just these eight images."""
    digest = their_images.names_sha256([(name, n % 10) for n, name in enumerate(IMAGES)])
    monkeypatch.setattr(their_images, "NAMES_SHA256", digest)
    for module in (their_images, robustbench):
        monkeypatch.setattr(module, "IMAGES", len(IMAGES))


def info(*folders: RunFolder) -> ModelInfo:
    runs = with_worst(merge(folders))
    (only,) = model_infos(runs, results(runs), None).values()
    return only


def made(path: Path, outcomes: Mapping[str, Sequence[Any]] = OUTCOMES, **facts: Any) -> ModelInfo:
    facts = {"images": IMAGES, **facts}
    return info(write_run(path / "run", {"net": outcomes}, **facts))


def without(name: str) -> dict[str, Sequence[Any]]:
    return {condition: ranks for condition, ranks in OUTCOMES.items() if condition != name}


def test_all_that_robustbench_asks_for(tmp_path: Path) -> None:
    facts = made(tmp_path, seed=3)
    measured = facts.robustbench_twicing
    assert (facts.dataset, facts.eps, facts.clean_acc) == ("imagenet", "4/255", "75.00")
    assert facts.autoattack_acc == "37.50"
    assert facts.footnote is not None
    assert facts.footnote.startswith(f"{PACKAGE} ")
    assert facts.footnote.endswith(", blocks of 32")
    assert facts.unreliable is False
    assert measured.robust_acc == "25.00"  # SPSA breaks the third image
    assert measured.members == ("autoattack@4/255", "spsa@4/255")
    assert measured.interval == ("7.15", "59.07")  # Wilson, 2 of 8
    assert (measured.n, measured.seed, measured.why_not) == (8, 3, ())
    assert len(measured.fingerprint) == 64
    assert "worst-of-2" in measured.flags


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    facts = made(tmp_path)
    assert ModelInfo.model_validate_json(facts.to_json()) == facts
    keys = list(json.loads(facts.to_json()))
    assert keys == list(ModelInfo.model_fields)
    fewer = made(tmp_path / "fewer", {"clean": CLEAN})
    assert ModelInfo.model_validate_json(fewer.to_json()) == fewer
    absent = {"autoattack_acc", "unreliable", "footnote"}
    assert set(keys) - set(json.loads(fewer.to_json())) == absent


def test_random_noise_alone_is_no_evidence_of_robustness(tmp_path: Path) -> None:
    measured = made(tmp_path, {"clean": CLEAN, "noise@4/255": CLEAN}).robustbench_twicing
    assert (measured.robust_acc, measured.members, measured.interval) == (None, (), None)
    assert measured.why_not[-1] == "nothing was attacked at 4/255 under protocol pixel"


@pytest.mark.parametrize(
    ("outcomes", "facts", "reason"),
    [
        (without("autoattack@4/255"), {}, "AutoAttack was not run at 4/255 under protocol pixel"),
        (
            {"clean": CLEAN, "autoattack@2/255": AUTOATTACK},
            {},
            "AutoAttack was not run at 4/255 under protocol pixel",
        ),
        (
            OUTCOMES | {"autoattack@4/255": [*AUTOATTACK[:-1], "error"]},
            {},
            "autoattack@4/255 failed on some images",
        ),
        (
            OUTCOMES | {"autoattack@4/255": [*AUTOATTACK[:-1], None]},
            {},
            "autoattack@4/255 was not evaluated on all images",
        ),
        (
            OUTCOMES | {"autoattack@4/255": [*AUTOATTACK[:-1], "inherited"]},
            {"mode": "survivors"},
            "autoattack@4/255 was evaluated only on images that other attacks had left "
            "(survivors mode)",
        ),
        (
            {name: [*ranks[:-1], "skipped"] for name, ranks in OUTCOMES.items()},
            {},
            "7 images were evaluated, and RobustBench's numbers are of 8",
        ),
        (
            {name: ranks[:4] for name, ranks in OUTCOMES.items()},
            {"images": IMAGES[:4]},
            "4 images were evaluated, and RobustBench's numbers are of 8",
        ),
        (
            OUTCOMES,
            {"images": [*IMAGES[:-1], "n02114367/ILSVRC2012_val_00009999.JPEG"]},
            "the 8 images are not RobustBench's: names or labels are others",
        ),
        (
            OUTCOMES,
            {"images": [IMAGES[1], IMAGES[0], *IMAGES[2:]]},  # labelled the other way round
            "the 8 images are not RobustBench's: names or labels are others",
        ),
        (
            OUTCOMES,
            {"data": {"flags": ("corrupted-as-clean",)}},
            "the images seem to be corrupted ones (flag corrupted-as-clean)",
        ),
        (
            without("spsa@4/255"),
            {"settings": {"version": "rand"}},
            "AutoAttack was run as version rand, and RobustBench takes standard",
        ),
        (
            OUTCOMES,
            {"attack_precision": "bf16"},
            "AutoAttack computed its passes in bf16, and RobustBench's does in fp32",
        ),
    ],
)
def test_without_autoattacks_own_number_there_is_no_key(
    outcomes: dict[str, Any], facts: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    written = json.loads(made(tmp_path, outcomes, **facts).to_json())
    assert not {"autoattack_acc", "footnote"} & set(written)
    assert written["robustbench_twicing"]["why_not"][0] == reason


@pytest.mark.parametrize(
    "changed", [{"settings": {"steps": 10}}, {"code_sha256": "0" * 64}], ids=["torchattacks", "own"]
)
def test_another_attack_called_autoattack_is_not_it(
    changed: dict[str, Any], tmp_path: Path
) -> None:
    runs = with_worst(merge([write_run(tmp_path / "run", {"net": OUTCOMES}, images=IMAGES)]))
    entries = [
        replace(entry, condition=replace(entry.condition, **changed))
        if entry.condition.attack == "autoattack"
        else entry
        for entry in runs.entries
    ]
    runs = replace(runs, entries=tuple(entries))
    facts = model_infos(runs, results(runs), None)["net"]
    assert facts.autoattack_acc is None
    (reason,) = facts.robustbench_twicing.why_not
    assert reason == "autoattack@4/255 is not by the code of AutoAttack's authors (pyautoattack)"


def test_what_else_was_not_measured_is_said(tmp_path: Path) -> None:
    no_clean = made(tmp_path / "a", without("clean"))
    assert no_clean.clean_acc is None
    assert no_clean.autoattack_acc == "50.00"
    assert no_clean.robustbench_twicing.why_not == (
        "clean images were not evaluated under protocol pixel",
    )
    failed = made(tmp_path / "b", OUTCOMES | {"clean": [*CLEAN[:-1], "error"]})
    assert failed.clean_acc is None
    assert "clean failed on some images" in failed.robustbench_twicing.why_not
    paper = made(tmp_path / "c", {"clean": CLEAN, "pgd@4/255": SPSA}, protocol="paper")
    measured = paper.robustbench_twicing
    assert (paper.clean_acc, measured.robust_acc, measured.interval, measured.n) == (
        *(None, None, None),
        0,
    )
    assert measured.why_not[-1] == "nothing was attacked at 4/255 under protocol pixel"
    half = made(tmp_path / "d", OUTCOMES | {"spsa@4/255": [*SPSA[:-2], "error", 3]})
    assert half.autoattack_acc == "37.50"
    assert half.robustbench_twicing.robust_acc == "25.00"  # broken all the same


def test_of_one_attack_the_number_is_its_own(tmp_path: Path) -> None:
    measured = made(tmp_path, without("spsa@4/255")).robustbench_twicing
    assert (measured.robust_acc, measured.members) == ("37.50", ("autoattack@4/255",))


@pytest.mark.parametrize(
    "flags", [("probabilities",), ("not-deterministic",), ("limit-8-of-9", "probabilities")]
)
def test_a_network_that_misleads_is_unreliable(flags: tuple[str, ...], tmp_path: Path) -> None:
    facts = made(tmp_path, {"clean": CLEAN}, models={"net": {"flags": flags}})
    assert facts.unreliable is True
    assert set(flags) <= set(facts.robustbench_twicing.flags)


def test_gradients_that_mislead_are_unreliable(tmp_path: Path) -> None:
    """SPSA breaks what PGD leaves, at a budget that is not the board's."""
    stronger = {"clean": CLEAN, "pgd@1/255": CLEAN, "spsa@1/255": AUTOATTACK}
    facts = made(tmp_path, stronger)
    assert facts.unreliable is True
    assert "black-box-beats-white-box" in facts.robustbench_twicing.flags
    assert made(tmp_path / "zero", OUTCOMES, data={"flags": ("zero-gradient-3%",)}).unreliable


@pytest.mark.parametrize("attack", ["pgd@4/255", "noise@4/255", "spsa@1/255"])
def test_nothing_tells_where_no_black_box_attack_was_run_at_this_budget(
    attack: str, tmp_path: Path
) -> None:
    facts = made(tmp_path, {"clean": CLEAN, attack: AUTOATTACK})
    assert "unreliable" not in json.loads(facts.to_json())
    flag = {"data": {"flags": ("gradient-not-deterministic",)}}  # is not the network's flag
    assert made(tmp_path / "b", {"clean": CLEAN, attack: AUTOATTACK}, **flag).unreliable is None


def test_a_label_of_several_runs_is_one_file(tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / str(n), {"net": outcomes}, images=IMAGES, seed=n)
        for n, outcomes in enumerate([without("spsa@4/255"), without("autoattack@4/255")])
    ]
    for folder, version in zip(folders, ("2.5.0", "2.6.0"), strict=True):
        add_session(folder, {"started": "2025", "python": "3.12.1", "versions": {"torch": version}})
    facts = info(*folders)
    assert facts.autoattack_acc == "37.50"
    assert facts.robustbench_twicing.robust_acc == "25.00"
    assert "mixed-seeds" in facts.robustbench_twicing.flags
    versions = facts.robustbench_twicing.versions
    assert versions["torch"] == "2.5.0 and 2.6.0"
    assert versions["Python"] == "3.12.1"


def test_other_data_sets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="net was evaluated on fashion; RobustBench's board"):
        made(tmp_path / "a", data={"name": "fashion", "num_classes": 10})
    with pytest.raises(UserError, match="net was evaluated on imagenetv2; RobustBench's board"):
        made(tmp_path / "b", data={"name": "imagenetv2"})
    folders = [
        write_run(tmp_path / name, {"net": OUTCOMES}, images=IMAGES, data={"name": name})
        for name in ("first", "second")
    ]
    with pytest.raises(UserError, match="net was evaluated on first and second, and a file"):
        info(*folders)


def test_other_test_sets_of_the_label_do_not_count(tmp_path: Path) -> None:
    other = write_run(
        tmp_path / "a", {"net": {"clean": CLEAN}}, images=IMAGES, data={"name": "imagenet-sketch"}
    )
    run = write_run(tmp_path / "b", {"net": OUTCOMES}, images=IMAGES)
    assert info(other, run).clean_acc == "75.00"
    assert info(other, run) == info(run)


PAPER = """\
link: https://arxiv.org/abs/2303.01870
name: Revisiting Adversarial Training for ImageNet
models:
  net: {architecture: ViT-S, reported: 48.1}
  big/net: {architecture: ViT-B, reported: 54.66}
"""


def test_the_command_writes_a_file_for_each_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", {"net": OUTCOMES, "big/net": OUTCOMES}, images=IMAGES)
    other = write_run(tmp_path / "other", {"net": OUTCOMES}, images=IMAGES[::-1])
    (tmp_path / "paper.yaml").write_text(PAPER)
    out = tmp_path / "out"
    form = ["--format", "robustbench", "--paper", str(tmp_path / "paper.yaml")]
    assert main(["report", str(run.path), *form, "--out", str(out)]) == 0
    files = sorted((out / "model_info" / "imagenet" / "Linf").iterdir())
    assert {path for path in out.rglob("*") if path.is_file()} == set(files)
    big, small = (ModelInfo.model_validate_json(path.read_text()) for path in files)
    assert files[1].name == "net.json"
    assert (small.architecture, small.reported, small.autoattack_acc) == ("ViT-S", "48.10", "37.50")
    assert (big.architecture, big.reported, big.venue) == ("ViT-B", "54.66", None)
    assert big.link == small.link == "https://arxiv.org/abs/2303.01870"
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("written: ")) == ("", 2)
    assert "not all numbers" not in shown.err
    assert main(["report", str(other.path), *form, "--out", str(tmp_path / "elsewhere")]) == 0
    assert "(not all numbers: the 8 images are not RobustBench's" in capsys.readouterr().err
    assert main(["report", str(run.path), *form]) == 0
    assert capsys.readouterr().out == "".join(path.read_text() for path in files[::-1])


def test_reported_is_never_our_number(tmp_path: Path) -> None:
    written = json.loads(made(tmp_path).to_json())
    facts = ("link", "name", "authors", "additional_data", "number_forward_passes")
    assert [written[name] for name in (*facts, "venue", "architecture", "reported")] == [None] * 8


def test_the_status_tells_of_error_rows(tmp_path: Path) -> None:
    failed = OUTCOMES | {"spsa@4/255": [*SPSA[:-1], "error"]}
    run = write_run(tmp_path / "run", {"net": failed}, images=IMAGES)
    assert main(["report", str(run.path), "--format", "robustbench"]) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--paper", "p.yaml"), "--paper is read by --format robustbench alone"),
        (("--format", "json", "--paper", "p.yaml"), "--paper is read by --format robustbench"),
        (("--format", "robustbench", "--preset", "table1"), "--preset is for tables and pictures"),
        (("--format", "robustbench", "--mark", "none"), "--mark is for tables and pictures"),
        (("--format", "robustbench", "--normaliser", "x.csv"), "--normaliser is for tables"),
        (("--format", "robustbench", "--plots", "--out", "x"), "--plots is for tables and"),
        (("--format", "robustbench", "--baseline", "net"), "--baseline is for --plots"),
        (("--format", "robustbench", "--paper", "no.yaml"), "no.yaml"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    arguments: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", {"net": {"clean": [0]}}, images=IMAGES[:1])
    assert main(["report", str(run.path), *arguments]) == 1
    assert message in capsys.readouterr().err


def test_a_black_box_attack_that_failed_tells_nothing(tmp_path: Path) -> None:
    failed: dict[str, Sequence[Any]] = {"clean": CLEAN, "spsa@4/255": [*SPSA[:-1], "error"]}
    assert made(tmp_path, failed).unreliable is None
