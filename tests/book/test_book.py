"""The published book in a browser: every page at two widths, search, maths, tables, dark theme."""

import base64
import io
import json
import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urldefrag, urlsplit

import pandas as pd
import pytest
from bs4 import BeautifulSoup

from relic import paths

WIDTHS = (1280, 400)
LEAST_CONTRAST = 4.5  # WCAG AA

FACTS = """async () => {
  if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
  const box = e => e.getBoundingClientRect(), wide = document.documentElement.clientWidth;
  const scrolls = e => e && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  return {
    title: document.title,
    heading: document.querySelector('article h1')?.innerText ?? '',
    over: document.documentElement.scrollWidth - wide,
    cut: [...document.querySelectorAll('article *')].filter(e =>
      e.checkVisibility() && box(e).right > wide + 1 && !scrolls(e)).map(e => e.outerHTML.slice(0, 80)),
    images: [...document.querySelectorAll('img, figure svg[role=img]')].map(i => ({
      src: (i.src ?? i.outerHTML).slice(0, 80), alt: i.alt ?? i.getAttribute('aria-label') ?? '',
      natural: i.naturalWidth === undefined ? 1 : i.naturalWidth * i.naturalHeight,
      shown: i.checkVisibility(), width: box(i).width, height: box(i).height})),
    links: [...document.querySelectorAll('a[href]')].map(a => a.href),
    ids: [...document.querySelectorAll('[id]')].map(e => e.id),
    maths: document.querySelectorAll('mjx-container').length,
    raw: document.querySelectorAll('.math:not(:has(mjx-container))').length,
  };
}"""

# Contrast of each element's text against what is really behind it, colours with alpha included.
CONTRAST = """selector => {
  const rgba = text => { const n = text.match(/[\\d.]+/g).map(Number);
    if (text.startsWith('color(srgb')) { n[0] *= 255; n[1] *= 255; n[2] *= 255; }
    return [n[0], n[1], n[2], n.length > 3 ? n[3] : 1]; };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const behind = e => {
    const layers = [];
    for (; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  return [...document.querySelectorAll(selector)].filter(e => e.textContent.trim()).map(e => {
    const back = behind(e), text = over(rgba(getComputedStyle(e).color), back);
    const [a, b] = [light(text), light(back)].sort((x, y) => y - x);
    return [e.textContent.trim().slice(0, 40), (a + .05) / (b + .05)];
  });
}"""

AUDIT = "80_your_captions.html"  # shows an audit's report


class Quiet(SimpleHTTPRequestHandler):
    """A file server that does not log."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def built(browser, make_project):
    """The book as it is published: every notebook, served from the record."""
    project = make_project("book")
    result = project.run(timeout=1500)
    assert result.code == 0, result
    return project


@pytest.fixture(scope="module")
def address(built):
    """Where the book is served, with a slash at the end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=built.html))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def pages(built):
    """All pages by their address in the book."""
    pages_there = [p.relative_to(built.html).as_posix() for p in built.html.rglob("*.html")]
    return sorted(p for p in pages_there if not p.startswith("_static/"))


@pytest.fixture(scope="module")
def notebook_pages(built, pages):
    expected = [
        f"notebooks/{p.stem}.html" for p in sorted((built.root / "notebooks").glob("*.ipynb"))
    ]
    assert [p for p in pages if p.startswith("notebooks/")] == expected
    return expected


@pytest.fixture(scope="module")
def visits(browser, address, pages):
    """(page, width) -> what a visit found, complaints and requests among it."""
    facts_of = {}
    with browser.new_context() as context:  # one for all: scripts and fonts stay in its cache
        for page in pages:
            for width, facts in visit(context, address, page).items():
                facts_of[page, width] = facts
    return facts_of


def visit(context, address: str, page: str) -> dict[int, dict]:
    """Load a page, look at it at each width, and note all that happens."""
    tab, complaints, requests = context.new_page(), [], []
    tab.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("requestfailed", lambda r: complaints.append(f"{r.url}: {r.failure}"))
    tab.on("request", lambda r: requests.append(r.url))
    tab.on(
        "response", lambda r: complaints.append(f"{r.url}: {r.status}") if r.status >= 400 else None
    )
    seen = {}
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 900})
        if not seen:
            status = tab.goto(address + page, wait_until="load").status
        seen[width] = {**tab.evaluate(FACTS), "status": status}
    tab.close()
    return {
        w: {**facts, "complaints": complaints, "requests": requests} for w, facts in seen.items()
    }


