"""The section on representations: of the run's own weights, as curves, maps and last layers."""

import json
import re
from base64 import b64decode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from reports import merge, results
from reports.page import write_page
from reports.page.drawing.curve import Drawing, Models
from reports.page.drawing.layers import HIGH, LOW, Quantity, layer_panel
from reports.page.drawing.panels import Panel
from reports.page.drawing.sweeps import LEFT, TOP
from reports.page.sections.representations import Representations, representations_of
from reports.plots import Picture, save_pictures
from reports.representations.attention import NUMBERS, attention_table
from reports.representations.similarity import similarity_table
from reports.representations.spectrum import CAPACITIES, COLUMNS, MEANS, SHARES
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
    layers = ("2", "10", "class-1")
    heads = [
        {"image": image, "layer": layer, "head": "mean", **dict.fromkeys(NUMBERS, number)}
        for number, layer in enumerate(layers)
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
    save_csv(similarity_table(subjects, seed=0), place / "similarity.csv")
    save_csv(attention_table(subjects), place / "attention.csv")
    numbers = dict.fromkeys([*MEANS, "max_abs_effective", *SHARES, "share_above_1", *CAPACITIES])
    spectrum = [
        {**numbers, "label": label, "under": "", "layer": layer, "n_images": 4, "flags": ""}
        | {"second_abs": layer / 4, "second_abs_effective": layer / 2}
        for label in LABELS
        for layer in (1, 2)
    ]
    save_csv(pd.DataFrame(spectrum)[list(COLUMNS)], place / "spectrum.csv")
    figure = Figure()
    figure.subplots().set_title("words")
    save_pictures([Picture("attention-a", "Attention: a", "a map", figure)], place)
    models = {
        label: {
            "model": label,
            "weights_sha256": done.manifest.evaluations[at].record.weights_sha256,
        }
        for at, label in enumerate(LABELS)
    }
    record = {
        **{"models": models, "dataset": {"name": "photographs"}, "settings": {"tokens": "all"}},
        "pictures": ["similarity.png", "attention-a.png"],
    }
    (place / "analysis.json").write_text(json.dumps(record))
    return done


def section_of(run: RunFolder) -> Representations:
    runs = merge([run])
    return representations_of(runs, Models.of(results(runs), LABELS[0]))


def drawing(panel: Panel) -> Drawing:
    (view,) = panel.views
    assert view.curve is not None
    return view.curve


def test_curves_maps_and_last_layers_stand_before_the_tables(
    run: RunFolder, tmp_path: Path
) -> None:
    runs = merge([run])
    page = Read(write_page(runs, results(runs), tmp_path))
    sections = [element.attributes["id"] for element in page.elements if element.tag == "section"]
    assert sections.index("representations") == sections.index("tables") - 1
    assert "over 4 images of photographs. Thin lines with hollow markers: under" in page.texts
    cells = [
        float(element.attributes["data-value"])
        for element in page.elements
        if element.tag == "td" and "data-value" in element.attributes
    ]
    assert {0.3015, 0.5015, 1.0} <= {round(value, 6) for value in cells}
    table = pd.read_csv(run.path / "analysis" / "similarity.csv")
    last = table[table["layer"] == 10].iloc[0]
    assert f"{last['similarity_ci_low']:.3f}–{last['similarity_ci_high']:.3f}" in page.texts
    assert "images 4" in page.texts


def test_a_map_has_no_paper_and_words_in_the_page_s_ink(run: RunFolder) -> None:
    (picture,) = [one for kind in section_of(run).shown for one in kind.pictures]
    assert (picture.title, picture.alt) == ("Attention: a", "a map")
    start, _, content = picture.uri.partition(",")
    assert start == "data:image/svg+xml;base64"
    svg = b64decode(content).decode()
    style = svg[svg.rindex("<style>") : svg.rindex("</style>")]
    assert "#patch_1 path { fill: none !important }" in style
    assert re.search(r'<g id="patch_1">\s*<path [^>]*fill: #ffffff', svg)
    assert '[id^="text_"] { fill: light-dark(#16202b, #e8edf2) }' in style
    assert '<g id="text_1">' in svg


def test_a_line_for_each_model_and_a_thin_one_under_the_attack(run: RunFolder) -> None:
    similarity, attention, spectrum, _ = section_of(run).shown
    (panel,) = similarity.panels
    assert panel.title == "Tokens after the block"
    drawn = drawing(panel)
    assert [series.model for series in drawn.series] == [0, 0, 1, 1]
    assert [series.kind.endswith(" thin") for series in drawn.series] == [False, True] * 2
    texts = [point.text for point in drawn.series[1].points]
    table = pd.read_csv(run.path / "analysis" / "similarity.csv")
    rows = table[(table["label"] == LABELS[0]) & (table["under"] == UNDER)]
    assert texts == [
        f"first <b> under {UNDER}, layer {row.layer}: {row.similarity:.3f}, 95 % interval "
        f"{row.similarity_ci_low:.3f} to {row.similarity_ci_high:.3f} (4 images)"
        for row in rows.itertuples()
    ]
    assert [panel.title for panel in spectrum.panels] == [
        "Second largest eigenvalue",
        "Second largest",
    ], "shares are not known"
    assert [panel.notes for panel in attention.panels] == [["c1: class attention."]] * 3


def test_heights_and_places_follow_from_the_numbers(run: RunFolder) -> None:
    runs = merge([run])
    rows = pd.DataFrame(
        {
            **{"label": LABELS[1], "under": "", "n_images": 3},
            "layer": ["0", "1", "2", "class-1"],
            "number": [0.0, 0.25, 0.5, 1.0],
            LOW: [0.0, 0.2, 0.4, 0.8],
            HIGH: [0.0, 0.3, 0.6, 1.0],
        }
    )
    models = Models.of(results(runs), "")
    (panel,) = layer_panel(rows, Quantity("number", "Number", "of it"), models)
    drawn = drawing(panel)
    (series,) = drawn.series
    assert [point.x for point in series.points] == [
        LEFT + (drawn.right - LEFT) * share for share in (0, 0.25, 0.5, 1)
    ]
    assert [point.y for point in series.points] == pytest.approx(
        [drawn.bottom - (drawn.bottom - TOP) * value for value in (0, 0.25, 0.5, 1)]
    )
    assert series.path.count("M") == 2, "a gap before class attention"
    assert series.ranges.count("M") == 4
    assert [text for _, text in drawn.ticks] == ["0", "1", "2", "c1"]
    assert [text for _, text in drawn.across][::5] == ["0", "1"]
    assert (
        list(layer_panel(rows.assign(number=float("nan")), Quantity("number", "", ""), models))
        == []
    )


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
    (place / "attention-a.png").write_bytes(b"GIF89a")


def half_a_picture(place: Path) -> None:
    text = (place / "attention-a.svg").read_text()
    (place / "attention-a.svg").write_text(text[: len(text) // 2])


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (other_weights, "its second has other weights than the networks of this run"),
        (no_record, "is not JSON"),
        (a_list, "its files are damaged (TypeError"),
        (other_columns, "its files are damaged (KeyError"),
        (words_for_numbers, "its files are damaged (ValueError"),
        (no_picture, "its files are damaged (UnidentifiedImageError"),
        (half_a_picture, "its files are damaged (ValueError: attention-a.svg is no SVG"),
    ],
)
def test_what_is_not_of_the_run_is_left_out_with_a_note(
    run: RunFolder, damage: Callable[[Path], None], reason: str
) -> None:
    place = run.path / "analysis"
    before: dict[Path, Any] = {path: path.read_bytes() for path in place.iterdir()}
    damage(place)
    try:
        section = section_of(run)
    finally:
        for path, content in before.items():
            path.write_bytes(content)
    assert not section.shown
    (note,) = section.notes
    assert note.startswith(f"The analysis in {place} is left out: ")
    assert reason in note


def test_a_run_without_an_analysis_has_no_such_section(tmp_path: Path) -> None:
    done = write_run(tmp_path / "run", {"only": {"clean": [0, 1]}})
    section = section_of(done)
    assert not section.shown
    assert not section.notes
