"""The HTML report: complete, escaped, self-contained, and good to read in a real browser."""

import errno
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.checking import check_report
from nki_migrate.cli import main
from nki_migrate.codemods import Finding
from nki_migrate.golden import GOLDENS
from nki_migrate.reports import Report
from nki_migrate.runtime.compare import Difference, LevelVerdict, Place, TileMatch, TileRow, Verdict
from nki_migrate.runtime.hazards import Hazard
from nki_migrate.runtime.spec.memory import MODEL
from nki_migrate.spans import Span
from nki_migrate.surfaces.diffs import diff_of
from nki_migrate.surfaces.maps import maps as maps_of
from nki_migrate.surfaces.markup import element, escaped, valid
from nki_migrate.surfaces.page import Subject, on_disk, page
from nki_migrate.verdicts import CONTRACT, CaseResult, Problem, Proof

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "running_counter"
HOSTILE = "<script>alert(1)</script>\"'&amp;<b onload=x>\x00\x1b"
VOID = {"meta", "br", "input"}
ILLEGAL = b"import nki\n\n\n@nki.jit\ndef k(x):\n    return [i for i in x]\n"


class Page(HTMLParser):
    """The elements of a document; fails for one that is not closed, but for the lines of diffs, which HTML closes.

    ``text`` has the signs of diffs, which the style shows; ``lines`` are (sign, old number, new number, text).
    """

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.texts, self.lines = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if "style" in attributes:
            numbers = re.fullmatch(r"counter-reset: old (\d+) new (\d+)", attributes["style"])
            self.counters = [int(number) for number in numbers.groups()]
        if tag in ("dt", "dd") and "dl.diff" in self.open:
            self.end_line()
            sign = "-" if tag == "dt" else "+" if self.open[-1] == "dl.diff" else " "
            self.counters[0] += sign != "+"
            self.counters[1] += sign != "-"
            self.lines.append([sign, *self.counters, ""])
            self.texts.append(sign)
            self.open.append("line")
        elif tag not in VOID:
            self.open.append("dl.diff" if attributes.get("class") == "diff" else tag)

    def end_line(self):
        if self.open[-1:] == ["line"]:
            self.open.pop()

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag in ("div", "dl"):
            self.end_line()
        assert self.open.pop() in (tag, f"{tag}.diff")

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.texts.append(data)
        if "line" in self.open:
            self.lines[-1][3] += data

    @property
    def text(self):
        return "".join(self.texts)

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def tile(byte=0, tensor="x", space="sbuf", partition=0, partitions=128, nbytes=64, block=()):
    at = None if byte is None else partition
    return TileRow(1, tensor, block, space, at, byte, partitions, nbytes, "float32", "k.py", 7)


def result(word="w", verdict=Verdict.EQUAL, tiles=((), ()), before="old.py", after="new.py", seconds=0.5):
    place = Place(f"{word}.py", 3, f"at {word}")
    found = (Difference(f"differs {word}", place, place),) if verdict is not Verdict.EQUAL else ()
    level = LevelVerdict("layout", verdict, f"summary {word}", found, len(found), (f"note {word}",))
    return CaseResult(before, after, f"kernel {word}", f"case {word}", "gen3", (level,), tiles=tiles, seconds=seconds)


def subject(word="w"):
    """Something of everything that a page shows."""
    rows = (tile(0, f"tile {word}"), tile(64, "y"), tile(None, "loose"), tile(2048, "p", "psum"))
    moved = (tile(0, f"tile {word}"), tile(128, "y"), tile(2048, "p", "psum"))
    problem = Problem("after", Verdict.UNDECIDED, f"problem {word}", f"{word}.py", 3, f"help {word}")
    proof = Proof(
        (
            result(word, tiles=(rows, rows)),
            result(word, Verdict.DIFFERENT, (rows, moved)),
            CaseResult(f"{word}.py", "b.py", f"kernel {word}", problems=(problem,)),
        ),
        (f"a note {word}",),
    )
    finding = Finding(2, 3, "NKI025", "manual", f"finding {word}", f"help {word}")
    reports = [
        Report("old.py", "changed", None, (finding,), Counter(NKI001=1), b"x = 1\n", f"x = '{word}'\n".encode()),
        Report(f"{word}.py", "failed", f"reason {word}"),
    ]
    return Subject(f"verify {word}", reports, proof)