@pytest.fixture
def tab(browser, request):
    """A fresh page, at 1280 px; indirect parameter: the colour scheme."""
    scheme = getattr(request, "param", "light")
    with browser.new_context(
        viewport={"width": 1280, "height": 900}, color_scheme=scheme, accept_downloads=True
    ) as context:
        yield context.new_page()


# -- every page -----------------------------------------------------------------------------------


def test_every_page_loads_under_its_own_title(visits, pages):
    assert len(pages) > 5
    assert {key: v["status"] for key, v in visits.items() if v["status"] != 200} == {}
    titles = [visits[page, 1280]["title"] for page in pages]
    assert sorted({t for t in titles if not t.strip() or titles.count(t) > 1}) == []


def test_no_page_complains(visits):
    assert {key: v["complaints"] for key, v in visits.items() if v["complaints"]} == {}


def test_no_request_goes_to_another_host(visits, address):
    asked = {url for v in visits.values() for url in v["requests"]}
    assert len(asked) > 20, "requests are being watched"
    assert sorted(u for u in asked if not u.startswith((address, "data:", "blob:"))) == []


def test_no_page_is_wider_than_the_window(visits):
    assert {key: v["over"] for key, v in visits.items() if v["over"] > 0} == {}
    assert {key: v["cut"] for key, v in visits.items() if v["cut"]} == {}, "and cannot be scrolled"


def test_every_image_has_a_size_and_a_text_for_those_who_cannot_see_it(visits, notebook_pages):
    images = [(key, image) for key, v in visits.items() for image in v["images"]]
    claims = {p for p in notebook_pages if "claim" in p}
    assert {page for (page, _), _ in images} >= {"index.html", *claims}
    assert [(key, i["src"]) for key, i in images if not i["alt"].strip()] == []
    empty = [
        (key, i["src"])
        for key, i in images
        if i["natural"] <= 0 or (i["shown"] and min(i["width"], i["height"]) < 8)
    ]
    assert empty == []


def test_every_internal_link_leads_somewhere(visits, address, built):
    broken = []
    for (page, width), facts in visits.items():
        for link in facts["links"] if width == 1280 else []:
            target, anchor = urldefrag(link)
            if not target.startswith(address):
                continue
            path = unquote(urlsplit(target).path).lstrip("/") or "index.html"
            ids = visits[path, 1280]["ids"] if (path, 1280) in visits else None
            if not (built.html / path).is_file() or (anchor and ids and unquote(anchor) not in ids):
                broken.append((page, link))
    assert broken == []


def test_no_link_leads_to_a_local_file(visits):
    links = {link for v in visits.values() for link in v["links"]}
    assert (
        sorted(li for li in links if not li.startswith(("http:", "https:", "data:", "mailto:")))
        == []
    )


@pytest.mark.parametrize("page", ["words.html", "notebooks/00_data.html"])
def test_maths_is_rendered_without_the_network(visits, page):
    for width in WIDTHS:
        assert visits[page, width]["maths"] > 3
        assert visits[page, width]["raw"] == 0


# -- search ---------------------------------------------------------------------------------------


def test_search_finds_a_word_and_shows_where(tab, address):
    tab.goto(f"{address}search.html?q=planted")
    tab.wait_for_selector("#search-results li p.context", timeout=10_000)
    hits = tab.eval_on_selector_all("#search-results li", "all => all.map(e => e.innerText)")
    assert any("planted" in hit.lower() for hit in hits)


def test_search_does_not_find_what_is_not_there(tab, address):
    tab.goto(f"{address}search.html?q=xylophonist")
    tab.wait_for_function(
        "document.querySelector('#search-results').innerText.includes('did not match')"
    )
    assert tab.locator("#search-results li").count() == 0


# -- notebook pages -------------------------------------------------------------------------------


def test_code_is_shown_but_where_the_notebook_folds_it(tab, address, built, notebook_pages):
    for page in notebook_pages:
        cells = json.loads((built.root / page.replace(".html", ".ipynb")).read_text())["cells"]
        tags = [c["metadata"].get("tags", []) for c in cells if c["cell_type"] == "code"]
        gone = sum(bool({"remove-input", "remove-cell"} & set(each)) for each in tags)
        folded = sum("hide-input" in each for each in tags)
        tab.goto(address + page)
        code = tab.locator("article div.cell_input div.highlight")
        visible = [code.nth(i).is_visible() for i in range(code.count())]
        assert visible.count(True) == len(tags) - folded - gone > 0, page
        fold = tab.locator("article details.hide.above-input")
        assert fold.count() == folded, page
        if folded:
            fold.first.locator("summary").click()
            fold.first.locator("div.highlight").first.wait_for(state="visible", timeout=3000)


