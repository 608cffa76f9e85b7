"""A corruption of one's own: one function with one declaration, and nothing else is changed."""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.random import RandomState

from attacks.corruptions import (
    CORRUPTIONS,
    CorruptionSpec,
    GeneratedImages,
    corruption,
    corruption_condition,
)
from attacks.corruptions.declaration import Levels, at
from attacks.corruptions.imaging.pixels import Pixels
from reports import corruption_scores
from robustbench_twicing.cli.app import main
from robustbench_twicing.conditions.suites.reading import parse_suite
from robustbench_twicing.data.imagenet_c import DECLARED, MAIN, SEVERITIES
from robustbench_twicing.errors import UserError
from tests.robustbench_twicing.cli.conftest import Site, make_site

RAIN: Levels = {"drops": (10, 20, 30, 40, 50)}


def rain(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """White drops on random pixels."""
    wet = image.copy()
    count = int(at(RAIN, severity)["drops"])
    wet[rng.randint(0, image.shape[0], count), rng.randint(0, image.shape[1], count)] = 255
    return wet


@pytest.fixture
def declared(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a corruption that is declared for one test; its group is the parameter."""
    corruption("made_up_rain", group=getattr(request, "param", "drops"), levels=RAIN)(rain)
    yield "made_up_rain"
    del CORRUPTIONS["made_up_rain"], DECLARED["made_up_rain"]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A user's files, as in the tests of the command line."""
    return make_site(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("declared", ["drops", "weather"], indirect=True)
def test_it_is_listed_planned_evaluated_and_reported_and_never_in_mce(
    site: Site, declared: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attacks"]) == 0
    assert "made_up_rain" in capsys.readouterr().out
    asked = ("--corruptions", f"{declared},fog", "--imagenet-c-size", "32", "--workers", "2")
    given = ("--model", site.model, "--data", str(site.data), "--crop", "8")
    assert main(["plan", *given, *asked]) == 0
    assert "corruption/made_up_rain/3" in capsys.readouterr().out
    assert site.eval(*asked) == 0
    rows = site.results()
    assert [name for name in rows if "made_up_rain" in name] == [
        f"corruption/made_up_rain/{severity}" for severity in SEVERITIES
    ]
    row = rows["corruption/made_up_rain/3"]
    assert (row["attack"], row["status"], row["source"]) == (
        "corruption",
        "ok",
        "generated-jpeg85",
    )
    with (site.root / "run" / "corruption_scores.csv").open(newline="") as file:
        numbers = list(csv.DictReader(file))
    (mean,) = (
        number for number in numbers if number["corruption"] == "made_up_rain" and _is_ok(number)
    )
    assert mean["number"] == "mean error"
    (mce,) = (number for number in numbers if number["number"] == "mCE")
    assert "made_up_rain" not in mce["missing"]
    assert mce["status"] != "ok"
    capsys.readouterr()
    page = site.root / "page"
    assert main(["report", str(site.root / "run"), "--out", str(page), "--format", "html"]) == 0
    html = (page / "index.html").read_text()
    assert "corruption/made_up_rain/3" in html
    assert "1 corruptions that are not ImageNet-C" in html


def _is_ok(number: dict[str, str]) -> bool:
    return number["status"] == "ok"


@pytest.mark.slow
def test_its_files_are_written_and_read(
    site: Site, declared: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = site.root / "made"
    given = ("--data", str(site.data), "--corruptions", declared, "--severities", "2")
    size = ("--imagenet-c-size", "32")
    assert main(["corrupt", *given, "--out", str(made), *size, "--workers", "2"]) == 0
    assert len(list((made / "made_up_rain" / "2").rglob("*.JPEG"))) == 11
    same = ("--corruptions", "made_up_rain", "--severities", "2")
    assert site.eval(*same, "--imagenet-c", str(made), out="files") == 0
    assert site.eval(*same, *size, out="made-anew") == 0
    files, anew = (
        site.results(out)["corruption/made_up_rain/2"]["top1"] for out in ("files", "made-anew")
    )
    assert files == anew
    again = ["corrupt", *given, "--out", str(made), *size]
    assert main(again) == 0
    record = made / "corrupted.json"
    sha256 = json.loads(record.read_text())["code_sha256"][declared]
    record.write_text(record.read_text().replace(sha256, "0" * 64))
    capsys.readouterr()
    assert main(again) == 1
    assert f"the code of corruption {declared} has changed" in capsys.readouterr().err
    assert site.eval(*same, "--imagenet-c", str(made), out="files") == 1
    assert f"the code of condition pixel:corruption/{declared}/2 has" in capsys.readouterr().err
    assert main(["corrupt", *given[:2], "--corruptions", "made_up_rainn", "--out", str(made)]) == 1
    assert "Did you mean 'made_up_rain'" in capsys.readouterr().err


@pytest.mark.parametrize("declared", ["drops", "extra"], indirect=True)
def test_whatever_it_calls_its_group_no_mean_counts_it(declared: str) -> None:
    conditions = [*((name, 50.0) for name in MAIN), (declared, 0.0)]
    results = pd.DataFrame(
        {
            "label": "m",
            "dataset": "d",
            "protocol": "pixel",
            "source": "official",
            "condition": corruption_condition(name, severity).id,
            "attack": corruption_condition(name, severity).attack,
            "top1": top1,
            "n_images": 10,
            "status": "ok",
            "flags": "",
        }
        for name, top1 in conditions
        for severity in SEVERITIES
    )
    scores = corruption_scores(results).set_index(["number", "corruption"])
    without = corruption_scores(results[results["attack"] == "imagenet-c"])
    for number in ("mCE", "mean corruption error"):
        alone = without.set_index(["number", "corruption"])["percent"]
        assert scores["percent"].to_dict()[number, ""] == alone.to_dict()[number, ""]
    assert "mean CE of the 4 extra corruptions" not in set(without["number"])
    assert "mean CE of the 4 extra corruptions" not in scores.index.get_level_values(0)
    assert scores.loc[("mean error", "made_up_rain"), "percent"] == 100


def test_its_group_and_what_decides_its_pixels_are_recorded(declared: str) -> None:
    condition = corruption_condition(declared, 3)
    assert condition.id == "corruption/made_up_rain/3"
    assert condition.about.group == "drops"
    assert condition.images is not None
    described = condition.images.describe()
    assert described["function"] == f"{__name__}.rain"
    assert described["levels"] == {"drops": [10, 20, 30, 40, 50]}
    assert corruption_condition("fog", 3).about.group == "weather"


def test_a_suite_file_may_name_it(declared: str) -> None:
    suite = parse_suite("conditions: [{corruption: made_up_rain, severity: 1}]", "mine")
    assert suite.conditions[0].corruption == (declared,)
    with pytest.raises(UserError, match="no corruption is called 'made_up_sleet'"):
        parse_suite("conditions: [{corruption: made_up_sleet}]", "mine")


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({}, r"looks up 'drops', which its levels \(none\) lack; give it 5 numbers"),
        ({"drop": (1,) * 5}, r"looks up 'drops', which its levels \(drop\) lack"),
        ({"drops": (1, 2, 3, 4)}, r"give 'drops' the values \(1, 2, 3, 4\); it needs 5 numbers"),
        ({"drops": (1, 2, 3, 4, "5")}, "it needs 5 numbers, severity 1 first"),
        ({"drops": 1}, "it needs 5 numbers, severity 1 first"),
    ],
)
def test_levels_are_checked_where_they_are_declared(levels: Levels, words: str) -> None:
    with pytest.raises(ValueError, match=f"corruption 'made_up_rain': its .*{words}"):
        corruption("made_up_rain", group="drops", levels=levels)(rain)
    assert "made_up_rain" not in DECLARED


def test_a_variable_that_holds_the_constants_is_followed() -> None:
    def sleet(image: Pixels, severity: int, rng: RandomState) -> Pixels:
        constants = at(RAIN, severity)
        return image + np.uint8(constants["drops"] + constants["flakes"])

    with pytest.raises(ValueError, match=r"looks up 'flakes', which its levels \(drops\) lack"):
        corruption("made_up_sleet", group="drops", levels=RAIN)(sleet)


@pytest.mark.parametrize("name", ["made up", "made/up", "made,up", "made@4/255", "-made", ""])
def test_a_name_is_one_that_ids_can_hold(name: str) -> None:
    with pytest.raises(ValueError, match=f"corruption '{name}': a name is made of letters"):
        corruption(name, group="drops", levels=RAIN)(rain)
    with pytest.raises(ValueError, match="corruption 'all': this name has a meaning already"):
        corruption("all", group="drops", levels=RAIN)(rain)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (lambda image: image / 255, r"returned float64 \(32, 32, 3\) for uint8 \(32, 32, 3\)"),
        (lambda image: image[:8], r"returned uint8 \(8, 32, 3\) for uint8 \(32, 32, 3\)"),
    ],
)
def test_what_a_corruption_returns_is_checked(
    result: Callable[[Pixels], Pixels], words: str
) -> None:
    spec = CorruptionSpec("made_up_rain", lambda image, severity, rng: result(image), "drops")
    with pytest.raises(UserError, match=f"corruption made_up_rain {words}"):
        spec.apply(np.zeros((32, 32, 3), np.uint8), 2, RandomState(0))


def test_a_module_may_be_loaded_again(declared: str) -> None:
    corruption(declared, group="again", levels=RAIN)(rain)
    assert CORRUPTIONS[declared].group == DECLARED[declared] == "again"


def test_a_name_is_declared_once(declared: str) -> None:
    with pytest.raises(ValueError, match="'fog' is registered twice"):
        corruption("fog", group="weather", levels=RAIN)(rain)
    assert CORRUPTIONS["fog"].function is not rain


def test_it_draws_from_the_stream_of_its_image(declared: str) -> None:
    image = np.zeros((32, 32, 3), np.uint8)
    drawn = [CORRUPTIONS[declared].function(image, 5, RandomState(seed)) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any()
    assert GeneratedImages(declared, 5).lacking() == ""