def test_nothing_of_a_users_becomes_markup():
    text = page(subject(HOSTILE))
    parsed = Page(text)
    assert "script" not in {tag for tag, _ in parsed.elements}
    for _, attributes in parsed.elements:
        assert not [name for name in attributes if name.startswith("on")]
    shown = valid(HOSTILE)
    words = ("kernel", "case", "summary", "note", "differs", "at", "problem", "help", "finding", "reason", "a note")
    for word in words:
        assert f"{word} {shown}" in parsed.text, word
    assert f"tile {shown} (float32, line 7)" in parsed.text
    assert "\x00" not in text and "\x1b" not in text


def test_the_page_asks_no_server_for_anything():
    parsed = Page(page(subject()))
    tags = {tag for tag, _ in parsed.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "video", "audio"}
    for tag, attributes in parsed.elements:
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#"), tag
    policies = [m["content"] for m in parsed.of("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
    style = re.search(r"<style>(.*?)</style>", page(subject()), re.S)[1]
    assert "url(" not in style and "@import" not in style


def test_every_link_leads_to_its_place():
    parsed = Page(page(subject()))
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {attributes["href"][1:] for attributes in parsed.of("a")}
    assert links and links <= set(ids)


def test_the_page_has_the_verdicts_the_findings_the_timings_and_the_contract():
    parsed = Page(page(subject()))
    for part in ("equal1different1undecided1error0", CONTRACT, "Findings by rule", "NKI025 × 1", "NKM101 × 1"):
        assert part in parsed.text, part
    assert "2 cases took 1.00 s" in parsed.text
    assert "would change1" in parsed.text and "failed1" in parsed.text
    assert "+1 −1" in parsed.text


def test_what_is_not_equal_is_open():
    cases = [a for a in Page(page(subject())).of("details") if "case" in a.get("class", "").split()]
    assert ["open" in attributes for attributes in cases] == [True, False, True]


def test_a_page_about_nothing_says_so():
    assert "No file concerns this run." in Page(page(Subject("rewrite"))).text


def test_files_that_do_not_concern_the_run_are_only_counted():
    report = Report("plain.py", "skipped", "does not mention neuronxcc")
    text = Page(page(Subject("rewrite", [report]))).text
    assert "plain.py" not in text and "skipped1" in text


def test_the_versions_on_disk_are_read_and_others_are_asked_for(tmp_path):
    file = tmp_path / "k.py"
    file.write_bytes(b"disk\n")
    assert on_disk(str(file), "") == b"disk\n"
    assert on_disk(str(file), "rev") is None and on_disk(str(tmp_path / "none.py"), "") is None
    proof = Proof((CaseResult("k.py", "k.py", "k", labels=("HEAD~1", "")),))
    versions = {("k.py", "HEAD~1"): b"was\n", ("k.py", ""): b"is\n"}
    parsed = Page(page(Subject("verify", proof=proof, contents=lambda path, label: versions[path, label])))
    assert "k.py (HEAD~1) → k.py" in parsed.text and "-was" in parsed.text and "+is" in parsed.text


def test_a_file_that_is_no_utf8_is_shown():
    report = Report("k.py", "changed", before=b"# \xff\n", after=b"# \xff!\n")
    assert "+# �!" in Page(page(Subject("rewrite", [report]))).text


def hazard(kind="overlap", name="t", line=3):
    place = Place("k.py", line, f"'{name}' is declared")
    return Hazard(kind, f"{name} lies where another does", (name,), place, place, "move it")


def test_hazards_are_listed_by_kind_with_those_of_the_new_version_first():
    hazards = ((hazard(), hazard(name="old")), (hazard(line=5), hazard(name="new", line=9), hazard("off_bank")))
    parsed = Page(page(Subject("verify", proof=Proof((replace(result(), hazards=hazards),)))))
    assert "Hazards" in parsed.text and "overlap × 3 tensors that live at once" in parsed.text
    assert "off_bank × 1" in parsed.text
    order = [
        parsed.text.index(text) for text in ("new version only k.py:9", "both versions k.py:5", "old version only")
    ]
    assert order[0] < min(order[1:])
    assert "Hazards" not in Page(page(subject())).text


def test_which_tile_stands_for_which_is_a_table():
    matches = (TileMatch(0, tile(), tile(), "map"), TileMatch(0, tile(64, "y"), None, "unmatched"))
    parsed = Page(page(Subject("verify", proof=Proof((replace(result(), matches=matches),)))))
    assert "Tiles: 2 pairs" in parsed.text
    assert "x sbuf 0:0, line 7x sbuf 0:0, line 7by the rewrite's map" in parsed.text
    assert "y sbuf 0:64, line 7–unmatched" in parsed.text


def test_the_new_version_is_checked_unless_a_rewrite_has_done_it():
    texts = {"old.py": b"import neuronxcc.nki\n", "new.py": ILLEGAL, "beta1.py": b"import neuronxcc.nki\n"}
    contents = lambda path, label: texts[path]  # noqa: E731
    proof = Proof((result(), result(after="beta1.py")))
    parsed = Page(page(Subject("verify", proof=proof, contents=contents)))
    assert re.search(r"NKL\d+ × 1", parsed.text) and "new.py:6" in parsed.text and "beta1.py:" not in parsed.text
    report = Report("old.py", "changed", before=b"import neuronxcc.nki\n", after=ILLEGAL)
    assert not re.search(r"NKL\d+", Page(page(Subject("rewrite", [report], Proof((result(after="old.py"),))))).text)


def test_a_page_of_check_says_what_is_legal():
    reports = [check_report("illegal.py", ILLEGAL), check_report("legal.py", b"import nki\n")]
    reports += [Report("none.py", "skipped", "does not mention nki"), Report("bad.py", "failed", "line 1: no")]
    parsed = Page(page(Subject("check", reports)))
    assert "legal1not legal1skipped1failed1" in parsed.text
    assert "illegal.pynot legal1 finding" in parsed.text and "legal.pylegal" in parsed.text
    assert "bad.pyfailedline 1: no" in parsed.text and "none.py" not in parsed.text


def test_a_rewrite_has_its_times_too():
    reports = [
        Report("k.py", "changed", before=b"a", after=b"b", seconds=1.5),
        Report("l.py", "unchanged", seconds=0.25),
    ]
    text = Page(page(Subject("rewrite", reports))).text
    assert "2 files took 1.75 s to rewrite and to guard." in text and "k.py1.50 s" in text


# Diffs


lines = st.lists(st.text(alphabet=st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=12))


@given(lines, lines)
def test_a_diff_shows_each_line_as_it_is(old, new):
    diff = diff_of("\n".join(old), "\n".join(new))
    sides = {"-": [(0, old or [""])], "+": [(1, new or [""])], " ": [(0, old or [""]), (1, new or [""])]}
    kinds = Counter()
    for sign, *numbers, text in Page(diff.hunks).lines:
        kinds[sign] += 1
        assert all(text == valid(source[numbers[side] - 1]) for side, source in sides[sign])
    assert (kinds["+"], kinds["-"]) == (diff.added, diff.removed)
    assert bool(diff.hunks) == (old != new and "\n".join(old) != "\n".join(new))


def test_what_changed_in_a_line_is_marked():
    hunks = diff_of("y = nl.load(x)\n", "y = nl.store(x)\n").hunks
    assert "nl.<mark>load</mark>(x)" in hunks and "nl.<mark>store</mark>(x)" in hunks


def test_a_line_of_a_diff_costs_no_more_than_its_text():
    old, new = ("".join(f"{word}_{n} = nl.load(x[{n}])\n" for n in range(1000)) for word in ("before", "after"))
    text = sum(len(line) - 1 for line in (old + new).splitlines(keepends=True))
    assert len(diff_of(old, new).hunks) < 1.8 * text, "a report of a large repository is mostly diffs"


# The order, the origin, the filter


def test_what_failed_stands_before_the_diff_and_what_is_equal_behind_it():
    text = page(subject())
    parts = ["differs w", 'class="diff"', 'kernel w, case w</b> (gen3) <span class="badge equal']
    where = [text.index(part, text.index('id="file-1"')) for part in parts]
    assert where == sorted(where)


def test_the_page_says_where_it_comes_from(kernel, capsys):
    for command in ("init -q", "add k.py", "-c user.name=n -c user.email=e commit -q -m m"):
        subprocess.run(["git", *command.split()], cwd=kernel, check=True)
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip()
    assert run("verify", "--base", "HEAD", "k.py", "--report", "report.html") == 0
    text = report(kernel)
    assert "commandnki-migrate verify --base HEAD k.py --report report.html" in text
    assert f"baseHEAD ({commit})" in text and f"revision{commit}" in text and "UTC" in text
    assert "cases1 case of 1 kernel on gen3" in text
    (kernel / "k.py").write_text(KERNEL + "# later\n")
    assert run("verify", "--migrate", "k.py", "--report", "report.html") == 0
    assert f"{commit}, with changes that are not committed" in report(kernel)


def test_a_page_without_a_repository_says_so(kernel, capsys, monkeypatch):
    monkeypatch.setenv("PATH", str(kernel))
    assert run("rewrite", "k.py", "--report", "report.html") == 1
    assert "revisionno commit of git" in report(kernel)


def test_boxes_hide_what_has_an_outcome_without_a_script():
    text = page(subject())
    boxes = re.findall(r'<input type="checkbox" class="filter" id="show-(is-[\w-]+)" checked="checked">', text)
    assert {"is-equal", "is-different", "is-undecided"} <= set(boxes)
    for box in boxes:
        assert f"#show-{box}:not(:checked) ~ * .{box}" in text and f'for="show-{box}"' in text
    assert "<input" not in page(Subject("rewrite", [Report("k.py", "failed", "no")]))


# Maps


def maps(before, after):
    return maps_of(before, after, MODEL)


def rectangles(figure):
    """The tiles of each of the two drawings of a figure: (class, x, y, width, height)."""
    for svg in re.findall(r"<svg.*?</svg>", figure, re.S):
        found = re.findall(
            r'<rect class="(tile[^"]*)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', svg
        )
        yield [(classes, *map(float, numbers)) for classes, *numbers in found]


def test_both_sides_have_one_scale_and_one_colour_a_tensor():
    before, after = rectangles(maps([tile(0, "a"), tile(64, "b")], [tile(0, "a"), tile(64, "b"), tile(192, "c")]))
    assert after[:2] == before and after[2][0] == "tile h2 moved"
    assert [round(x) for _, x, *_ in after] == [30, 160, 420]


def test_only_places_that_the_other_side_does_not_use_are_outlined():
    figure = maps([tile(0, "a"), tile(64, "b")], [tile(0, "other"), tile(96, "b")])
    before, after = rectangles(figure)
    assert [c.endswith("moved") for c, *_ in before] == [False, True]
    assert [c.endswith("moved") for c, *_ in after] == [False, True]
    assert "outlined" in figure
    assert "the same places on both sides" in maps([tile(0, "a")], [tile(0, "b")])


def test_tiles_that_take_turns_at_a_place_are_one_rectangle_with_all_their_names():
    rows = [tile(0, "ring", block=(n,)) for n in range(20)]
    figure = maps(rows, rows)
    assert [len(side) for side in rectangles(figure)] == [1, 1]
    assert "ring[0] ring[1] .. ring[19] (float32, line 7)" in figure


def test_psum_is_drawn_in_whole_banks():
    figure = maps([tile(2048, "p", "psum")], [])
    assert "bytes 0 to 4096" in figure and "bank 1" in figure and "bank 2" not in figure


def test_partitions_go_downwards():
    ((_, _, y, _, height),), _ = rectangles(maps([tile(0, partition=32, partitions=64)], [tile(0)]))
    assert (y, height) == (18 + 50, 100)


def test_tiles_without_an_address_are_counted_and_not_drawn():
    assert maps([tile(None)], []) == '<p class="note">Without an address, so not drawn: 1 tiles before, 0 after.</p>'
    assert maps([], []) == ""


def test_too_many_places_are_counted():
    many = [tile(64 * n) for n in range(3100)]
    assert "and 100 smaller places" in maps(many, many)


def test_labels_stand_where_there_is_room_and_ticks_are_kib_and_hexadecimal():
    figure = maps([tile(0, "weights", nbytes=4096), tile(4096, "b", nbytes=64)], [tile(0, "weights", nbytes=4096)])
    assert ">weights</text>" in figure and ">b</text>" not in figure
    assert ">1 KiB</text>" in figure and ">0x1000</text>" in figure and "(4.0625 KiB)" not in figure


def test_when_values_live_is_drawn_below_the_map_at_one_scale():
    rows = [tile(0, "x"), tile(64, "y")]
    spans = ((Span("x", "sbuf", 0, 64, 0, 9), Span("y", "sbuf", 64, 64, 5, 9)), (Span("x", "sbuf", 0, 64, 0, 4),))
    figure = maps_of(rows, rows, MODEL, spans)
    before_map, before, _, after = rectangles(figure)
    assert [width for _, _, _, width, _ in (*before, *after)] == pytest.approx([498, 249, 249], abs=1)
    assert [kind for kind, *_ in before] == [kind for kind, *_ in before_map]
    assert "instructions 5-9" in figure and "10 instructions" in figure and "0x40" in figure
    assert "instructions" not in maps(rows, rows)


def test_a_proof_says_when_values_live(kernel, capsys):
    for file in ("before.py", "after.py", "cases.toml", "reference.py"):
        shutil.copy(GOLDEN / file, kernel / file)
    for _ in ("runs", "cached"):
        assert run("verify", "before.py", "after.py", "--report", "report.html") == 0
        assert "SBUF over time, before" in (kernel / "report.html").read_text("utf-8")


# Markup


@given(st.text())
def test_any_text_is_text(text):
    parsed = Page(element("p", escaped(text), title=text))
    assert [tag for tag, _ in parsed.elements] == ["p"]
    assert parsed.text == valid(text) and parsed.of("p")[0]["title"] == valid(text)


# A real browser

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
browser = pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt-get install chromium")
_QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-extensions --disable-dev-shm-usage --hide-scrollbars"
).split()

# What the page looks like to a reader: widths, and the contrast of every text with what is behind it.
_MEASURE = """
<script>
function channel(v) { v /= 255; return v <= .03928 ? v / 12.92 : Math.pow((v + .055) / 1.055, 2.4); }
function light(c) { return .2126 * channel(c[0]) + .7152 * channel(c[1]) + .0722 * channel(c[2]); }
function rgb(text) { return text.match(/[\\d.]+/g).map(Number); }
function behind(e) {
  for (; e; e = e.parentElement) {
    const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c;
  }
  return [255, 255, 255];
}
window.onload = () => {
  document.querySelectorAll("details").forEach(d => d.open = true);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let worst = [99, ""];
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || e.closest("svg, script")) continue;
    const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < worst[0]) worst = [ratio, e.outerHTML.slice(0, 120)];
  }
  const root = document.documentElement;
  document.title = JSON.stringify({
    inner: window.innerWidth, scroll: root.scrollWidth, contrast: worst[0], where: worst[1],
    paper: getComputedStyle(document.body).backgroundColor,
    maps: [...document.querySelectorAll(".map")].slice(0, 2).map(m => m.getBoundingClientRect()).map(r => [r.x, r.y]),
    tile: document.querySelector("rect.tile").getBoundingClientRect().width,
  });
};
</script></head>"""


def chromium(tmp_path, *arguments):
    profile = tmp_path / "profile"
    done = subprocess.run(
        [CHROMIUM, *_QUIET, f"--user-data-dir={profile}", *arguments], capture_output=True, timeout=120, check=False
    )
    return done.stdout.decode(), done.stderr.decode()


def measured(tmp_path, text, width, scheme):
    """What the browser makes of the page. (The script is the test's; the page's own policy would refuse it.)"""
    file = tmp_path / "measured.html"
    file.write_text(re.sub(r"<meta http-equiv[^>]*>", "", text).replace("</head>", _MEASURE), "utf-8")
    scheme_number = {"dark": 0, "light": 1}[scheme]
    seen, _ = chromium(
        tmp_path,
        f"--window-size={width},900",
        f"--blink-settings=preferredColorScheme={scheme_number}",
        "--dump-dom",
        file.as_uri(),
    )
    title = re.search(r"<title>(\{.*?\})</title>", seen, re.S)
    assert title, seen[:500]
    return json.loads(title[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


@browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 500])
def test_a_browser_shows_all_of_it_legibly(tmp_path, width, scheme):
    source = b"x = 1\n" * 30
    long = Report("k.py", "changed", before=source, after=source.replace(b"1", b"2 " + b"long " * 60, 1))
    shown = subject("a_rather_long_word_without_any_spaces_in_it")
    text = page(Subject(shown.command, [*shown.reports, long], shown.proof))
    found = measured(tmp_path, text, width, scheme)
    assert found["inner"] == width and found["scroll"] <= width, "the page is wider than the window"
    assert found["contrast"] >= 4.5, found["where"]  # WCAG 2.1, 1.4.3
    assert (found["paper"] == "rgb(255, 255, 255)") == (scheme == "light")
    (x1, y1), (x2, y2) = found["maps"]
    assert (x2 > x1 and y2 == y1) if width > 1000 else (x2 == x1 and y2 > y1), "side by side where there is room"
    assert found["tile"] > 1


@browser
def test_a_browser_complains_of_nothing_and_loads_nothing(tmp_path):
    file = tmp_path / "report.html"
    file.write_text(page(subject(HOSTILE)), "utf-8")
    picture = tmp_path / "report.png"
    _, log = chromium(tmp_path, "--enable-logging=stderr", "--v=0", f"--screenshot={picture}", file.as_uri())
    assert "CONSOLE" not in log and "Content Security Policy" not in log
    assert picture.read_bytes().startswith(b"\x89PNG")


# The command line


KERNEL = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x))
    return out
