"""The summary in sentences."""

import pandas as pd
import pytest

from reports.merging.sessions import Session
from reports.page.summary import distrust_first, flags_by_kind, headlines, what_was_run
from reports.statistics.intervals import wilson
from tests.reports.plots.rows import IMAGES, attacks_of, joined, patches, row, sweep, table

RIGHT = {"0": 150, "0.5": 120, "1": 60, "4": 10}


def with_intervals(rows: pd.DataFrame) -> pd.DataFrame:
    """The columns that `sweep` leaves empty."""
    scored = rows["status"] == "ok"
    counts = zip(rows["top1"], rows["n_images"], scored, strict=True)
    ranges = [
        wilson(round(top1 * n / 100), n) if ok else (float("nan"),) * 2 for top1, n, ok in counts
    ]
    low, high = ([100 * bounds[end] for bounds in ranges] for end in (0, 1))
    return rows.assign(top1_ci_low=low, top1_ci_high=high)


def test_precision_is_the_larger_side_of_an_interval_that_is_not_even() -> None:
    """All 200 right: nothing above 100, and 1.88 points below."""
    rows = with_intervals(sweep("A", "fgsm", {"0": 200}))
    (sentence,) = [line for line in distrust_first(rows, [], attacks_of(rows)) if "95 %" in line]
    assert f"up to {100 * (1 - wilson(200, 200).low):.1f} points to either side" in sentence
    assert "up to 1.9 points" in sentence


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


def session(*, dirty: bool) -> Session:
    return Session.model_validate({"started": "", "git": {"commit": "a", "dirty": dirty}})


def doubts(rows: pd.DataFrame, *sessions: Session) -> list[str]:
    return list(distrust_first(with_intervals(rows), sessions, attacks_of(rows)))


def test_what_is_not_scored_comes_first() -> None:
    rows = sweep("A", "pgd", {"0": 150, "1": None, "2": None, "3": None, "4": None})
    first, *_ = doubts(rows.assign(flags="random-weights"))
    assert first.startswith("4 of 5 results are not scored: A pgd@1/255 (error), ")
    assert first.endswith(" and 1 more.")


def test_flags_are_said_by_weight_once_a_kind() -> None:
    rows = sweep("A", "pgd", {"0": 150, "1": 60, "4": 20})
    flags = ["random-weights", "8bit-+3-right;random-weights", "8bit--12-right;random-weights"]
    sentences = doubts(rows.assign(flags=flags))
    assert sentences[0].startswith("random-weights (all results): the network was never trained")
    assert sentences[1].startswith("8bit--12-right and 1 like it (2 of 3 results): rounding")
    assert sum("8bit" in sentence for sentence in sentences) == 1


def test_the_width_of_intervals_is_said() -> None:
    (sentence,) = (doubt for doubt in doubts(sweep("A", "pgd", RIGHT)) if "interval" in doubt)
    low, high = wilson(120, IMAGES)
    assert f"With {IMAGES} images" in sentence
    assert f"up to {100 * max(high - 120 / IMAGES, 120 / IMAGES - low):.1f} points" in sentence


@pytest.mark.parametrize(
    ("attack", "message"),
    [("pgd", True), ("fgsm", True), ("spsa", False), ("noise", False), ("foolbox:Square", False)],
)
def test_missing_black_box_attacks_are_said(attack: str, message: bool) -> None:
    sentences = doubts(sweep("A", attack, RIGHT))
    assert any("without gradients" in sentence for sentence in sentences) is message
    both = doubts(joined(sweep("A", attack, RIGHT), sweep("A", "spsa", {"1": 1})))
    assert not any("without gradients" in sentence for sentence in both)


def test_nobody_is_told_to_draw_patches_without_gradients() -> None:
    drawn = patches("A", "patch", {0: 150, 16: 20})
    sentences = " ".join(doubts(drawn))
    assert "SPSA" not in sentences
    assert "along gradients alone: a model that only hides its gradients" in sentences
    assert "SPSA" in " ".join(doubts(joined(drawn, sweep("A", "pgd", RIGHT))))


def test_two_protocols_and_changed_code_are_said() -> None:
    rows = joined(sweep("A", "pgd", RIGHT), sweep("A", "pgd", RIGHT, protocol="paper"))
    sentences = " ".join(doubts(rows, session(dirty=True), Session(started="")))
    assert "cannot be compared" in sentences
    assert "no commit holds" in sentences
    one = " ".join(doubts(sweep("A", "pgd", RIGHT), session(dirty=False)))
    assert "cannot be compared" not in one
    assert "no commit holds" not in one


def test_nothing_at_all() -> None:
    assert doubts(table([])) == ["Nothing was scored."]
    assert list(headlines(table([]))) == list(what_was_run(table([]), attacks_of(table([])))) == []


def test_kinds_of_flags_name_the_results_that_have_them() -> None:
    rows = joined(*(sweep(f"m{n}", "pgd", {"1": 5}) for n in range(9)))
    flags = ["8bit-+1-right"] * 8 + [""]
    (kind,) = flags_by_kind(rows.assign(flags=flags))
    assert kind.results == 8
    assert kind.where == (
        "8bit-+1-right: " + ", ".join(f"m{n} pgd@1/255" for n in range(6)) + " and 2 more",
    )
