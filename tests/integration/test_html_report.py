"""The page of `export html` in a headless Chromium: what it shows is what viewer-cli says, by keys and by clicks, in three
sizes, light and dark, on paper; it asks for nothing, breaks no policy, and takes names for names.

CULPRIT_SCREENSHOTS=DIR keeps a picture of each tab in each size."""

import json
import os
import pathlib
import re
import subprocess
import unittest

import harness
from chromium import Chromium

SIZES = {"phone": (390, 844), "laptop": (1280, 800), "desktop": (1920, 1080)}
TABS = ["report", "calls", "callers", "flat", "flame", "ranks", "time", "waits", "waits/causes", "waits/critical", "waits/matrix",
        "waits/communication", "source", "flame/callers/0"]
PICTURES = os.environ.get("CULPRIT_SCREENSHOTS")
HOSTILE = "<img src=x onerror=alert(1)></script>"
# Texts of pictures that are cut off, or lie upon each other on an axis.
CLIPPED = """(() => {
  const wrong = [];
  for (const svg of document.querySelectorAll('#main svg')) {
    const room = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBoundingClientRect();
      if (box.width > 0 && (box.left < room.left - 1 || box.right > room.right + 1 || box.bottom > room.bottom + 2))
        wrong.push(text.textContent);
    }
  }
  return wrong;
})()"""
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def words(text):
    return " ".join(text.split())