def test_injected_parameters_are_not_shown(built, notebook_pages):
    for page in notebook_pages:
        assert "injected-parameters" in built.executed(page[10:-5]).read_text()
        assert "# Parameters" not in re.sub("<[^>]*>", "", (built.html / page).read_text())


def test_a_notebook_can_be_downloaded(tab, address, notebook_pages):
    tab.goto(address + notebook_pages[0])
    link = tab.locator(".dropdown-download-buttons a[href$='.ipynb']")
    response = tab.request.get(tab.evaluate("a => a.href", link.element_handle()))
    assert response.ok
    assert json.loads(response.body())["nbformat"] == 4


def test_the_source_of_a_function_is_a_click_away(tab, address, notebook_pages):
    tab.goto(address + next(p for p in notebook_pages if "claim2" in p))
    tab.locator("details.relic-code summary").click()
    tab.locator("details.relic-code a", has_text="relic.lic_table").click()
    line = tab.locator(f"[id='{tab.url.split('#')[1]}'], [name='{tab.url.split('#')[1]}']").first
    assert "def lic_table" in line.evaluate("e => e.parentElement.textContent")


def test_tables_of_results_have_a_caption_and_say_what_they_rest_on(tab, address, notebook_pages):
    for page in notebook_pages:
        tab.goto(address + page)
        loose = tab.locator(
            "article .cell_output table:not(.relic-table table):not(.relic-provenance table)"
        )
        assert loose.count() == 0
        captions = tab.eval_on_selector_all(
            "article .relic-table",
            "all => all.map(t => (t.closest('details.relic-folded')?.querySelector('summary') ?? t.querySelector('.caption, caption'))?.textContent ?? '')",
        )
        assert captions
        if page.endswith(AUDIT):  # a whole report: its page says what it rests on
            assert "synthetic" in tab.locator("article").inner_text()
            continue
        named = (
            r"[Ss]ynthetic|COCO|[Pp]ublished|[Pp]aper|by source|Antequera|Türk|made-up|[Ii]nvented"
        )
        assert [c for c in captions if not re.search(named, c)] == []


def test_csv_links_hold_the_table_that_is_shown(tab, address, notebook_pages):
    for page in notebook_pages:
        tab.goto(address + page)
        tables = tab.eval_on_selector_all(
            "article .relic-table",
            """all => all.map(t => ({
              link: t.querySelector('a.relic-csv').href, file: t.querySelector('a.relic-csv').download,
              head: [...t.querySelectorAll('thead th')].map(e => e.textContent),
              rows: t.querySelectorAll('tbody tr').length}))""",
        )
        assert tables
        for table in tables:
            kind, _, data = table["link"].partition(";base64,")
            assert kind == "data:text/csv"
            frame = pd.read_csv(io.BytesIO(base64.b64decode(data, validate=True)))
            columns = {str(c).removesuffix(" low") for c in frame}  # intervals take one column
            if (
                "your_captions" not in page
            ):  # an audit's tables have headings to read, its CSV fields
                assert set(table["head"]) <= columns
                assert len(frame) == table["rows"]
            assert len(frame) >= table["rows"] > 0  # an audit's checks and differences are pivoted
        files = [table["file"] for table in tables]
        assert len(set(files)) == len(files)
        named = "" if page.endswith(AUDIT) else f"{page[10:-5]}_"  # a report has names of its own
        assert all(f.startswith(named) and f.endswith(".csv") for f in files)


def test_a_click_on_csv_downloads_it(tab, address, notebook_pages):
    tab.goto(address + notebook_pages[0])
    with tab.expect_download(timeout=10_000) as download:
        tab.locator("a.relic-csv").first.click()
    assert download.value.suggested_filename.endswith(".csv")
    assert len(pd.read_csv(download.value.path())) > 0


