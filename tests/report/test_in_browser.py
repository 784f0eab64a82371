"""Pages in a real browser: each opens without an error, lines are lit on both sides, tabs and colours change."""

import shutil

import numpy as np
import pytest

import adjit
from tests.golden import primals
from tests.report import programs
from tests.report.pages import pages

webdriver = pytest.importorskip("selenium.webdriver")
common = pytest.importorskip("selenium.webdriver.common")

pytestmark = [
    pytest.mark.bridge,
    pytest.mark.skipif(not shutil.which("chromedriver"), reason="needs Chromium and its chromedriver"),
]
PAGES = pages()
QUIET = (
    "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking disable-component-update "
    "disable-sync window-size=1440,1000"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    for name in QUIET.split():
        options.add_argument(f"--{name}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


def opened(browser, file, derived, arguments):
    derived.report(file, *arguments)
    browser.get(file.as_uri())
    assert browser.get_log("browser") == []


def lit(browser, home):
    code = f"return [...document.querySelectorAll('#{home} .lit code')].map(one => one.textContent.trim())"
    return browser.execute_script(code)


@pytest.fixture
def diffuse(browser, tmp_path):
    opened(browser, tmp_path / "page.html", adjit.grad(programs.diffuse, wrt="alpha"), (np.ones(50), 0.1, 20))
    return browser


def line(browser, home, text):
    code = (
        f"return [...document.querySelectorAll('#{home} .ln[data-l]')].find(o => o.textContent.includes(arguments[0]))"
    )
    return browser.execute_script(code, text)


def test_hovering_lights_what_a_line_became(diffuse):
    move = webdriver.ActionChains(diffuse)
    move.move_to_element(line(diffuse, "primal", "for t in range(steps)")).perform()
    assert lit(diffuse, "primal") == ["for t in range(steps):"]
    assert any(one.startswith("for t in range(steps - 1, -1, -1)") for one in lit(diffuse, "text-0"))
    # and the other way round
    move.move_to_element(line(diffuse, "text-0", ": return np.sum(v * v)")).perform()
    assert lit(diffuse, "primal") == ["return np.sum(v * v)"]
    assert diffuse.get_log("browser") == []


def test_a_click_keeps_a_line_lit(diffuse):
    one = line(diffuse, "primal", "v = u.copy()")
    one.click()
    webdriver.ActionChains(diffuse).move_to_element(diffuse.find_element("css selector", "h1")).perform()
    assert lit(diffuse, "primal") == ["v = u.copy()"]
    assert "v = u.copy()" in lit(diffuse, "text-0")
    webdriver.ActionChains(diffuse).send_keys("\ue00c").perform()  # Escape
    assert lit(diffuse, "primal") == []


def test_tabs(diffuse):
    def shown():
        return [diffuse.find_element("id", f"text-{k}").is_displayed() for k in (0, 1)]

    assert shown() == [True, False]
    diffuse.find_element("id", "tab-1").click()
    assert shown() == [False, True]
    line(diffuse, "primal", "for t in range(steps)").click()
    assert lit(diffuse, "text-1")
    diffuse.find_element("id", "tab-0").click()
    assert shown() == [True, False]
    assert diffuse.get_log("browser") == []


def test_light_and_dark(diffuse):
    def paper():
        return diffuse.execute_script("return getComputedStyle(document.body).backgroundColor")

    found = [paper()]
    for _ in range(2):
        diffuse.find_element("id", "theme").click()
        found.append(paper())
    assert found[0] == found[2] != found[1]
    diffuse.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    diffuse.refresh()
    assert paper() == found[1]
    diffuse.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("case", primals.CASES, ids=lambda case: case.name)
def test_pages_of_the_golden_programs_open(case, browser, tmp_path):
    check(browser, tmp_path, adjit.value_and_grad(case.function, wrt=case.wrt), case.arguments)


@pytest.mark.parametrize("name", PAGES)
def test_pages_of_workloads_and_examples_open(name, browser, tmp_path):
    check(browser, tmp_path, *PAGES[name]())


def check(browser, folder, derived, arguments):
    opened(browser, folder / "page.html", derived, arguments)
    count = "return [...document.querySelectorAll('.ln[data-l]')].length"
    assert browser.execute_script(count) > 2
    # nothing hangs over the edge of the page
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
