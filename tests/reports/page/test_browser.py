"""The page in a browser: what a reader can do with it, and that it needs nothing for it."""

import re
import shutil
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from reports import merge, results
from reports.page import write_page
from tests.reports.made import Outcomes, write_run

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
ALONE = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"),
    *("--disable-component-update", "--disable-sync"),
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="neither chromium nor google-chrome is installed"),
]
LABELS = ("net_a", "net_b", "net_c")
WIDTHS = (1440, 1024, 390)
FOCUSED = "[...document.querySelectorAll('*')].indexOf(document.activeElement)"


OUTLINED = """[document.activeElement, document.activeElement.parentElement].some(
    (one) => one === document.documentElement || getComputedStyle(one).outlineStyle !== 'none')"""
"""Whether the focus is seen; a switch shows it around its word."""


class Opened(NamedTuple):
    """A page in the browser, where it lies, and what went wrong in it or left it."""

    page: Page
    address: str
    troubles: list[str]

    def open(self, fragment: str = "") -> Page:
        """The page as one sees it who follows a link to it."""
        self.page.goto("about:blank")
        self.page.goto(self.address + fragment)
        return self.page

    @property
    def fragment(self) -> str:
        """Of the address now."""
        return self.page.url.partition("#")[2]


def outcomes(shift: int) -> Outcomes:
    """Of ten images under attacks of several budgets, one of one budget, and a corruption."""
    names = (
        "clean",
        "pgd@1/255",
        "pgd@4/255",
        "fgsm@4/255",
        "imagenet-c/fog/1",
        "imagenet-c/fog/3",
    )
    return {
        name: [int(image < number + shift) * (6 if image % 2 else 1) for image in range(10)]
        for number, name in enumerate(names)
    }


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("page")
    models = {label: outcomes(shift) for shift, label in enumerate(LABELS)}
    runs = merge([write_run(folder / "run", models, part_size=10)])
    return write_page(runs, results(runs), folder).as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ALONE))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def only(browser: Browser, address: str) -> Opened:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    local = (address, "about:", "data:")
    page.on(
        "request",
        lambda request: None if request.url.startswith(local) else troubles.append(request.url),
    )
    return Opened(page, address, troubles)


@pytest.fixture
def opened(only: Opened) -> Iterator[Opened]:
    """Nothing goes wrong and nothing is loaded, whatever a test does."""
    only.troubles.clear()
    only.page.set_viewport_size({"width": 1440, "height": 900})
    only.page.emulate_media(media="screen", color_scheme="light")
    yield only
    assert only.troubles == []


def of(place: Locator | Page, label: str, inside: str = "") -> Locator:
    """All that is of a model."""
    return place.locator(f'{inside} [data-model="{LABELS.index(label)}"]')


def test_the_first_screen_shows_headline_curve_and_leaderboard(opened: Opened) -> None:
    page = opened.open()
    for shown in (".headline", "#overview .chart.wide", "#overview .board"):
        box = page.locator(shown).bounding_box()
        assert box is not None, shown
        assert box["y"] + box["height"] <= 900, shown


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_never_wider_than_the_screen(opened: Opened, width: int) -> None:
    opened.page.set_viewport_size({"width": width, "height": 900})
    page = opened.open()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for chart in page.locator("svg.chart:visible:not(.scroll *)").all():
        texts = [box for text in chart.locator("text").all() if (box := text.bounding_box())]
        assert all(0 <= box["x"] <= box["x"] + box["width"] <= width for box in texts)


def test_the_pointer_shows_the_value_of_the_nearest_point(opened: Opened) -> None:
    page = opened.open()
    tip, chart = page.locator(".tip"), page.locator("#overview .chart.wide")
    assert tip.is_hidden()
    box = of(chart, "net_c").locator(".marker").last.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2 + 5, box["y"] + box["height"] / 2)
    assert tip.inner_text().split("\n") == [
        "net_c fgsm@4/255",
        "50.00 %, 95 % interval 23.7 to 76.3 (10 images)",
    ]
    assert "hot" in str(of(chart, "net_c").get_attribute("class"))
    whole = chart.bounding_box()
    assert whole is not None
    page.mouse.move(whole["x"] + whole["width"] / 3, whole["y"] + whole["height"] / 3)
    assert tip.is_hidden()
    assert page.locator(".hot").count() == 0