"""
CASES = '[[case]]\nkernel = "copied"\nargs = {x = {shape = [8, 16], dtype = "float32"}}\n'


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "k.py").write_text(KERNEL)
    (tmp_path / "cases.toml").write_text(CASES)
    return tmp_path


def run(*arguments):
    with pytest.raises(SystemExit) as exit_:
        main(list(arguments))
    return exit_.value.code


def report(directory):
    return Page((directory / "report.html").read_text("utf-8")).text


def test_rewrite_reports_its_diffs(kernel, capsys):
    assert run("rewrite", "k.py", "--report", "report.html") == 1
    text = report(kernel)
    assert "would change1" in text and "-import neuronxcc.nki as nki" in text and "+import nki" in text
    assert run("rewrite", "--write", "k.py", "--report", "report.html") == 0
    text = report(kernel)
    assert "changed1" in text and "would change" not in text and "+import nki" in text
    assert "+import nki" not in capsys.readouterr().out.partition("k.py: rewritten")[2]


def test_rewrite_with_verify_reports_the_proof_too(kernel, capsys):
    assert run("rewrite", "--write", "--verify", "k.py", "--report", "report.html") == 0
    text = report(kernel)
    assert "changed1" in text and "equal1" in text and CONTRACT in text and "+import nki" in text


def test_verify_reports_the_diff_of_what_it_compared(kernel, capsys):
    assert run("verify", "--migrate", "k.py", "--report", "report.html") == 0
    assert "equal1" in report(kernel) and "+import nki" in report(kernel)
    (kernel / "new.py").write_text(KERNEL.replace("neuronxcc.nki", "neuronxcc.nki "))
    assert run("verify", "k.py", "new.py", "--report", "report.html") == 0
    assert "k.py → new.py" in report(kernel) and "+import neuronxcc.nki  as nki" in report(kernel)


def test_verify_reports_the_diff_to_the_base(kernel, capsys):
    for command in ("init -q", "add k.py", "-c user.name=n -c user.email=e commit -q -m m"):
        subprocess.run(["git", *command.split()], cwd=kernel, check=True)
    (kernel / "k.py").write_text(KERNEL + "# later\n")
    assert run("verify", "--base", "HEAD", "k.py", "--report", "report.html") == 0
    assert "k.py (HEAD) → k.py" in report(kernel) and "+# later" in report(kernel)


def test_a_report_that_cannot_be_written_is_an_error(kernel, capsys):
    for file, reason in (
        ("none/report.html", "there is no directory none: make it first"),
        (".", "it is a directory: name a file"),
        ("/dev/full", "No space left on device"),
    ):
        before = (kernel / "k.py").read_text()
        assert run("rewrite", "k.py", "--report", file, *["--write"] * (file != "/dev/full")) == 2
        error = capsys.readouterr().err.splitlines()[-1]
        assert error == f"nki-migrate: error: {file}: cannot write the report: {reason}"
        assert (kernel / "k.py").read_text() == before  # nothing is done first


def test_a_page_that_cannot_be_finished_leaves_the_one_before(kernel, capsys, monkeypatch):
    assert run("rewrite", "k.py", "--report", "report.html") == 1
    before = (kernel / "report.html").read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert run("rewrite", "k.py", "--report", "report.html", "--no-cache") == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith("cannot write the report: No space left on device")
    assert (kernel / "report.html").read_bytes() == before
    assert not list(kernel.glob("*.tmp"))


def test_the_words_of_an_assumption_stand_once_and_its_lines_by_rule(kernel, capsys):
    (kernel / "k.py").write_text(GOLDENS["broadcast_rows"].before)
    run("rewrite", "k.py", "--report", "report.html")
    lines = [line for line in capsys.readouterr().err.splitlines() if ": note: " in line]
    assert lines
    page = report(kernel)
    for line in lines:
        words = line.split(": note: ")[1]
        assert page.count(words) == 1, words
