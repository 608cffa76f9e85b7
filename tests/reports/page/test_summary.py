"""What was run and what came out, in sentences."""

import pytest

from reports.page.sections.summary import headlines, what_was_run
from reports.statistics.intervals import wilson
from tests.reports.plots.rows import (
    IMAGES,
    attacks_of,
    joined,
    patches,
    row,
    sweep,
    table,
    with_intervals,
)

RIGHT = {"0": 150, "0.5": 120, "1": 60, "4": 10}


def test_what_was_run_names_models_images_attacks_and_budgets() -> None:
    rows = joined(sweep("A", "fgsm", RIGHT), sweep("A", "pgd", {"1": 5}), sweep("B", "fgsm", RIGHT))
    (sentence,) = what_was_run(rows, attacks_of(rows))
    assert sentence == (
        "2 models (A, B) on photos (200 images), protocol pixel: clean images; "
        "FGSM at 0.5, 1 and 4/255; PGD-20 at 1/255."
    )


def test_each_place_has_a_sentence() -> None:
    rows = joined(sweep("A", "fgsm", RIGHT), sweep("A", "fgsm", RIGHT, protocol="paper"))
    assert [said.count("protocol paper") for said in what_was_run(rows, attacks_of(rows))] == [0, 1]


def test_many_models_are_counted_and_one_image_is_one() -> None:
    rows = joined(*(sweep(f"m{n}", "fgsm", {"0": 1}, n_images=1) for n in range(7)))
    assert next(what_was_run(rows, attacks_of(rows))).startswith("7 models on photos (1 image), ")


def test_corruptions_and_sets_without_budgets_are_said() -> None:
    rows = table(
        [
            row("A", "imagenet-c/fog/1", 5, source="official"),
            row("A", "imagenet-c/snow/3", 5, source="official"),
            row("A", "imagenet-a", 5),
        ]
    )
    (sentence,) = what_was_run(rows, attacks_of(rows))
    assert "2 corruptions of ImageNet-C at severity 1 and 3 (official)" in sentence
    assert sentence.endswith("imagenet-a.")


@pytest.mark.slow
def test_headlines_are_clean_and_the_strongest_attack_near_1_255() -> None:
    rows = joined(
        sweep("A", "fgsm", RIGHT),
        sweep("A", "pgd", {"0.5": 20, "1.5": 8, "4": 0}),
        sweep("B", "pgd", {}),
    )
    (sentence,) = headlines(with_intervals(rows))
    low, high = wilson(20, IMAGES)
    assert sentence.startswith("A: 75.0 % top-1 on clean images (95 % interval ")
    assert sentence.endswith(
        f"10.0 % top-1 under pgd@0.5/255 (95 % interval {100 * low:.1f} to {100 * high:.1f})."
    )


def test_under_the_paper_s_protocol_the_headline_is_4_255() -> None:
    (sentence,) = headlines(with_intervals(sweep("A", "pgd", RIGHT, protocol="paper")))
    assert "pgd@4/255" in sentence


def test_of_patches_sides_are_said_and_the_headline_is_32_pixels() -> None:
    rows = patches("A", "patch", {0: 150, 16: 60, 32: 10, 48: 0})
    (sentence,) = what_was_run(rows, attacks_of(rows))
    assert sentence.endswith("protocol patch: clean images; patch at 16, 32 and 48 px.")
    (headline,) = headlines(with_intervals(rows))
    assert "5.0 % top-1 under patch@patch:32" in headline


def test_a_failed_headline_says_so() -> None:
    rows = joined(sweep("A", "pgd", RIGHT), sweep("B", "pgd", {"0": 150, "1": None}))
    sentences = list(headlines(with_intervals(rows)))
    assert sentences[1].endswith("no number under pgd@1/255 (error).")


@pytest.mark.slow
def test_of_many_models_the_extremes_are_said() -> None:
    rows = [sweep(f"m{n}", "pgd", {"0": 100 + n, "1": 50 - max(n, 1)}) for n in range(8)]
    clean, attacked = headlines(with_intervals(joined(*rows)))
    assert clean.startswith("Highest of 8: m7, 53.5 % top-1 on clean images")
    assert "lowest: m0, 50.0 %" in clean
    assert attacked.startswith("Highest of 8: m0, m1, 24.5 % top-1 under pgd@1/255")


def test_no_attack_leaves_clean_numbers() -> None:
    (sentence,) = headlines(with_intervals(sweep("A", "pgd", {"0": 150})))
    assert sentence.count("top-1") == 1


def test_nothing_at_all() -> None:
    assert list(headlines(table([]))) == list(what_was_run(table([]), attacks_of(table([])))) == []