def test_provenance_tells_what_a_page_rests_on(tab, address, built, notebook_pages):
    for page in notebook_pages:
        tab.goto(address + page)
        block = tab.locator("details.relic-provenance")
        assert block.count() == 1
        assert not block.locator("table").is_visible()
        block.locator("summary").click()
        rows = dict(
            block.locator("tr").evaluate_all(
                "all => all.map(r => [...r.cells].map(c => c.innerText))"
            )
        )
        assert rows["profile"] == "record"
        asked = built.record(page[10:-5])["parameters"]
        assert all(f"{name} = " in rows["parameters"] for name in asked)
        assert {"commit", "versions", "device", "seconds"} <= rows.keys()
        assert built.record(page[10:-5])["commit"] in rows["commit"]


def test_the_status_page_lists_each_notebook(tab, address, notebook_pages):
    tab.goto(f"{address}status.html")
    rows = tab.locator("article table tbody tr").evaluate_all(
        "all => all.map(r => [r.querySelector('a').getAttribute('href'), r.cells[1].innerText])"
    )
    assert rows == [[page, "✓ ok"] for page in notebook_pages]
    assert "All notebooks ran" in tab.locator("article").inner_text()


# -- values in pages ------------------------------------------------------------------------------


def test_no_page_shows_a_value_that_was_not_filled_in(built, pages):
    for page in pages:
        shown = BeautifulSoup((built.html / page).read_text(encoding="utf-8"), "html.parser")
        for code in shown.select("code, pre, script"):
            code.decompose()
        assert "{{" not in shown.get_text(), page


def test_the_landing_page_has_a_figure_and_a_row_a_claim(tab, address):
    tab.goto(f"{address}index.html")
    assert tab.locator("article figure svg").count() == 1
    claims = tab.locator("article table:has(a[href*='claim1']) tbody tr")
    assert claims.count() == 5  # claim 3 is judged twice
    words = claims.evaluate_all("all => all.map(r => r.innerText)")
    assert all(re.search("supported|refuted|undecided", text) for text in words)


# -- the embedded corpus --------------------------------------------------------------------------


def test_every_notebook_runs_on_the_embedded_corpus(make_project):
    """The smallest profile, without the book."""
    project = make_project("embedded")
    project.stub()
    result = project.run("--profile", "smoke", timeout=1500)
    assert result.code == 0, result


# -- colours --------------------------------------------------------------------------------------


READ = ("td", "th", "p", ".caption, article figcaption", "details > summary", "a.relic-csv")


@pytest.mark.parametrize("tab", ["light", "dark"], indirect=True)
def test_text_is_readable(tab, address, notebook_pages, request):
    faint, seen = [], dict.fromkeys(READ, 0)
    for page in [*notebook_pages, "words.html", "status.html"]:
        tab.goto(address + page)
        assert request.node.callspec.id == tab.evaluate("document.documentElement.dataset.theme")
        for selector in READ:
            contrasts = tab.evaluate(CONTRAST, f"article {selector}")
            seen[selector] += len(contrasts)
            faint += [(page, selector, *c) for c in contrasts if c[1] < LEAST_CONTRAST]
    assert faint == []
    assert min(seen.values()) > 0, seen


SERIOUS = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations
  .filter(v => ['serious', 'critical'].includes(v.impact))
  .map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 120)])"""
LOOKED_AT = "index found papers words rerun status audit".split()
LOOKED_AT += [
    "notebooks/06_decide",
    "notebooks/20_claim2_amplification",
    "notebooks/53_unseen_captions",
]


@pytest.mark.parametrize("tab", ["light", "dark"], indirect=True)
def test_axe_finds_nothing_serious(tab, address):
    """axe-core, if it is there: npm install --prefix extras axe-core."""
    axe = paths.ROOT / "extras" / "node_modules" / "axe-core" / "axe.min.js"
    if not axe.exists():
        pytest.skip("axe-core is not here (npm install --prefix extras axe-core)")
    serious = {}
    for page in LOOKED_AT:
        tab.goto(f"{address}{page}.html", wait_until="load")
        tab.add_script_tag(path=str(axe))
        serious[page] = tab.evaluate(SERIOUS)
    assert {page: each for page, each in serious.items() if each} == {}


def test_contrast_is_measured_rightly(tab):
    tab.set_content(
        '<div style="background:#000"><p style="color:#fff">a</p><p style="color:#777;background:#fff8">b</p></div>'
    )
    (_, white), (_, grey) = tab.evaluate(CONTRAST, "p")
    assert white == pytest.approx(21, abs=0.01)
    assert grey == pytest.approx(1.263, abs=0.01)