def test_the_pointer_shows_the_interval_of_a_cell_and_its_title_comes_back(opened: Opened) -> None:
    page = opened.open()
    bar = page.locator(".board .bar").first
    title = str(bar.get_attribute("title"))
    bar.hover()
    assert page.locator(".tip").inner_text() == title
    assert "95 % interval" in title
    assert bar.get_attribute("title") is None
    page.locator("h1").hover()
    assert page.locator(".tip").is_hidden()
    assert bar.get_attribute("title") == title


def test_a_model_that_stands_out_does_so_everywhere(opened: Opened) -> None:
    page = opened.open()
    keys = page.locator(".legend button")
    keys.nth(1).click()
    assert opened.fragment == "iso=1"
    for place in ("#overview .chart.wide", "#overview .board", "#attacks"):
        assert "iso" in str(of(page, "net_b", place).first.get_attribute("class"))
        assert "dim" in str(of(page, "net_a", place).first.get_attribute("class"))
    assert of(page, "net_b", "#attacks").locator(".range").first.is_visible()
    keys.nth(2).click(modifiers=["Shift"])
    assert opened.fragment == "iso=1.2"
    assert [key.get_attribute("aria-pressed") for key in keys.all()] == ["false", "true", "true"]
    page.locator('.board [data-isolate="0"] button').click()
    assert opened.fragment == "iso=0"
    page.locator("#overview .chart.wide .name", has_text="a").click()
    assert opened.fragment == ""
    assert page.locator(".dim").count() == 0


def test_models_are_left_out_and_come_back(opened: Opened) -> None:
    page = opened.open()
    page.locator(".filter summary").click()
    page.locator(".filter label", has_text="b").click()
    assert page.locator(".filter summary").inner_text() == "Models 2 of 3"
    assert opened.fragment == "off=1"
    assert of(page, "net_b").count() > 5
    assert not any(shown.is_visible() for shown in of(page, "net_b").all())
    assert of(page, "net_a", ".board").is_visible()
    page.locator(".filter button").click()
    assert opened.fragment == ""
    assert of(page, "net_b", ".board").is_visible()
    page.locator("h1").click()
    assert page.locator(".filter button").is_hidden()


def test_top_five_takes_the_place_of_top_one(opened: Opened) -> None:
    page = opened.open()
    assert page.locator("#attacks .top1").first.is_visible()
    assert page.locator("#attacks .top5").first.is_hidden()
    for place, other in (("#attacks", "top-5"), ("#corruptions", "top-1")):
        page.locator(f"{place} .switch label", has_text=other).click()
        accuracy = other.replace("-", "")
        assert opened.fragment == ("top=5" if accuracy == "top5" else "")
        for section in ("#attacks", "#corruptions"):
            for one in ("top1", "top5"):
                assert page.locator(f"{section} .{one}").first.is_visible() == (one == accuracy)


def test_an_address_shows_what_its_sender_saw(opened: Opened) -> None:
    fragment = "#attacks;theme=dark;top=5;iso=0;off=2"
    page = opened.open(fragment)
    for _ in range(2):
        assert page.locator("html").get_attribute("data-theme") == "dark"
        assert page.locator("#attacks .top5").first.is_visible()
        assert "iso" in str(of(page, "net_a", ".board").get_attribute("class"))
        assert of(page, "net_c", ".board").is_hidden()
        assert page.evaluate("document.getElementById('attacks').getBoundingClientRect().top") < 100
        page.reload()


@pytest.mark.parametrize(
    "fragment", ["#no-such;top=7;iso=99.x;off=;theme=purple", "#%E0%A4;=;;a=%"]
)
def test_an_address_that_says_nonsense_shows_the_page(opened: Opened, fragment: str) -> None:
    page = opened.open(fragment)
    assert page.locator("#attacks .top1").first.is_visible()
    assert page.locator('#attacks [name="top"][value="1"]').is_checked()
    assert page.locator(".dim, .off").count() == 0
    page.locator(".legend button").first.click()
    assert "iso=0" in opened.fragment


def test_links_keep_what_was_chosen_and_mark_where_they_lead(opened: Opened) -> None:
    page = opened.open("#iso=1")
    page.locator("nav a", has_text="Caveats").click()
    assert opened.fragment == "caveats;iso=1"
    page.locator('nav a[aria-current]:has-text("Caveats")').wait_for()
    chip = page.locator(".chip").first
    target = str(chip.get_attribute("href"))
    chip.click()
    assert opened.fragment == f"{target[1:]};iso=1"
    assert "current" in str(page.locator(target).get_attribute("class"))
    page.go_back()
    page.wait_for_function("location.hash === '#caveats;iso=1'")
    assert page.locator(".current").get_attribute("id") == "caveats"


