"""The page: whole, alone, escaped, whatever the runs hold."""

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from attacks import ATTACKS
from reports import merge, results
from reports.merging.sessions import read_sessions
from reports.page import write_page
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.evaluation.runner import Options, evaluate_models
from robustbench_twicing.evaluation.tasks import make_task
from robustbench_twicing.records.run_folder import RunFolder
from tests.reports.made import Outcomes, write_run
from tests.reports.page.read_page import Element, Read
from tests.tiny import convnet, noise

pytestmark = pytest.mark.slow

NASTY = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)> ' onclick='x",
    "</style></title><b>&amp;&lt;",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "модель 模型 🦊 ‮abc",
    "$\\frac{1}{2}$ `x` --> <!-- ]]>",
    "x" * 300,
    " ",
)
SWEEP = ("clean", "pgd@0.5/255", "pgd@1/255", "imagenet-c/fog/1")


def page_of(*folders: RunFolder, out: Path) -> Read:
    runs = merge(folders)
    return Read(write_page(runs, results(runs), out))


def outcomes(images: int = 6) -> Outcomes:
    return {name: [place % 2 for place in range(images)] for name in SWEEP}


def named(folder: Path, names: Sequence[str], dataset: str, source: str, flag: str) -> Read:
    """A page of a run in which everything that has a name of its own has one of these."""
    run = write_run(
        folder / "run",
        dict.fromkeys(names, outcomes()),
        part_size=6,
        models={name: {"notes": (name,), "flags": (flag,), "checkpoint": name} for name in names},
        data={"name": dataset, "notes": (flag,), "labelling": source, "source": source},
    )
    return page_of(run, out=folder)


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> Read:
    names = [f"m{letter}" for letter in "abcdefghi"[: len(NASTY)]]
    return named(tmp_path_factory.mktemp("page"), names, "val", "files", "flag")


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """The same run, but every name in it is an attempt to break out."""
    return named(tmp_path_factory.mktemp("page"), NASTY, NASTY[1], NASTY[2], NASTY[0])


def shape(read: Read) -> Counter[tuple[str, frozenset[str], tuple[str, ...]]]:
    """All but the places at which a long name may be broken."""
    found = [element for element in read.elements if element.tag != "wbr" or element.attributes]
    return Counter(
        (element.tag, frozenset(element.attributes), element.inside) for element in found
    )


def test_names_make_no_element_and_no_attribute(harmless: Read, nasty: Read) -> None:
    assert shape(nasty) == shape(harmless)
    assert not [
        element for element in nasty.elements for name in element.attributes if name[:2] == "on"
    ]


def test_names_are_shown_as_they_are_but_for_what_turns_writing_round(nasty: Read) -> None:
    for name in NASTY:
        assert name.strip().replace("\u202e", r"\u202e") in nasty.texts
    assert "\u202e" not in nasty.texts
    assert "49" not in re.findall(r"\w+", nasty.texts.partition("All results")[0])


