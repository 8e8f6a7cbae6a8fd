"""The page in a real browser: it opens at once, finds, sorts, reads to its end by keyboard, and runs nobody's script."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from build import tried
from dialogues import record_of, simulated
from selenium.webdriver import Chrome
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from test_reports import HOSTILE, conversation, hostile, material, rate

from agenteval_cli.reports import Material, render_of

DRIVER = shutil.which("chromedriver")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not DRIVER or not CHROMIUM, reason="no Chromium with its driver on this machine"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1300,900"):
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.binary_location = str(CHROMIUM)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def shown(browser: Chrome, folder: Path, told: Material) -> Chrome:
    """The browser with the report on it."""
    page = folder / "report.html"
    page.write_text(render_of("html")(told), encoding="utf-8")
    browser.get("about:blank")
    browser.get_log("browser")  # type: ignore[no-untyped-call]
    browser.get(page.as_uri())
    return browser


def visible_cases(browser: Chrome) -> list[str]:
    return [button.text for button in browser.find_elements(By.CSS_SELECTOR, "tr:not([hidden]) a.link")]


def dialog(browser: Chrome) -> str:
    return browser.find_element(By.CSS_SELECTOR, "dialog").text


@pytest.fixture
def four(browser: Chrome, tmp_path: Path) -> Chrome:
    cases = (tried("apple", "PPP"), tried("banana", "PFF"), tried("cherry", "FFF"), tried("date", "U"))
    return shown(browser, tmp_path, material(*cases, base=[tried("banana", "PPP")], reason="it said no"))


@pytest.mark.slow
def test_nothing_of_a_hostile_transcript_runs_or_is_fetched(browser: Chrome, tmp_path: Path) -> None:
    shown(browser, tmp_path, hostile())
    for link in browser.find_elements(By.CSS_SELECTOR, "a.link"):
        link.click()
        assert "\\x1b[31m\\x00\\x12\\u202eabc\\u2028" in dialog(browser)
        assert "<script>alert(1)</script><img src=x onerror=alert(1)>" in dialog(browser)
        browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not browser.find_elements(By.CSS_SELECTOR, "img, iframe, object, embed, link, a[href^=javascript]")
    fetched = "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    assert browser.execute_script(fetched) == []
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


def test_the_policy_stops_a_handler_that_got_in_all_the_same(four: Chrome) -> None:
    four.execute_script(
        "document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,x\" onerror=\"document.title = 1\">')"
    )
    time.sleep(0.2)
    assert four.title.startswith("agenteval: ")
    assert "Content Security Policy" in str(four.get_log("browser"))  # type: ignore[no-untyped-call]


def test_what_did_not_pass_stands_first_and_the_table_filters_and_sorts(four: Chrome) -> None:
    assert visible_cases(four) == ["banana", "cherry", "date", "apple"]
    search = four.find_element(By.ID, "search")
    search.send_keys("said cherry")
    assert visible_cases(four) == ["cherry"]
    assert four.find_element(By.ID, "shown").text == "1 of 4 cases"
    search.clear()
    search.send_keys(" ")
    four.find_element(By.CSS_SELECTOR, "select[name=verdict] option[value=passed]").click()
    assert visible_cases(four) == ["apple"]
    four.find_element(By.CSS_SELECTOR, "select[name=verdict] option[value='']").click()
    four.find_element(By.CSS_SELECTOR, "select[name=change] option[value=broke]").click()
    assert visible_cases(four) == ["banana"]
    four.find_element(By.CSS_SELECTOR, "select[name=change] option[value='']").click()
    passed = four.find_element(By.XPATH, "//th[contains(., 'passed')]/button")
    passed.click()
    assert visible_cases(four) == ["apple", "banana", "cherry", "date"]
    passed.click()
    assert visible_cases(four) == ["date", "cherry", "banana", "apple"]
    assert four.find_element(By.XPATH, "//th[contains(., 'passed')]").get_attribute("aria-sort") == "ascending"


def test_a_case_that_moved_has_the_attempts_of_the_run_before_beside_its_own(four: Chrome) -> None:
    four.find_element(By.LINK_TEXT, "banana").send_keys(Keys.ENTER)
    attempts = four.find_elements(By.CSS_SELECTOR, "dialog .bar-of-buttons button")
    assert [button.text for button in attempts][2:4] == ["attempt 3: failed", "base, attempt 1: passed"]
    assert attempts[1].get_attribute("aria-pressed") == "true", "the first that did not pass, of its own"
    attempts[3].click()
    assert "Conversation" in dialog(four)
    assert four.find_element(By.CSS_SELECTOR, "dialog .attempt h3.passed").text == "passed"
    four.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
    four.find_element(By.LINK_TEXT, "apple").send_keys(Keys.ENTER)
    assert "base, attempt" not in dialog(four), "it did not move"


def test_everything_can_be_reached_by_keyboard(four: Chrome) -> None:
    def press(*keys: str) -> None:
        for key in keys:
            four.switch_to.active_element.send_keys(key)

    press("/", "an", Keys.ARROW_DOWN, Keys.ENTER)
    assert "banana 1/3" in dialog(four)
    assert four.find_element(By.CSS_SELECTOR, "button[aria-pressed=true]").text == "attempt 2: failed"
    assert "it said no" in dialog(four)
    press(Keys.ARROW_RIGHT)
    assert four.find_element(By.CSS_SELECTOR, "button[aria-pressed=true]").text == "attempt 3: failed"
    press(Keys.ARROW_RIGHT)
    assert four.find_element(By.CSS_SELECTOR, "button[aria-pressed=true]").text == "base, attempt 1: passed"
    assert "1. look" in dialog(four)
    press(Keys.ESCAPE)
    assert four.switch_to.active_element.text == "banana", "the focus is where it was"


def test_a_page_that_is_loaded_again_shows_the_same_case(four: Chrome) -> None:
    four.find_element(By.XPATH, "//a[.='cherry']").click()
    four.refresh()
    assert "cherry 0/3" in dialog(four)


def test_the_page_is_as_wide_as_a_telephone(four: Chrome) -> None:
    metrics = {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    four.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        width = "return document.documentElement.scrollWidth"
        assert four.execute_script(width) <= 380
        four.find_element(By.XPATH, "//a[.='banana']").click()
        assert four.execute_script("return document.querySelector('dialog').scrollWidth") <= 380
    finally:
        four.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_what_is_behind_them(four: Chrome, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    four.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    page = colour(four, "body", "background-color")
    for selector in (
        "body",
        "header p",
        ".mark.failed",
        ".mark.passed",
        ".mark.incomplete",
        "tbody small",
        "a.link",
    ):
        assert contrast(colour(four, selector, "color"), page) >= 4.5, selector


def colour(browser: Chrome, selector: str, name: str) -> tuple[float, ...]:
    value = browser.find_element(By.CSS_SELECTOR, selector).value_of_css_property(name)
    return tuple(float(part) for part in value.partition("(")[2].rstrip(")").split(",")[:3])


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """The ratio of WCAG."""

    def luminance(parts: tuple[float, ...]) -> float:
        shares = [part / 255 for part in parts]
        linear = [share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_without_a_script_the_failures_are_there(browser: Chrome, tmp_path: Path) -> None:
    disabled: dict[str, Any] = {"value": True}
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", disabled)
    try:
        shown(browser, tmp_path, hostile())
        browser.find_element(By.CSS_SELECTOR, "#failure-one summary").click()
        assert "##[error]pwned" in HOSTILE
        assert "##[error]pwned" in browser.find_element(By.ID, "failure-one").text
        assert not browser.find_element(By.ID, "filters").is_displayed()
    finally:
        disabled["value"] = False
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", disabled)


@pytest.fixture
def talked(browser: Chrome, tmp_path: Path) -> Chrome:
    earlier = tuple(rate(number, 10 - number) for number in range(1, 6))
    return shown(browser, tmp_path, conversation(record_of(simulated()), earlier=earlier))


def test_a_conversation_has_the_verdicts_of_each_turn_in_its_margin(talked: Chrome) -> None:
    talked.find_element(By.CSS_SELECTOR, "a.link").send_keys(Keys.ENTER)
    failed = talked.find_element(By.CSS_SELECTOR, "dialog ul.margin b.failed")
    assert failed.accessible_name == "failed"
    turn = failed.find_element(By.XPATH, "ancestor::div[contains(@class, 'turn')]")
    assert turn.text.splitlines()[:2] == ["agent (turn 2)", "It was paid."]
    answer = turn.find_element(By.CSS_SELECTOR, "pre")
    assert failed.location["x"] > answer.location["x"] + answer.size["width"], "beside it"
    assert "the user was done" in dialog(talked)
    assert "Checks of the whole\npassed outcome[0].contains" in dialog(talked)


def test_a_tool_call_is_folded_in_and_opens_by_keyboard(talked: Chrome) -> None:
    talked.find_element(By.CSS_SELECTOR, "a.link").send_keys(Keys.ENTER)
    call = talked.find_element(By.CSS_SELECTOR, "dialog details.call")
    assert call.text == '1. get_order({"order_id": "5678"}) → ok'
    call.find_element(By.CSS_SELECTOR, "summary").send_keys(Keys.ENTER)
    assert '{"paid": true}' in call.text


def test_a_point_of_the_history_leads_to_its_row_by_keyboard(talked: Chrome) -> None:
    points = talked.find_elements(By.CSS_SELECTOR, "svg a")
    assert len(points) == 6
    assert points[1].accessible_name.startswith("20261022T090000.000000Z-0002, 2026-10-22 09:00, commit 222222222222")
    talked.execute_script("arguments[0].focus()", points[1])
    talked.switch_to.active_element.send_keys(Keys.ENTER)
    assert talked.find_element(By.CSS_SELECTOR, "tr:target").text.startswith("20261022T090000.000000Z-0002")
    assert talked.find_element(By.CSS_SELECTOR, "figure details").get_attribute("open"), "the table has opened"


@pytest.mark.slow
def test_two_thousand_cases_open_within_a_second(browser: Chrome, tmp_path: Path) -> None:
    cases = [tried(f"case-{number:04}", "PPPPF" if number % 10 == 0 else "PPPPP") for number in range(2000)]
    told = material(*cases, reason="it said no " * 40)
    browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    # Time of the page's own thread: what else the machine does is no property of the page.
    before = busy(browser)
    shown(browser, tmp_path, told)
    took = busy(browser) - before
    assert took < 1.0
    assert len(browser.find_elements(By.CSS_SELECTOR, "tr:not([hidden]) a.link")) == 200
    browser.find_element(By.ID, "more").click()
    browser.find_element(By.ID, "search").send_keys("1999")
    assert visible_cases(browser) == ["case-1999"]


def busy(browser: Chrome) -> float:
    """Seconds that the page's thread has worked."""
    metrics = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "ThreadTime"))