class HtmlReport(harness.Workspace):
    def page_of(self, database):
        page = database.with_suffix(".html")
        harness.run([harness.VIEWER, database, "export", "html", "-o", page])
        return page

    def traced(self):
        """A run of four ranks with time lines, the last of which does more; its database."""
        program = harness.PROGRAMS / "conjugate_gradient.openmpi"
        return self.merge(self.measure("openmpi", 4, program, "light", "20", name="traced", options=["--trace"]))

    def example(self):
        database = self.here / "example.db"
        harness.run([os.environ["CULPRIT_MAKE_EXAMPLE_DB"], database])
        return database

    def visit(self, browser, page, name):
        browser.open(page.as_uri())
        for tab in TABS:
            browser.ask(f"location.hash = {tab!r}")
            browser.settle()
            if PICTURES:
                pathlib.Path(PICTURES).mkdir(parents=True, exist_ok=True)
                browser.picture(pathlib.Path(PICTURES) / f"{name}-{tab.replace('/', '-')}.png")
            self.assertLessEqual(browser.ask(SIDEWAYS), 0, f"{name}: {tab} is wider than the screen")
            self.assertEqual(browser.ask(CLIPPED), [], f"{name}: {tab}")
            self.assertGreater(len(browser.ask("document.getElementById('main').innerText")), 20, tab)
        self.assertEqual(browser.complaints(), [], name)

    def test_every_tab_in_three_sizes_light_and_dark(self):
        pages = {"example": self.page_of(self.example()), "traced": self.page_of(self.traced())}
        with Chromium() as browser:
            for page in pages.values():
                self.assertIsNone(re.search(r"\\u00[01][0-9a-f]", page.read_text()), "what only breaks lines is on no page")
            for size, pixels in SIZES.items():
                for dark in (False, True):
                    browser.resize(pixels, dark, touch=size == "phone")
                    for name, page in pages.items():
                        self.visit(browser, page, f"{name}-{size}-{'dark' if dark else 'light'}")

    def test_it_says_what_report_says_and_its_words_lead_there(self):
        database = self.traced()
        report = harness.run([harness.VIEWER, database, "report"], env=dict(harness.ENVIRONMENT, COLUMNS="150")).stdout
        with Chromium() as browser:
            browser.open(self.page_of(database).as_uri())
            shown = browser.ask("[...document.querySelectorAll('.report > h2, .report > p')].map((each) => each.textContent)")
            self.assertGreater(len(shown), 3)
            self.assertNotRegex(" ".join(shown), r"\d (%|m?s\b|\d{3}\b)")  # numbers stay on one line
            text = words(report)
            for paragraph in shown:
                # Names are shortened to the width of a terminal there.
                if "…" not in text:
                    self.assertIn(words(paragraph), text)
            links = browser.ask("[...document.querySelectorAll('.report a')].map((each) => [each.textContent, each.getAttribute('href')])")
            self.assertGreater(len(links), 2, shown)
            for name, address in links:
                if not re.match(r"#(calls|flat)/\d+$", address):
                    continue
                browser.ask(f"location.hash = {address!r}")
                browser.settle()
                chosen = browser.ask("document.querySelector('.tree-row.chosen .frame').textContent")
                self.assertTrue(re.split(r" at | in | \(", chosen)[0] in name or chosen.startswith("loop") or name.startswith("a loop")
                                or "→" in name or len(name) > 60, f"{name!r} leads to {chosen!r}")
            self.assertEqual(browser.complaints(), [])

    def test_trees_hold_the_figures_of_the_views_and_open_by_keys(self):
        database = self.example()
        view = harness.viewer_json(database, "view", "--metrics", "REALTIME:sum (I)")
        with Chromium() as browser:
            browser.open(self.page_of(database).as_uri())
            browser.press("2")
            self.assertEqual(browser.ask("location.hash.split('/')[0]"), "#calls")
            figures = browser.ask("[...document.querySelectorAll('.details .figures tr')].map((each) => each.textContent)")
            self.assertTrue(figures[0].startswith("time"), figures)
            browser.press("-")
            few = browser.ask("Number(document.querySelector('.tree-body').getAttribute('aria-rowcount'))")
            browser.press("*")
            many = browser.ask("Number(document.querySelector('.tree-body').getAttribute('aria-rowcount'))")
            self.assertGreater(many, few)
            head = browser.ask("document.querySelector('.tree-header .sorted').textContent")
            root = browser.ask("document.querySelector('.tree-row .number').textContent").replace("\u202f", "")
            factor = {"s": 1, "ms": 1e3, "µs": 1e6, "ns": 1e9}[head.split()[-1]]
            self.assertAlmostEqual(float(root) / factor, view["roots"][0]["values"]["REALTIME:sum (I)"], delta=0.01 * float(root) / factor)
            browser.press("ArrowDown")
            first = browser.ask("location.hash")
            browser.press("ArrowDown")
            self.assertNotEqual(browser.ask("location.hash"), first)
            browser.press(">")
            self.assertNotEqual(browser.ask("document.querySelector('.tree-header .sorted').textContent"), head)

    def test_searches_find_and_count(self):
        database = self.traced()
        with Chromium() as browser:
            browser.open(self.page_of(database).as_uri())
            browser.press("2", "/")
            for letter in "^MPI_":
                browser.press(letter)
            found = int(browser.ask("document.querySelector('.count').textContent").split()[0])
            self.assertGreater(found, 0)
            names = set()
            for _ in range(found):
                browser.press("Enter")
                names.add(browser.ask("location.hash"))
                self.assertRegex(browser.ask("document.querySelector('.tree-row.chosen .frame').textContent"), "^MPI_")
            self.assertEqual(len(names), found)
            browser.click(".check input")
            self.assertTrue(browser.ask("document.querySelector('.name-head').textContent").endswith("filtered"))
            browser.press("Escape")

    def test_clicks_go_where_they_lead(self):
        database = self.traced()
        with Chromium() as browser:
            browser.open(self.page_of(database).as_uri())
            browser.click("#tab-flame")
            whole = browser.ask("document.querySelectorAll('.frame-box').length")
            name = browser.ask("document.querySelectorAll('.frame-box text')[3].textContent")
            box = browser.ask("(() => { const text = document.querySelectorAll('.frame-box text')[3]; const box = text.parentNode.getBoundingClientRect(); return [box.left + 10, box.top + 8]; })()")
            browser.click_at(*box, clicks=2)
            self.assertLessEqual(browser.ask("document.querySelectorAll('.frame-box').length"), whole)
            # A narrow box has room for the beginning of its name only.
            shown = browser.ask("document.querySelector('.frame-box text').textContent")
            self.assertTrue(shown.startswith(name.rstrip("…")[:4]), f"{shown}: {name}")
            browser.click("#tab-time")
            place = browser.ask("(() => { const box = document.querySelector('.heat-cells').getBoundingClientRect(); return [box.left + box.width / 2, box.top + 5]; })()")
            browser.click_at(*place)
            self.assertRegex(browser.ask("document.querySelector('.status').textContent"), "^rank 0, .* of the time waiting")
            browser.press("ArrowDown")
            self.assertRegex(browser.ask("document.querySelector('.status').textContent"), "^rank 1, ")
            browser.ask("location.hash = 'waits/matrix'")
            browser.settle()
            self.assertGreater(browser.ask("document.querySelectorAll('.figures tr').length"), 1)
            browser.press("t")
            self.assertEqual(browser.ask("document.documentElement.dataset.theme"), "dark")
            browser.ask("history.back()")
            self.assertEqual(browser.complaints(), [])

    def test_plots_hold_the_values_of_threads(self):
        database = self.traced()
        values = [each["value"] for each in harness.viewer_json(database, "threads", "c0")["values"]]
        with Chromium() as browser:
            browser.open(self.page_of(database).as_uri())
            browser.ask("location.hash = 'ranks/calls/0'")
            browser.settle()
            heights = browser.ask("[...document.querySelectorAll('.rank-plot .bar')].map((each) => Number(each.getAttribute('height')))")
            self.assertEqual(len(heights), len(values))
            for height, value in zip(heights, values):
                self.assertAlmostEqual(height / max(heights), value / max(values), places=2)

    def test_paper_has_it_all(self):
        with Chromium() as browser:
            browser.open(self.page_of(self.traced()).as_uri())
            printed = self.here / "printed.pdf"
            browser.print(printed)
            self.assertTrue(printed.read_bytes().startswith(b"%PDF"))
            self.assertGreater(printed.stat().st_size, 20_000)
            self.assertEqual(browser.ask("document.getElementById('paper').children.length"), 0)
            self.assertEqual(browser.complaints(), [])

    def test_names_are_names(self):
        plain = self.here / "plain"
        subprocess.run(["gcc", "-O1", "-g", "-o", plain, pathlib.Path(__file__).parents[1] / "apps" / "hostile_name.c"], check=True)
        placeholder = b"hostile_name_that_a_test_replaces_here"
        name = HOSTILE + "!" * (len(placeholder) - len(HOSTILE))
        program = self.here / "hostile"
        program.write_bytes(plain.read_bytes().replace(placeholder, name.encode()))
        program.chmod(0o755)
        run = self.here / "run"
        harness.run([harness.HPCRUN, "-o", run, program])
        page = self.page_of(self.merge(run))
        text = page.read_text()
        self.assertNotIn(HOSTILE, text)
        self.assertEqual(text.count("</script>"), 2)  # the data's and the page's own
        with Chromium() as browser:
            for tab in TABS:
                browser.open(page.as_uri() + "#" + tab)
                browser.ask("document.querySelector('.tree-body') && document.querySelector('.tree-body').focus()")
                browser.press("*")
                self.assertEqual(browser.ask("document.querySelectorAll('img').length"), 0, tab)
            browser.ask("location.hash = 'flat'")
            browser.settle()
            self.assertIn(name, browser.ask("[...document.querySelectorAll('.frame')].map((each) => each.textContent)"))
            self.assertEqual(browser.complaints(), [])

    def test_sources_are_there_unless_nobody_wants_them(self):
        database = self.traced()
        page, bare = self.page_of(database), self.here / "bare.html"
        harness.run([harness.VIEWER, database, "export", "html", "--no-source", "-o", bare])
        line = "int main(int argc, char** argv)"
        self.assertIn(line, page.read_text())
        self.assertNotIn(line, bare.read_text())
        with Chromium() as browser:
            browser.open(bare.as_uri() + "#source")
            self.assertIn("left out", browser.ask("document.getElementById('main').innerText"))

    def test_the_page_allows_its_own_script_alone(self):
        page = self.page_of(self.example())
        text = page.read_text()
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
        self.assertTrue(policy.startswith("default-src 'none'; script-src 'sha256-"))
        self.assertNotIn("unsafe", policy)
        spoiled = self.here / "spoiled.html"
        spoiled.write_text(text.replace('<div id="page">', '<script>window.ran = true</script><div id="page" onclick="window.ran = true">'))
        with Chromium() as browser:
            browser.open(spoiled.as_uri())
            browser.click("header")
            self.assertIsNone(browser.ask("window.ran"))
            self.assertTrue(any("Content Security Policy" in each for each in browser.complaints()))
        data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
        self.assertEqual(data["run"]["threads"], len(harness.viewer_json(self.here / "example.db", "threads", "c0")["values"]))


if __name__ == "__main__":
    unittest.main()
