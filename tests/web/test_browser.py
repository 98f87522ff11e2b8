"""The workbench in a real browser: Chromium by Playwright, whatever else the machine has.

    SHOAL_PICTURES=docs/pictures python -m pytest -m browser -k verified

draws the pictures of the docs anew.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

import shoal

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parent.parent.parent
HOSPITAL = ROOT / "examples" / "hospital.csv"
CHROMIUM = Path(os.environ.get("SHOAL_CHROMIUM", "/usr/bin/chromium"))
AXE = Path(os.environ.get("SHOAL_AXE", ROOT / ".ci" / "axe" / "node_modules" / "axe-core" / "axe.min.js"))
PICTURES = os.environ.get("SHOAL_PICTURES")
PATIENCE = 90_000
WIDE, NARROW = {"width": 1280, "height": 860}, {"width": 400, "height": 800}
MARITAL = "alone\n  never married\n  divorced\n  widowed\ntogether\n  married"


@pytest.fixture(scope="module")
def chromium():
    play = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"there is no Chromium at {CHROMIUM}; SHOAL_CHROMIUM names another place")
    with play.sync_playwright() as started:
        # nothing is loaded from elsewhere, so that the sandbox, which root lacks, protects nothing here
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Window:
    """A browser of its own that notes what goes wrong."""

    def __init__(self, chromium) -> None:
        self.outside: list[str] = []
        self.errors: list[str] = []
        self.seen: list[str] = []
        self.context = chromium.new_context(viewport=WIDE, accept_downloads=True)
        self.context.set_default_timeout(PATIENCE)
        self.context.route(re.compile(r"^(?!http://127\.0\.0\.1:|data:|blob:|file:)"), self._refuse)
        self.page = self.open()

    def _refuse(self, route):
        self.outside.append(route.request.url)
        route.abort()

    def open(self):
        page = self.context.new_page()
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("framenavigated", lambda frame: self.seen.append(f"{frame.url} {frame.title()}"))
        return page

    def audit(self, page, name):
        """Accessible, in the light and in the dark, in a wide window and in a narrow one."""
        if PICTURES and name in {"columns", "tree", "result"}:
            picture(page, name)
        page.set_viewport_size(NARROW)
        beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        with suppress(Exception):  # a window that just became narrow is laid out a moment later
            page.wait_for_function(f"{beyond} <= 0", timeout=5_000)
        wide = page.evaluate(beyond)
        assert wide <= 0, f"{name} is {wide} pixels wider than a narrow window, or than one at 200 %"
        page.set_viewport_size(WIDE)
        if not AXE.exists():
            return
        page.evaluate(AXE.read_text("utf-8"))
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            found = page.evaluate("axe.run()")["violations"]
            assert not [(one["id"], one["nodes"][0]["html"]) for one in found], f"{name}, {scheme}"
        page.emulate_media(color_scheme="light")


def picture(page, name):
    """A small picture for the docs."""
    from PIL import Image

    target = Path(PICTURES) / f"workbench-{name}.png"
    target.parent.mkdir(exist_ok=True)
    page.evaluate("scrollTo(0, 0)")
    page.set_viewport_size({"width": 1200, "height": 720})
    page.screenshot(path=target)
    Image.open(target).convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(target, optimize=True)


@pytest.fixture
def window(chromium):
    opened: list[Window] = []

    def new() -> Window:
        opened.append(Window(chromium))
        return opened[-1]

    yield new
    for one in opened:
        one.context.close()


def enter(window, served, file=None):
    page = window.page
    page.goto(served.address)
    if file is not None:
        page.set_input_files("#file", file)
    page.get_by_role("heading", name="What does a stranger know?").wait_for()
    page.get_by_text("RISK.").wait_for()
    return page


def leave_out(page, *names):
    for name in names:
        with page.expect_response(re.compile("/plan$")):
            page.get_by_label(f"Role of {name}", exact=True).select_option("")


def run(page, effort="quick"):
    page.get_by_label("Effort: how long to try").fill(effort)
    page.get_by_role("button", name="Run", exact=True).click()


def test_accessibility_is_tested():
    if not AXE.exists():
        pytest.skip("axe-core is not here: npm install --prefix .ci/axe axe-core")


def test_from_an_empty_page_to_a_verified_download(serve, window, tmp_path):
    served, mine = serve(), window()
    page = mine.page
    page.goto(served.address)
    page.get_by_role("heading", name="Which table?").wait_for()
    mine.audit(page, "table")
    page.set_input_files("#file", HOSPITAL)
    page.get_by_role("heading", name="What does a stranger know?").wait_for()
    page.get_by_text("HIGH RISK.").wait_for()
    leave_out(page, "lat", "lon", "admission_date")
    # a hierarchy with a gap, and without
    page.get_by_role("button", name="Hierarchy of marital_status").click()
    text = page.get_by_label("Hierarchy", exact=True)
    text.fill(MARITAL)
    page.get_by_text("values have no place").wait_for()
    assert "separated" in page.locator("#tried").inner_text()
    mine.audit(page, "tree")
    text.fill(MARITAL + "\n  registered partnership\nseparated")
    page.get_by_text("All 6 values have a place.").wait_for()
    page.get_by_role("button", name="Keep").click()
    page.get_by_text("a tree of").wait_for()
    # k by the keyboard
    page.get_by_text("HIGH RISK.").wait_for()
    page.locator("#k").focus()
    for key, others in (("ArrowRight", "5"), ("ArrowLeft", "4")):
        page.keyboard.press(key)
        assert page.locator("#others").inner_text() == others
    page.get_by_text("HIGH RISK.").wait_for()
    mine.audit(page, "columns")
    # run, and reload in its middle
    run(page, "6s")
    page.locator("#what", has_text=re.compile("improving")).wait_for()
    page.reload()
    page.locator("#what", has_text=re.compile("improving")).wait_for()
    page.get_by_text("no release can lose less").first.wait_for()
    page.get_by_role("heading", name="k = 5 holds: every row looks like at least 4 others").wait_for()
    mine.audit(page, "result")
    # publish
    page.get_by_role("link", name="Publish", exact=True).last.click()
    mine.audit(page, "publish")
    page.get_by_label("Purpose").fill("research on lengths of stay")
    page.get_by_label("No column holds free text.").check()
    page.get_by_role("button", name="Write the report").click()
    got = {}
    for what in ("Table", "Certificate", "Plan", "Report", "Receipt"):
        with page.expect_download() as download:
            page.get_by_role("link", name=what, exact=True).last.click()
        got[what] = tmp_path / download.value.suggested_filename
        download.value.save_as(got[what])
    trees = shoal.read_plan(got["Plan"]).hierarchies
    found = shoal.verify(
        got["Table"], got["Certificate"], original=HOSPITAL, receipt=got["Receipt"], hierarchies=trees
    )
    assert not [one for one in found if one.holds is False]
    report = got["Report"].read_text("utf-8")
    assert "research on lengths of stay" in report
    # the plan that was saved gives the same release on the command line
    again = shoal.anonymize(shoal.read_table(HOSPITAL).frame, shoal.read_plan(got["Plan"], effort="quick"))
    assert again.table.columns == shoal.read_table(got["Table"]).frame.columns
    # what each k costs, and all runs
    page.get_by_role("link", name="Columns").click()
    page.get_by_text("HIGH RISK.").wait_for()
    page.get_by_role("button", name="What does each k cost?").click()
    page.get_by_role("img", name=re.compile("Loss over k")).wait_for()
    mine.audit(page, "compare")
    page.goto(re.sub(r"/runs/.*", "/runs", page.url))
    assert page.locator("tbody tr").count() == 2
    mine.audit(page, "runs")
    assert mine.outside == []
    assert mine.errors == []
    assert served.stop() == 143
    assert served.folders == []


def test_a_stale_tab_is_told_and_a_second_browser_is_refused(serve, window):
    served, mine, stranger = serve(str(HOSPITAL)), window(), window()
    page = enter(mine, served)
    other = mine.open()
    other.goto(page.url)
    other.get_by_text("RISK.").wait_for()
    leave_out(other, "sex")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("changed in another tab").wait_for()
    assert page.get_by_label("Role of sex", exact=True).input_value() == ""
    assert mine.errors == [error for error in mine.errors if "409" in error]
    for address in (served.address, page.url, page.url.rpartition("/")[0] + "/columns"):
        assert stranger.page.goto(address).status == 403
        assert "hospital" not in stranger.page.content()
    assert mine.outside == []


def test_a_run_is_cancelled_and_another_made(serve, window):
    served, mine = serve(str(HOSPITAL)), window()
    page = enter(mine, served)
    leave_out(page, "lat", "lon", "admission_date")
    run(page, "600s")
    page.get_by_text("and no release can lose less than").wait_for()
    mine.audit(page, "run")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled. Nothing was published.").wait_for()
    mine.audit(page, "cancelled")
    page.get_by_role("link", name="Back to the columns").click()
    page.get_by_text("HIGH RISK.").wait_for()
    run(page)
    page.get_by_role("heading", name="k = 5 holds").wait_for()
    # a remedy runs again with what it says
    page.get_by_role("button", name="Search thoroughly and run again").click()
    page.wait_for_url(re.compile("/runs/3$"))
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled. Nothing was published.").wait_for()
    assert mine.errors == []
    assert mine.outside == []


def test_what_is_wrong_is_told_where_it_belongs(serve, window, tmp_path):
    served, mine = serve(), window()
    page = mine.page
    page.goto(served.address)
    (tmp_path / "bad.parquet").write_bytes(b"no parquet")
    page.set_input_files("#file", tmp_path / "bad.parquet")
    page.get_by_text("cannot be read as a .parquet file").wait_for()
    page.set_input_files("#file", HOSPITAL)
    page.get_by_text("HIGH RISK.").wait_for()
    leave_out(page, "lat", "lon", "admission_date")
    # an infeasible rule
    page.get_by_label("Rule on diagnosis").fill("300-diverse")
    run(page)
    told = page.locator("td", has=page.get_by_label("Rule on diagnosis")).get_by_text("No release can obey")
    told.wait_for()
    assert page.get_by_label("Rule on diagnosis").get_attribute("aria-invalid") == "true"
    mine.audit(page, "wrong")
    page.get_by_label("Rule on diagnosis").fill("2-diverse")
    # a wrong hierarchy
    page.get_by_role("button", name="Hierarchy of zip").click()
    page.get_by_label("Hierarchy", exact=True).fill("north\n     06125")
    page.get_by_text("line 2: it begins with 5 spaces").wait_for()
    page.get_by_label("Hierarchy", exact=True).fill("prefixes(2, 5)")
    page.get_by_text("prefixes needs falling lengths").wait_for()
    page.get_by_role("button", name="Keep").click()
    page.get_by_text("HIGH RISK.").wait_for()
    run(page)
    page.locator("td", has_text="prefixes needs falling lengths").wait_for()
    page.get_by_role("button", name="Hierarchy of zip").click()
    page.get_by_role("button", name="Suggest").click()
    page.get_by_text("values have a place").wait_for()
    page.set_input_files("#tree-file", ROOT / "examples" / "hierarchies" / "zip.csv")
    page.get_by_text("values have a place").wait_for()
    page.get_by_role("button", name="Keep").click()
    page.get_by_text("HIGH RISK.").wait_for()
    # nobody said whom k counts: a button says it
    page.get_by_label("Whom k counts").select_option("")
    run(page)
    page.get_by_role("button", name="Count persons by patient_id and run again").click()
    page.get_by_role("heading", name="k = 5 holds").wait_for()
    assert mine.errors == [error for error in mine.errors if "422" in error]
    assert mine.outside == []


def test_no_cell_leaves_its_pages(serve, window, tmp_path):
    rows = 60
    canaries = ("zqname", "zqcity", "zqill", "zqward", "zqleft", "7319")
    pl.DataFrame(
        {
            "name": [f"zqname{row}" for row in range(rows)],
            "age": [731900 + 7 * row % 97 for row in range(rows)],
            "city": [f"zqcity{'abcde'[row % 5]}" for row in range(rows)],
            "diagnosis": [f"zqill{row % 4}" for row in range(rows)],
            "ward": [f"zqward{row % 2}" for row in range(rows)],
            "aside": [f"zqleft{row}" for row in range(rows)],
        }
    ).write_csv(tmp_path / "in.csv")
    served, mine = serve(), window()
    page = enter(mine, served, tmp_path / "in.csv")
    roles = {"age": "quasi", "city": "quasi", "diagnosis": "sensitive", "ward": "keep", "aside": ""}
    for name, role in roles.items():
        page.get_by_label(f"Role of {name}", exact=True).select_option(role)
    assert "zqcity" in page.content()  # the test can see
    page.get_by_label("Kind of city").select_option("number")
    run(page)
    page.get_by_text("Nothing was published.").wait_for()
    said = page.get_by_role("alert").first.inner_text()
    page.get_by_label("Kind of city").select_option("label")
    run(page)
    page.get_by_role("heading", name="k = 5 holds").wait_for()
    page.get_by_role("link", name="Publish", exact=True).last.click()
    page.get_by_role("button", name="Write the report").click()
    texts = [said, page.content(), *mine.seen, *mine.errors, str(mine.context.cookies())]
    for what in ("Certificate", "Report", "Plan"):
        with page.expect_download() as download:
            page.get_by_role("link", name=what, exact=True).last.click()
        texts.append(Path(download.value.path()).read_text("utf-8"))
    served.stop()
    texts.append((served.home / "said.txt").read_text())
    left = [path for path in served.home.rglob("*") if path.name != "said.txt"]
    assert left == []
    for text in texts:
        words = re.sub(r"[0-9a-f]{64}|[\w-]{43}", "", text)  # fingerprints and secrets are random
        assert not [canary for canary in canaries if canary in words]


def test_the_report_is_accessible_and_prints(window, tmp_path):
    frame = shoal.read_table(HOSPITAL).frame
    release = shoal.anonymize(
        frame, k=5, quasi=["zip", "sex"], sensitive=["diagnosis"], unit="patient_id", effort="quick"
    )
    files = release.write(tmp_path / "out.csv")
    release.report(tmp_path / "report.html", files=files, original=frame)
    mine = window()
    mine.page.goto((tmp_path / "report.html").as_uri())
    mine.audit(mine.page, "report")
    printed = mine.page.pdf(tagged=True, format="A4")
    assert printed.startswith(b"%PDF")
    assert b"/StructTreeRoot" in printed
    assert 3 <= len(re.findall(rb"/Type ?/Page\b(?!s)", printed)) <= 10
    assert mine.errors == []
    assert mine.outside == []