def test_nothing_is_loaded_and_only_the_own_script_runs(harmless: Read, nasty: Read) -> None:
    for read in (harmless, nasty):
        for element in read.elements:
            assert element.tag not in ("link", "iframe", "object", "embed", "form", "base")
            assert element.attributes.get("src", "data:image/").startswith("data:image/")
            link = element.attributes.get("href", "#")
            assert link.startswith("data:image/" if element.tag == "image" else "#")
            assert "style" not in element.attributes
        (policy,) = (
            element.attributes["content"]
            for element in read.all("meta")
            if element.attributes.get("http-equiv") == "Content-Security-Policy"
        )
        assert "default-src 'none'; img-src data:" in policy
        for kind in ("style", "script"):
            digest = b64encode(sha256(read.raw[kind].encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{digest}'" in policy
        assert "url(" not in read.raw["style"]
        assert "http" not in read.raw["style"] + read.raw["script"]


def test_links_lead_to_sections(harmless: Read) -> None:
    ids = [element.attributes["id"] for element in harmless.elements if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    targets = [link.attributes["href"][1:] for link in harmless.all("a")]
    assert targets
    assert set(targets) <= set(ids)


def test_pictures_have_descriptions_and_tables_captions(harmless: Read) -> None:
    drawn = [image for image in harmless.all("svg") if image.attributes.get("role") == "img"]
    assert drawn
    assert all(len(image.attributes["aria-label"]) > 5 for image in drawn)
    tables = harmless.all("table")
    ids = {element.attributes["id"] for element in harmless.elements if "id" in element.attributes}
    named = [table for table in tables if table.attributes.get("aria-labelledby") in ids]
    told = [table for table in tables if table.attributes.get("aria-label")]
    assert len(named) + len(told) + len(harmless.all("caption")) == len(tables)
    assert named
    assert all("div" in table.inside for table in tables)
    (html,) = harmless.all("html")
    assert html.attributes["lang"] == "en"
    assert all("scope" in head.attributes for head in harmless.all("th"))


def test_headings_go_down_step_by_step(harmless: Read) -> None:
    levels = [
        int(element.tag[1]) for element in harmless.elements if re.fullmatch("h[1-6]", element.tag)
    ]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def values(read: Read) -> list[float]:
    cells = [
        cell.attributes for cell in read.all("td") if "number" in cell.attributes.get("class", "")
    ]
    return [float(cell["data-value"]) for cell in cells if "data-value" in cell]


def test_cells_keep_full_precision(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"A": {"clean": [0, 1, 1], "pgd@1/255": [1, 0, 0]}})
    table = results(merge([run]))
    wanted = set(table[["top1", "top1_ci_low"]].to_numpy(float).ravel().tolist())
    assert wanted <= set(values(page_of(run, out=tmp_path)))
    assert 100 / 3 in wanted


def test_error_rows_have_no_number_and_are_named_first(tmp_path: Path) -> None:
    failed: Outcomes = {"clean": [0, 1], "pgd@1/255": ["error", 0], "fgsm@1/255": [None, 0]}
    read = page_of(write_run(tmp_path / "run", {"A": failed}), out=tmp_path)
    doubts = read.texts.partition("Images and attacks")[2].split("\n")
    _, first, message, *_ = (line for line in doubts if line.strip())
    assert first == "2 of 3 results not scored"
    assert message.endswith(
        "2 of 3 results are not scored: A pgd@1/255 (error), A fgsm@1/255 (incomplete)."
    )
    assert "nan" not in re.findall(r"\w+", read.texts.lower())
    assert all("nan" not in element.attributes.get("data-value", "") for element in read.elements)


@pytest.mark.parametrize(
    "outcomes",
    [
        {"clean": [0]},
        {"clean": [1], "pgd@1/255": [1]},
        {"pgd@1/255": [0]},
        {"clean": []},
        {"clean": [None], "pgd@1/255": [None]},
        {"clean": ["skipped"], "pgd@1/255": ["skipped"]},
        {"clean": ["error"], "pgd@1/255": ["error"]},
        {"imagenet-c/fog/1": [0]},
        {"fgsm@0/255": [0], "clean": [0]},
    ],
)
def test_small_and_empty_runs_have_a_page(tmp_path: Path, outcomes: Outcomes) -> None:
    read = page_of(write_run(tmp_path / "run", {"A": outcomes}), out=tmp_path)
    assert read.texts.count("What must be known of the numbers") == 1
    assert (
        len([each for each in read.elements if "headline" in each.attributes.get("class", "")]) == 1
    )


def test_forty_models_and_many_conditions_stay_small(tmp_path: Path) -> None:
    names = [f"imagenet-c/{name}/{s}" for name in ("fog",) for s in range(1, 6)]
    one: Outcomes = {name: [0, 1] for name in ("clean", "pgd@1/255", *names)}
    labels = [f"a_model_of_quite_a_long_name_number_{number}" for number in range(40)]
    read = page_of(write_run(tmp_path / "run", dict.fromkeys(labels, one)), out=tmp_path)
    size = sum(len(image.attributes["src"]) for image in read.all("img"))
    size += sum(map(len, read.raw.values()))
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    sections = dict(re.findall('<section id="(overview|attacks)">(.*?)</section>', page, re.S))
    rest = len(page) - sum(map(len, sections.values()))
    assert rest - size < 40 * len(one) * 2000
    assert len(sections["overview"]) < 110_000
    assert len(sections["attacks"]) < 150_000
    assert read.all("img") == []
    assert "40 models" in read.texts


def test_adversarial_examples_are_in_the_page(tmp_path: Path) -> None:
    label = "<i>A</i>"
    model = convnet()
    conditions = [clean(), ATTACKS["fgsm"].condition(Fraction(8, 255))]
    data = replace(noise(3), name="<u>tiny</u>")
    tasks, options = [make_task(data, conditions)], Options(save_adversarial=2)
    done = evaluate_models({label: model}, tasks, out=tmp_path / "run", options=options)
    read = page_of(done.folder, out=tmp_path)
    shown = [image for image in read.all("img") if "article" in image.inside]
    assert len(shown) == 2 * 2
    assert "2 of the 2 adversarial images" in read.texts
    assert "FGSM at 8/255" in read.texts
    assert not read.all("i")
    assert not read.all("u")
    assert sum("taken for class" in example.attributes["alt"] for example in shown) == 2


def test_the_manifest_tells_versions_hashes_and_settings(tmp_path: Path) -> None:
    conditions = [clean(), ATTACKS["pgd"].condition(Fraction(1, 255), overrides={"steps": 3})]
    out = tmp_path / "run"
    tasks = [make_task(noise(2), conditions)]
    done = evaluate_models({"A": convnet()}, tasks, out=out, options=Options(seed=77))
    read = page_of(done.folder, out=tmp_path)
    (session,) = read_sessions(done.folder.path)
    evaluation: Any = done.folder.manifest.evaluations[0]
    text = read.texts
    for wanted in (
        evaluation.dataset.fingerprint,
        str(session.versions["torch"]),
        session.started,
        "steps=3",
        "77",
    ):
        assert str(wanted) in text


def test_equal_runs_give_equal_pages(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"A": outcomes()}, part_size=6)
    page_of(run, out=tmp_path / "one")
    page_of(run, out=tmp_path / "two")
    one, two = (tmp_path / name / "index.html" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_half_characters_do_not_stop_the_page(tmp_path: Path) -> None:
    """JSON can hold halves of surrogate pairs; UTF-8 cannot."""
    run = write_run(tmp_path / "run", {"A": outcomes()}, part_size=6)
    file = tmp_path / "run" / "run.json"
    text = file.read_text().replace('"checkpoint": "A.pth"', '"checkpoint": "A\\ud800.pth"')
    file.write_text(text)
    runs = merge([RunFolder(run.path, run.manifest)])
    broken = RunFolder.open(tmp_path / "run").manifest.evaluations[0]
    entries = tuple(replace(entry, evaluation=broken) for entry in runs.entries)
    read = Read(write_page(replace(runs, entries=entries), results(runs), tmp_path))
    assert "A\\ud800.pth" in read.texts


def test_the_size_is_stated(harmless: Read) -> None:
    assert re.search(r"its size is about [\d.]+ [kM]B", harmless.texts)


def test_columns_of_numbers_can_be_sorted(harmless: Read) -> None:
    heads: list[Element] = [
        head for head in harmless.all("th") if "number" in head.attributes.get("class", "")
    ]
    assert heads
    assert all("data-sort" in head.attributes for head in heads)
