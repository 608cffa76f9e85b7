"""Where two manifests differ first, in words."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.conditions.threat_model import ThreatModel
from robustbench_twicing.data.image_maker import RecordedImages
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.family import ModelAbout
from robustbench_twicing.models.table import MODELS
from robustbench_twicing.records.first_version import about_of_model
from robustbench_twicing.records.identity import (
    OPTIONS,
    Difference,
    first_difference,
    run_difference,
    run_identity,
)
from robustbench_twicing.records.manifest import Evaluation, Manifest
from robustbench_twicing.records.schema import SCHEMA_VERSION, Status, check_version
from tests.plain_manifest import plain_condition, plain_evaluation


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": 1}, {"a": 2}, "a is 1 there and 2 here"),
        ({"a": {"b": {"c": 2}}}, {"a": {"b": {"c": 3}}}, "a.b.c is 2 there and 3 here"),
        ({"a": [1]}, {"a": [1, 2]}, "a is 1 there and 1, 2 here"),
        ({"a": ["x"]}, {"a": ["x", "y"]}, "of a, y is here and not there"),
        ({"a": ["x"]}, {"a": ["x", "y", "z"]}, "of a, y, z are here and not there"),
        ({"a": []}, {"a": ["y"]}, "a is none there and y here"),
        ({"a": [1, 2]}, {"a": [2, 3]}, "a is 1 there and 3 here"),
        ({"a": [1, 2]}, {"a": [2, 1]}, "a is 1, 2 there and 2, 1 here"),
        ({"a": [1]}, {"a": []}, "a is 1 there and none here"),
        ({"a": 1}, {}, "a is 1 there and nothing here"),
        ({}, {"a": 1}, "a is nothing there and 1 here"),
        ({"a": [1]}, {"a": "x"}, "a is 1 there and x here"),
        ({"a": 1, "b": 2}, {"b": 3, "a": 2}, "a is 1 there and 2 here"),
        ({"a": True}, {"a": False}, "a is True there and False here"),
        ({"a": "x" * 100}, {"a": 1}, f"a is {'x' * 77}... there and 1 here"),
        ({"data sets": ["x"]}, {"data sets": ["y"]}, "data sets are x there and y here"),
        (
            {"images of x": {"n": 1}},
            {"images of x": {"n": 2}},
            "images of x.n is 1 there and 2 here",
        ),
        ({"limit seed of nets": 1}, {}, "limit seed of nets is 1 there and nothing here"),
    ],
)
def test_the_first_difference_is_named(old: Any, new: Any, words: str | None) -> None:
    found = first_difference(old, new)
    assert (None if found is None else found.between("there", "here")) == words


def manifest(**changed: Any) -> Manifest:
    """A manifest of one evaluation under an attack, with changes to what its names say."""
    evaluation = plain_evaluation("m", 4, {"pixel:fgsm@1/255": 4})
    condition = replace(plain_condition("fgsm@1/255"), attack="fgsm", eps=Fraction(1, 255))
    parts: dict[str, Any] = {
        "record": evaluation.record,
        "preprocessing": evaluation.preprocessing,
        "dataset": evaluation.dataset,
        "condition": condition,
    }
    whole: dict[str, Any] = {}
    for name, value in changed.items():
        part, _, field = name.partition("__")
        if field:
            parts[part] = replace(parts[part], **{field: value})
        else:
            whole[name] = value
    conditions = (parts.pop("condition"),)
    return Manifest(
        (Evaluation("m", **parts, conditions=evaluation.conditions),), conditions, 0, 2, **whole
    )


SAME: list[dict[str, Any]] = [
    {"record__checkpoint": "/elsewhere/a.pth"},
    {"record__notes": ("read differently",)},
    {"record__flags": ("a-new-flag",)},
    {"record__about": ModelAbout("DeiT", twicing=True)},
    {"record__details": {"kernels": "onednn", "memory_format": "channels_last", "parameters": 5}},
    {"dataset__notes": ("scanned",)},
    {"dataset__flags": ("x",)},
    {"dataset__labelling": "other words"},
    {"dataset__typical_side": 28},
    {"condition__notes": ("other words",)},
    {"record__checkpoint_sha256": "x"},
    {"record__weights": "ema"},
    {"condition__flags": ("x",)},
    {"condition__about": About(title="FGSM", one_step=True)},
    {"condition__white_box": True},
    {"on_bad_image": "skip"},
]
OTHER: list[tuple[dict[str, Any], str]] = [
    ({"record__weights_sha256": "x"}, "--weights"),
    ({"record__details": {"sizes": {"depth": 3}}}, "--model, --checkpoint"),
    ({"record__details": {"classes": [1, 2]}}, "--model, --checkpoint"),
    ({"record__details": {"code_sha256": "x"}}, "--model, --checkpoint"),
    ({"record__details": {"takes_pixels": True}}, "--normalize"),
    ({"condition__images": RecordedImages({"source": "generated-memory"})}, "--imagenet-c-jpeg"),
    ({"preprocessing__crop": 4}, "--crop"),
    ({"preprocessing__std": (0.5, 0.5, 0.5)}, "--std"),
    ({"dataset__fingerprint": "x"}, "--data"),
    ({"dataset__source": "generated"}, "--data"),
    ({"dataset__limit_seed": 3}, "--limit-seed"),
    ({"condition__settings": {"steps": 3}}, "--set"),
    ({"condition__code_sha256": "x"}, "--set"),
    ({"condition__threat": ThreatModel(clip=False)}, "--protocol"),
    ({"attack_precision": "bf16"}, "--attack-precision"),
    ({"device": "cuda"}, "--device"),
    ({"left_out": ("imagenet-a",)}, "--without"),
]


@pytest.mark.parametrize("changed", SAME, ids=str)
def test_paths_wording_and_kernels_make_no_other_run(changed: dict[str, Any]) -> None:
    assert manifest(**changed) != manifest()
    assert first_difference(run_identity(manifest()), run_identity(manifest(**changed))) is None


@pytest.mark.parametrize(("changed", "option"), OTHER, ids=str)
def test_what_changes_numbers_makes_another_run(changed: dict[str, Any], option: str) -> None:
    difference = first_difference(run_identity(manifest()), run_identity(manifest(**changed)))
    assert difference is not None
    assert option in difference.option


def test_code_that_a_folder_of_before_does_not_say_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    old, new, newer = (manifest(condition__code_sha256=code) for code in ("", "x", "y"))
    assert run_difference(old, new) is None
    assert "the run does not say with which code" in caplog.text
    caplog.clear()
    assert run_difference(new, new) is None
    for one, other in ((new, newer), (new, old)):
        difference = run_difference(one, other)
        assert difference is not None
        assert difference.code == f"condition {new.conditions[0].key}"
    assert not caplog.text


def test_code_of_this_suite_is_not_in_the_file() -> None:
    (plain,) = manifest().to_json()["conditions"]
    (own,) = manifest(condition__code_sha256="x").to_json()["conditions"]
    assert "code_sha256" not in plain
    assert own == plain | {"code_sha256": "x"}


def test_every_name_of_an_identity_has_its_options() -> None:
    names = run_identity(manifest())
    assert all(Difference(name, "", "").option in OPTIONS.values() for name in names)


@pytest.mark.parametrize("version", [0, 3, True, "2", None])
def test_two_versions_are_read(version: object) -> None:
    check_version(1, "x")
    check_version(SCHEMA_VERSION, "x")
    with pytest.raises(UserError, match=r"x: schema .*, this version reads 1 and 2"):
        check_version(version, "x")


def test_states_are_written_as_words() -> None:
    assert [str(each) for each in Status] == [*("ok", "error", "skipped", "missing", "inherited")]


def test_a_subset_of_before_has_its_seed_in_a_note() -> None:
    """Until it had a seed of its own, it was drawn with that of the run."""
    note = "12 of 100 images were used, spread over 10 of 10 classes (seed -7)"
    before = manifest(dataset__notes=("other words", note)).to_json()
    assert "limit_seed" not in before["evaluations"][0]["dataset"]
    (evaluation,) = Manifest.from_json(before, "run.json").evaluations
    assert evaluation.dataset.limit_seed == -7
    now = manifest(dataset__limit_seed=3).to_json()
    assert Manifest.from_json(now, "run.json").evaluations[0].dataset.limit_seed == 3


@pytest.mark.parametrize("name", MODELS)
def test_folders_of_before_say_of_a_model_what_its_family_says_today(name: str) -> None:
    spec = MODELS[name]
    record = {"family": spec.family, "details": {"sizes": dict(spec.sizes)}}
    assert about_of_model(record) == vars(spec.about)


def test_a_folder_of_before_is_completed_and_one_of_today_left_as_it_is() -> None:
    written = manifest(record__family="twicing", record__about=ModelAbout("Mine")).to_json()
    assert Manifest.from_json(written, "run.json").evaluations[0].record.about.backbone == "Mine"
    del written["evaluations"][0]["record"]["about"]
    record = Manifest.from_json(written, "run.json").evaluations[0].record
    assert record.about == ModelAbout("DeiT", twicing=True)
    assert about_of_model({"family": "user", "details": {}}) == vars(ModelAbout())
