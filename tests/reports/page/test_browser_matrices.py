"""The matrices and the table of all results in a browser: what a click and a key show."""

import csv
import io
import re

import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.reports.page import test_browser as chromium

address, browser, only, opened = (
    *(chromium.address, chromium.browser),
    *(chromium.only, chromium.opened),
)
pytestmark = chromium.pytestmark
Opened = chromium.Opened


def cell(page: Page, row: int, column: int) -> Locator:
    """A visible cell of the comparison."""
    return page.locator(
        f'#comparison [data-base]:not([hidden]) tr[data-model="{row}"] td[data-column="{column}"]'
    )


def shown(page: Page) -> dict[str, str]:
    """What is said of the chosen cell."""
    names = page.locator(".picked dt").all_inner_texts()
    return dict(zip(names, page.locator(".picked dd").all_inner_texts(), strict=True))


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def test_a_click_on_a_cell_shows_its_numbers(opened: Opened) -> None:
    page = opened.open()
    assert page.locator(".picked").is_hidden()
    chosen = cell(page, 2, 1)
    chosen.click()
    assert opened.fragment == "cell=2.1"
    assert page.locator(".picked h3").inner_text() == "c, PGD-20 at 1/255"
    difference = float(str(chosen.get_attribute("data-value")))
    assert number(page.locator(".picked .big span").inner_text()) == difference == -20
    low, high, base, model, images, p, _ = map(
        float, str(chosen.get_attribute("data-more")).split()
    )
    facts = shown(page)
    assert [number(end) for end in facts["95 % interval"].split(" to ")] == [low, high]
    assert facts["only a right"] == f"{base:g} of {images:g}"
    assert facts["only this model right"] == f"{model:g} of {images:g}"
    assert float(facts["McNemar's exact p"]) == p == 0.5
    assert facts["verdict"] == "not shown"


def test_arrow_keys_move_through_the_matrix(opened: Opened) -> None:
    page = opened.open()
    cell(page, 1, 0).focus()
    steps = (
        ("Enter", "1.0"),
        ("ArrowRight", "1.1"),
        ("ArrowDown", "2.1"),
        ("ArrowDown", "2.1"),
        ("ArrowLeft", "2.0"),
        ("ArrowLeft", "2.0"),
        ("ArrowUp", "1.0"),
    )
    for key, place in steps:
        page.keyboard.press(key)
        assert opened.fragment == f"cell={place}"
        row, column = map(int, place.split("."))
        assert "chosen" in str(cell(page, row, column).get_attribute("class"))
    assert page.locator('#comparison td[tabindex="0"]:visible').count() == 1


def test_a_click_on_a_model_draws_its_differences(opened: Opened) -> None:
    page = opened.open()
    assert page.locator(".forest-of").inner_text() == "b"
    page.locator('#comparison tr[data-model="2"] .model button').first.click()
    assert page.locator(".forest-of").inner_text() == "c"
    axis = page.locator(".forest [data-base]:not([hidden])")
    zero, scale = (float(str(axis.get_attribute(f"data-{name}"))) for name in ("zero", "scale"))
    marks = page.locator(".forest .mark").all()
    for column, mark in enumerate(marks):
        one = cell(page, 2, column)
        difference = float(str(one.get_attribute("data-value")))
        low, high, *_ = map(float, str(one.get_attribute("data-more")).split())
        x = float(str(mark.locator("circle").get_attribute("cx")))
        assert x == pytest.approx(zero + scale * difference)
        path = str(mark.locator(".interval").get_attribute("d"))
        ends = [float(end) for end in re.findall(r"[MH](-?[\d.]+)", path)]
        assert ends == pytest.approx([zero + scale * low, zero + scale * high])
        assert mark.locator(".value").text_content() == one.inner_text()
    assert len(marks) == 6


def test_another_baseline_changes_both_matrices(opened: Opened) -> None:
    page = opened.open()
    before = float(str(cell(page, 1, 1).get_attribute("data-value")))
    page.locator("select").select_option(label="b")
    assert opened.fragment == "base=1"
    assert page.locator("#comparison .differing:visible").count() == 1
    assert "minus that of net_b" in page.locator("#comparison .hint:visible").first.inner_text()
    assert float(str(cell(page, 0, 1).get_attribute("data-value"))) == -before != 0
    page.locator("#corruptions .switch label", has_text="minus baseline").click()
    assert opened.fragment in ("base=1;corr=diff", "corr=diff;base=1")
    rows = page.locator(".top1 .corrupted tbody tr").all()
    base = rows[1].locator("td").all()
    for row in (rows[0], rows[2]):
        for one, other in zip(row.locator("td").all(), base, strict=True):
            value, reference = (float(str(of.get_attribute("data-value"))) for of in (one, other))
            assert number(one.locator(".relative").inner_text()) == pytest.approx(value - reference)
            assert one.locator(".plain").is_hidden()
    assert base[0].locator(".plain").is_visible()


def test_an_address_leads_to_a_cell_of_another_baseline(opened: Opened) -> None:
    page = opened.open("#comparison;base=2;cell=0.3")
    assert page.locator(".picked h3").inner_text().startswith("a, ")
    assert "points to c" in page.locator(".picked .big").inner_text()
    assert page.locator("select").input_value() == "2"
    page = opened.open("#base=17;cell=x.y")
    assert page.locator(".picked").is_hidden()
    assert page.locator("select").input_value() == "0"


def test_results_are_filtered_and_copied(opened: Opened) -> None:
    page = opened.open()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    assert page.locator("#all [role=status]").inner_text() == "18 of 18"
    page.locator("#all input").fill("PGD@ net_b")
    assert page.locator("#all [role=status]").inner_text() == "2 of 18"
    assert opened.fragment == "q=PGD%40%20net_b"
    page.locator(".copy-table").click()
    page.locator(".copy-table", has_text="Copied").wait_for()
    head, *rows = csv.reader(io.StringIO(page.evaluate("navigator.clipboard.readText()")))
    assert head[:4] == ["model", "condition", "top-1", "from"]
    assert [row[:2] for row in rows] == [["net_b", "pgd@1/255"], ["net_b", "pgd@4/255"]]
    assert [float(row[2]) for row in rows] == [80, 70]
    page.locator("#all input").fill("")
    assert page.locator("#all tbody tr:visible").count() == 18


def test_without_the_script_the_first_comparison_is_shown(browser: Browser, address: str) -> None:
    context = browser.new_context(
        java_script_enabled=False, viewport={"width": 1440, "height": 900}
    )
    page = context.new_page()
    page.goto(address)
    assert page.locator("#comparison .differing:visible").count() == 1
    assert page.locator(".forest .mark:visible").count() == 6
    assert page.locator("select:visible, .picked:visible, #all input:visible").count() == 0
    page.locator("#corruptions .switch label", has_text="minus baseline").click()
    assert page.locator(".corrupted tbody tr").nth(1).locator(".relative").first.is_visible()
    context.close()
