"""The section on representations: of the run's own weights, with pictures and last layers."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from reports import merge, results
from reports.page import write_page
from reports.page.sections.representations import representations_of
from reports.plots import save_pictures
from reports.plots.similarity_curves import similarity_pictures
from reports.representations.attention import NUMBERS, attention_table
from reports.representations.similarity import similarity_table
from reports.representations.subject import Subject
from reports.text.csv_text import save_csv
from robustbench_twicing.records.run_folder import RunFolder
from tests.reports.made import write_run
from tests.reports.page.read_page import Read

pytestmark = pytest.mark.slow

LABELS = ("first <b>", "second")
UNDER = "pgd@1/255"
IMAGES = tuple("abcd")


def subject(label: str, base: float, under: str) -> Subject:
    """Similarity of image i in layer l is ``base`` + l/100 + i/1000, entropy is the layer."""
    tokens = [
        {
            **{"image": image, "tensor": "block", "tokens": "all", "layer": str(layer)},
            **{"similarity": base + layer / 100 + number / 1000, "spread": 0.5},
            **{"zero_tokens": 0, "finite": True, "n_tokens": 17},
        }
        for layer in (0, 2, 10)
        for number, image in enumerate(IMAGES)
    ]
    heads = [
        {"image": image, "layer": str(layer), "head": "mean", **dict.fromkeys(NUMBERS, layer)}
        for layer in (2, 10)
        for image in IMAGES
    ]
    tables = {"similarity": pd.DataFrame(tokens), "attention": pd.DataFrame(heads)}
    return Subject(label, label, "hash", "photographs", ("steps=5",), IMAGES, tables, under)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Two models, analysed."""
    folder = tmp_path_factory.mktemp("analysed") / "run"
    done = write_run(folder, {label: {"clean": [0, 1, 0]} for label in LABELS})
    place = folder / "analysis"
    place.mkdir()
    subjects = [
        subject(label, base, under)
        for label, base in zip(LABELS, (0.2, 0.4), strict=True)
        for under in ("", UNDER)
    ]
    table = similarity_table(subjects, seed=0)
    save_csv(table, place / "similarity.csv")
    save_csv(attention_table(subjects), place / "attention.csv")
    save_pictures(similarity_pictures(table, tensors=["block"], tokens="all"), place)
    models = {
        label: {
            "model": label,
            "weights_sha256": done.manifest.evaluations[at].record.weights_sha256,
        }
        for at, label in enumerate(LABELS)
    }
    record = {"models": models, "settings": {"tokens": "all"}, "pictures": ["similarity.png"]}
    (place / "analysis.json").write_text(json.dumps(record))
    return done


def test_pictures_and_last_layers_stand_before_the_tables(run: RunFolder, tmp_path: Path) -> None:
    runs = merge([run])
    page = Read(write_page(runs, results(runs), tmp_path))
    sections = [element.attributes["id"] for element in page.elements if element.tag == "section"]
    assert sections.index("representations") == sections.index("tables") - 1
    (picture,) = [
        element.attributes
        for element in page.elements
        if element.tag == "img" and "cosine" in element.attributes["alt"]
    ]
    assert picture["src"].startswith("data:image/png;base64,")
    assert f"first <b> under {UNDER} 0.20 to 0.30" in picture["alt"]
    assert "Token similarity by layer: photographs, all tokens" in page.texts
    cells = [
        float(element.attributes["data-value"])
        for element in page.elements
        if element.tag == "td" and "data-value" in element.attributes
    ]
    assert {0.3015, 0.5015, 10.0} <= {round(value, 6) for value in cells}
    assert "0.2015" not in page.texts, "only the last layer"
    table = pd.read_csv(run.path / "analysis" / "similarity.csv")
    last = table[table["layer"] == 10].iloc[0]
    assert f"{last['similarity_ci_low']:.3f}–{last['similarity_ci_high']:.3f}" in page.texts
    assert UNDER in page.texts
    assert "data set photographs; images 4" in page.texts


def test_only_pictures_without_photographs_turn_dark(tmp_path: Path) -> None:
    done = write_run(tmp_path / "run", {"net": {"clean": [0, 1]}})
    place = done.path / "analysis"
    place.mkdir()
    names = ["similarity.png", "attention-a.png", "layers-a.png"]
    about = PngInfo()
    for key in ("Title", "Description"):
        about.add_text(key, key)
    for name in names:
        Image.new("RGB", (2, 2)).save(place / name, pnginfo=about)
    record = {"models": {}, "settings": {"tokens": "all"}, "pictures": names}
    (place / "analysis.json").write_text(json.dumps(record))
    runs = merge([done])
    page = Read(write_page(runs, results(runs), tmp_path))
    shown = [
        element.attributes.get("class")
        for element in page.elements
        if element.tag == "img" and element.attributes["alt"] == "Description"
    ]
    assert shown == [None, "photographs", "photographs"]


def test_a_picture_says_what_it_shows(run: RunFolder) -> None:
    with Image.open(run.path / "analysis" / "similarity.png") as image:
        assert image.info["Title"].startswith("Token similarity by layer")
        assert "first <b>" in image.info["Description"]


def other_weights(place: Path) -> None:
    record = json.loads((place / "analysis.json").read_text())
    record["models"]["second"]["weights_sha256"] = sha256(b"others").hexdigest()
    (place / "analysis.json").write_text(json.dumps(record))


def no_record(place: Path) -> None:
    (place / "analysis.json").write_text("{")


def a_list(place: Path) -> None:
    (place / "analysis.json").write_text("[]")


def other_columns(place: Path) -> None:
    (place / "attention.csv").write_text("label,layer\nfirst,1\n")


def words_for_numbers(place: Path) -> None:
    text = (place / "similarity.csv").read_text()
    (place / "similarity.csv").write_text(text.replace(",0.5,", ",half,"))


def no_picture(place: Path) -> None:
    (place / "similarity.png").write_bytes(b"GIF89a")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (other_weights, "its second has other weights than the networks of this run"),
        (no_record, "is not JSON"),
        (a_list, "its files are damaged (TypeError"),
        (other_columns, "its files are damaged (KeyError"),
        (words_for_numbers, "its files are damaged (ValueError"),
        (no_picture, "its files are damaged (UnidentifiedImageError"),
    ],
)
def test_what_is_not_of_the_run_is_left_out_with_a_note(
    run: RunFolder, damage: Callable[[Path], None], reason: str
) -> None:
    place = run.path / "analysis"
    before: dict[Path, Any] = {path: path.read_bytes() for path in place.iterdir()}
    damage(place)
    try:
        section = representations_of(merge([run]))
    finally:
        for path, content in before.items():
            path.write_bytes(content)
    assert not section.is_shown
    (note,) = section.notes
    assert note.startswith(f"The analysis in {place} is left out: ")
    assert reason in note


def test_a_run_without_an_analysis_has_no_such_section(tmp_path: Path) -> None:
    done = write_run(tmp_path / "run", {"only": {"clean": [0, 1]}})
    section = representations_of(merge([done]))
    assert not section.is_shown
    assert not section.notes