def test_colours_follow_the_system_until_the_reader_chooses(opened: Opened) -> None:
    page = opened.open()

    def ground() -> int:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    light = ground()
    page.emulate_media(color_scheme="dark")
    dark = ground()
    assert dark < 100 < 600 < light
    theme = page.locator(".theme")
    for fragment, seen in (("theme=dark", dark), ("theme=light", light), ("", dark)):
        theme.click()
        assert (opened.fragment, ground()) == (fragment, seen)
    theme.click()
    page.emulate_media(media="print")
    assert ground() == 3 * 255


def test_tables_are_sorted_by_a_click(opened: Opened) -> None:
    page = opened.open()
    board = page.locator(".board").first

    def shown() -> list[float]:
        cells = board.locator("tbody td:nth-child(2)").all()
        return [float(str(cell.get_attribute("data-value"))) for cell in cells]

    clean = board.locator("thead th button", has_text="clean")
    clean.click()
    assert shown() == sorted(shown(), reverse=True)
    clean.click()
    assert all(one < other for one, other in pairwise(shown()))


def test_paper_shows_all_models_and_no_controls(opened: Opened) -> None:
    page = opened.open("#iso=0;off=1")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 560, "height": 800})  # less than A4: the run has few columns
    assert page.evaluate("document.querySelector('.board').offsetWidth") <= page.evaluate(
        "document.querySelector('.hero .scroll').clientWidth"
    )
    assert of(page, "net_b", ".board").is_visible()
    opacity = page.evaluate("getComputedStyle(document.querySelector('.board .dim')).opacity")
    assert opacity == "1"
    assert page.locator("nav, .script-only, .tip").first.is_hidden()
    folded = page.locator("main details:not([open])")
    texts = "(one) => one.lastElementChild.checkVisibility({contentVisibilityAuto: true})"
    assert folded.count() > 3
    assert all(fold.evaluate(texts) for fold in folded.all())
    page.emulate_media(media="screen")
    assert not any(fold.evaluate(texts) for fold in folded.all())
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert folded.count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert folded.count() > 3


def test_without_the_script_all_is_shown_and_no_control_is_dead(
    browser: Browser, address: str
) -> None:
    context = browser.new_context(
        java_script_enabled=False, viewport={"width": 1440, "height": 900}
    )
    page = context.new_page()
    page.goto(address)
    assert page.locator("button:visible").count() == 0
    assert page.locator(".script-only:visible").count() == 0
    assert page.locator(".board tbody tr:visible").count() == len(LABELS)
    page.locator("#attacks .switch label", has_text="top-5").click()
    assert page.locator("#attacks .top5").first.is_visible()
    assert page.locator("#attacks .top1").first.is_hidden()
    assert page.locator("#corruptions .top1").first.is_visible()
    page.locator("#corruptions .switch label", has_text="top-5").click()
    assert page.locator("#corruptions .top5").first.is_visible()
    context.close()


def test_tab_reaches_every_control_and_shows_where_it_is(opened: Opened) -> None:
    page = opened.open()
    controls = "a[href], button, summary, select, [tabindex='0'], input"
    wanted = page.evaluate(
        f"""() => {{
            const all = [...document.querySelectorAll('*')];
            return all.filter((one) => one.matches("{controls}") && one.checkVisibility()
                && !(one.type === "radio" && !one.checked)).map((one) => all.indexOf(one));
        }}"""
    )
    reached = set()
    for _ in range(len(wanted) + 5):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(FOCUSED))
        assert page.evaluate(OUTLINED), page.evaluate("document.activeElement.outerHTML")
    missed = set(wanted) - reached
    every = "(numbers) => numbers.map((n) => document.querySelectorAll('*')[n].outerHTML)"
    assert not missed, page.evaluate(every, list(missed))


def test_arrow_keys_lead_through_the_legend(opened: Opened) -> None:
    page = opened.open()
    keys = page.locator(".legend button")
    keys.first.focus()
    for key, name in (
        ("ArrowRight", "b"),
        ("ArrowDown", "c"),
        ("ArrowRight", "c"),
        ("ArrowLeft", "b"),
    ):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.textContent") == name
    page.keyboard.press("Enter")
    assert opened.fragment == "iso=1"
    page.keyboard.press("Escape")
    assert opened.fragment == ""
