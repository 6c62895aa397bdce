"""The HTML report: one self-contained page, without scripts, that asks no server for anything.

It opens with the run and its verdict, then says what is left by rule, what took long, and shows each file: what failed
first, then its diff, then what was proved, with where its tiles lay before and after. Boxes hide what has an outcome.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from nki_migrate.runtime.compare import LEVELS, worst
from nki_migrate.runtime.dialect import memory_of

from ..checking import WORD as CHECKED
from ..checking import check_report
from ..errors import FileError
from ..explain import described
from ..output import assumption_text, plural, shown, summary
from ..reports import not_concerned
from ..rewriting import WORD
from ..text import decoded
from ..verdicts import CONTRACT, result_text
from . import remarks
from .annotations import Annotation, of_proof, of_reports, source_path
from .diffs import diff_of
from .maps import maps
from .markup import content, element, escaped
from .origin import Origin
from .style import STYLE

if TYPE_CHECKING:
    from ..reports import Report
    from ..verdicts import CaseResult, Proof

Contents = Callable[[str, str], "bytes | None"]
"""The bytes of a version of a file, by its path and the version's label (empty: as it is on disk)."""

# Nothing may be loaded, whatever slips through: not even by a style.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_SLOWEST = 10


@dataclass(frozen=True)
class _Section:
    """One file: its two texts, what was proved of it, what became of it, and what ``check`` says of the new text."""

    title: str
    before: str | None = None
    after: str | None = None
    results: tuple[CaseResult, ...] = ()
    report: Report | None = None
    legality: Report | None = None

    @property
    def outcome(self) -> str:
        """The worst verdict, or what became of the file."""
        if self.results:
            return worst([result.verdict for result in self.results]).value
        if self.report is None and self.legality is not None and self.legality.status == "unchanged":
            return "not legal" if self.legality.findings else "legal"
        report = self.report or self.legality
        return report.status if report else ""


@dataclass(frozen=True)
class Subject:
    """What a page is about. ``command`` is for the title; ``written``: changed files were written."""

    command: str
    reports: Sequence[Report] = ()
    proof: Proof | None = None
    written: bool = False
    contents: Contents = field(default=lambda path, label: on_disk(path, label))
    origin: Origin | None = None

    @property
    def annotations(self) -> list[Annotation]:
        """What is left. That files would change is none: their diffs are on the page."""
        checks = self.command == "check"  # then the sections have the findings
        found = [] if checks else list(of_reports("rewrite", list(self.reports), changes_are_done=True))
        return found + (list(of_proof(self.proof)) if self.proof else [])


def on_disk(path: str, label: str) -> bytes | None:
    """The bytes of a file; ``None`` for what is not there, or not the version on disk."""
    if label:
        return None
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return None


def page(subject: Subject) -> str:
    """The whole document."""
    sections = [_checked(section) for section in _sections(subject)]
    title = f"nki-migrate {subject.command}"
    body = [
        element("header", element("h1", escaped(title)), _origin(subject), _summary(subject)),
        *_filter(sections),
        _overview(sections),
        _findings([*subject.annotations, *_illegal(sections)]),
        remarks.hazards(subject.proof.results if subject.proof else ()),
        _timings(subject.proof.results if subject.proof else (), subject.reports),
        *(_file(section, f"file-{number}") for number, section in enumerate(sections, 1)),
        element("footer", escaped(f"nki-migrate {version('nki-migrate')}")),
    ]
    return document(title, *body)


def document(title: str, *body: str) -> str:
    """A page of its own around markup: it has the style of all reports, and asks no server for anything."""
    head = (
        '<meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escaped(title)}</title><style>{STYLE}</style>"
    )
    main = element("main", *body)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{main}</body></html>\n'


# --- what there is to show -------------------------------------------------------------------------------------------


def _sections(subject: Subject) -> Iterator[_Section]:
    """The files in the order of the reports, then those that only the proof knows, in its order."""
    proved: dict[tuple[str, str, tuple[str, str]], list[CaseResult]] = {}
    for result in subject.proof.results if subject.proof else ():
        proved.setdefault((result.before, result.after, result.labels), []).append(result)
    for report in subject.reports:
        mine = [key for key in proved if key[0] == report.path]
        results = tuple(result for key in mine for result in proved.pop(key))
        if subject.command == "check":
            if report.reason not in not_concerned(CHECKED):
                yield _Section(shown(source_path(report.path)), legality=report)
        elif report.reason not in not_concerned(WORD) or results:
            before, after = map(_text, report.listings)
            yield _Section(shown(source_path(report.path)), before, after, results, report)
    for (old, new, labels), found in proved.items():
        sides = [(old, labels[0]), (new, labels[1])]
        before, after = (_text(subject.contents(path, label)) for path, label in sides)
        title = " → ".join(dict.fromkeys(_named(path, label) for path, label in sides if path))
        yield _Section(title, before, after, tuple(found))


def _checked(section: _Section) -> _Section:
    """With what ``check`` says of the new version. A rewrite has said it, and of Beta 1 there is nothing to say."""
    is_beta2 = section.after is not None and "nki" in section.after and WORD.decode() not in section.after
    if section.report is not None or not section.results or not is_beta2 or section.after is None:
        return section
    return replace(section, legality=check_report(section.results[0].after, section.after.encode("utf-8", "replace")))


def _illegal(sections: Sequence[_Section]) -> list[Annotation]:
    return list(of_reports("check", [s.legality for s in sections if s.legality], changes_are_done=True))


def _named(path: str, label: str) -> str:
    name = shown(source_path(path))
    return f"{name} ({label})" if label else name


def _text(data: bytes | None) -> str | None:
    if data is None:
        return None
    try:
        return decoded(data).text
    except FileError:
        return data.decode("utf-8", "replace")


# --- the parts of the page -------------------------------------------------------------------------------------------


def _origin(subject: Subject) -> str:
    """The command, the date, the revisions and the cases of the run."""
    rows = []
    if subject.origin:
        origin = subject.origin
        rows += [("command", element("code", escaped(origin.command))), ("date", escaped(origin.date))]
        rows += [("base", escaped(origin.base))] if origin.base else []
        rows += [("revision", escaped(origin.revision))]
    results = [result for result in subject.proof.results if result.case] if subject.proof else []
    if results:
        kernels = plural(len({(r.after or r.before, r.kernel) for r in results}), "kernel")
        generations = ", ".join(sorted({r.hardware for r in results if r.hardware}))
        on = f" on {generations}" if generations else ""
        rows.append(("cases", escaped(f"{plural(len(results), 'case')} of {kernels}{on}")))
    cells = [element("tr", element("th", name, scope="row"), element("td", text)) for name, text in rows]
    return element("table", *cells, class_="origin") if cells else ""


def _filter(sections: Sequence[_Section]) -> Iterator[str]:
    """A box for each outcome, which shows and hides what has it: the boxes come before all that they hide."""
    counts = Counter(section.outcome for section in sections if section.outcome)
    verdicts = Counter(result.verdict.value for section in sections for result in section.results)
    words = list(dict.fromkeys([*counts, *verdicts]))
    if len(words) < 2:
        return
    yield element("span", "Show: ", class_="filter")
    for word in words:
        name = f"show-{_outcome(word)}"
        yield f'<input type="checkbox" class="filter" id="{name}" checked="checked">'
        label = f"{escaped(word)} ({verdicts[word] or counts[word]})"
        yield element("label", label, for_=name, class_=f"filter {word}")


def _outcome(word: str) -> str:
    """The class of what has an outcome."""
    return f"is-{word.replace(' ', '-')}" if word else ""


def _hidden_with(section: _Section) -> str:
    """The outcome with which a file is hidden: none where its cases have several."""
    return _outcome(section.outcome) if len({result.verdict for result in section.results}) < 2 else ""


def _legality_figures(subject: Subject) -> list[str]:
    """How many files are legal, and how many are not."""
    legal = [report for report in subject.reports if report.status == "unchanged"]
    illegal = sum(bool(report.findings) for report in legal)
    figures = [_figure(len(legal) - illegal, "legal", "legal")]
    figures.append(_figure(illegal, "not legal", "not legal" if illegal else "none"))
    for status in ("skipped", "failed"):
        count = sum(report.status == status for report in subject.reports)
        figures.append(_figure(count, status, status if count and status == "failed" else "none"))
    return figures


def _rewrite_figures(subject: Subject) -> list[str]:
    """What the rewrite did to how many files, and what it found."""
    counts, figures = summary(list(subject.reports)), []
    for status in ("changed", "unchanged", "skipped", "failed"):
        name = "would change" if status == "changed" and not subject.written else status
        figures.append(_figure(counts[status], name, status if counts[status] and status != "skipped" else "none"))
    figures.append(_figure(counts["findings"], "findings", "undecided" if counts["findings"] else "none"))
    figures.append(_figure(counts["assumptions"], "assumptions", "none"))
    return figures


def _summary(subject: Subject) -> str:
    tiles = []
    if subject.proof:
        for verdict, count in subject.proof.counts.items():
            tiles.append(_figure(count, verdict, verdict if count else "none"))
    if subject.command == "check":
        tiles += _legality_figures(subject)
    elif subject.reports:
        tiles += _rewrite_figures(subject)
    notes = "".join(element("li", escaped(note)) for note in (subject.proof.notes if subject.proof else ()))
    contract = element("p", escaped(CONTRACT), class_="note") if subject.proof else ""
    return element("dl", *tiles, class_="figures") + (element("ul", notes, class_="notes") if notes else "") + contract


def _figure(count: int, name: str, kind: str) -> str:
    return element("div", element("dt", escaped(name)), element("dd", str(count)), class_=f"figure {kind}")


def _badge(word: str) -> str:
    return element("span", escaped(word), class_=f"badge {word}") if word else element("span", "–", class_="none")


def _overview(sections: Sequence[_Section]) -> str:
    if not sections:
        return element("p", "No file concerns this run.")
    rows = []
    for number, section in enumerate(sections, 1):
        link = element("a", escaped(section.title), href=f"#file-{number}")
        rows.append(
            element(
                "tr",
                element("th", link, scope="row", colspan=3),
                element("td", _badge(section.outcome)),
                *(element("td") for _ in range(5)),
                class_=f"path {_hidden_with(section)}",
            )
        )
        rows += [_overview_row(result, f"#file-{number}-case-{n}") for n, result in enumerate(section.results, 1)]
    is_proof = any(section.results for section in sections)
    titles = ("kernel", "case", "target", "verdict", *LEVELS, "reference", "seconds") if is_proof else ()
    heading = element("thead", element("tr", *(element("th", title, scope="col") for title in titles)))
    if not is_proof:
        rows = [
            element(
                "tr",
                element("td", element("a", escaped(s.title), href=f"#file-{n}")),
                element("td", _badge(s.outcome)),
                element("td", escaped(_left(s))),
                class_=_outcome(s.outcome),
            )
            for n, s in enumerate(sections, 1)
        ]
        heading = element("thead", element("tr", *(element("th", t, scope="col") for t in ("file", "outcome", "left"))))
    table = element("table", heading, element("tbody", *rows), class_="overview")
    return element("section", element("h2", "Files"), element("div", table, class_="scroll"))


def _left(section: _Section) -> str:
    report = section.report or section.legality
    if report is None:
        return ""
    return report.reason or (plural(len(report.findings), "finding") if report.findings else "")


def _overview_row(result: CaseResult, link: str) -> str:
    found = {level.level: level.verdict.value for level in result.levels}
    agreed = worst([a.verdict for a in result.reference]).value if result.reference else ""
    name = element("a", escaped(result.kernel or "the file"), href=link)
    cells = [name, escaped(result.case), escaped(result.hardware), _badge(result.verdict.value)]
    cells += [_badge(found.get(level, "")) for level in LEVELS]
    cells += [_badge(agreed), f"{result.seconds:.2f}"]
    return element("tr", *(element("td", cell) for cell in cells), class_=f"case {_outcome(result.verdict.value)}")


def _findings(annotations: Sequence[Annotation]) -> str:
    """What is left, by rule: the most frequent first. The words of notes, which are many, stand at their files."""
    by_code: dict[str, list[Annotation]] = {}
    for annotation in annotations:
        by_code.setdefault(annotation.code, []).append(annotation)
    rules = []
    for code, found in sorted(by_code.items(), key=lambda item: (-len(item[1]), item[0])):
        description = described(code)
        summary = f"{description.name}: {description.summary}" if description else ""
        lines: dict[str, list[str]] = {}
        by_message: dict[str, list[str]] = {}
        for annotation in found:
            if annotation.severity == "note":
                lines.setdefault(shown(source_path(annotation.path)), []).append(str(annotation.line))
            else:
                by_message.setdefault(annotation.message.replace("\n", " – "), []).append(_place(annotation))
        places = [element("li", element("code", content(path)), " ", ", ".join(at)) for path, at in lines.items()]
        places += [
            element("li", element("code", content(", ".join(where))), " ", content(message))
            for message, where in by_message.items()
        ]
        heading = element(
            "summary", element("b", escaped(code)), f" × {len(found)} ", escaped(summary.replace("``", "`"))
        )
        rules.append(element("details", heading, element("ul", *places, class_="places")))
    if not rules:
        return ""
    return element("section", element("h2", "Findings by rule"), *rules)


def _place(annotation: Annotation) -> str:
    path = shown(source_path(annotation.path))
    return ":".join([path, *(str(n) for n in (annotation.line, annotation.column) if n)])


def _timings(results: Sequence[CaseResult], reports: Sequence[Report]) -> str:
    files = [(shown(source_path(r.path)), r.seconds) for r in reports if r.seconds]
    cases = [(", ".join(filter(None, (r.kernel, r.case))), r.seconds) for r in results if r.seconds]
    parts = [
        *_slowest(files, f"{plural(len(files), 'file')} took {{:.2f}} s to rewrite and to guard."),
        *_slowest(cases, f"{plural(len(cases), 'case')} took {{:.2f}} s on the emulator, both versions together."),
    ]
    return element("section", element("h2", "Timings"), *parts) if parts else ""


def _slowest(timed: Sequence[tuple[str, float]], text: str) -> Iterator[str]:
    """The sum of some times, and the longest of them; nothing where nothing took time."""
    slowest = sorted(timed, key=lambda item: -item[1])[:_SLOWEST]
    if not slowest:
        return
    rows = [
        element(
            "tr",
            element("td", escaped(name)),
            element("td", f"{seconds:.2f} s", class_="number"),
            element("td", element("meter", min=0, max=f"{slowest[0][1]:.3f}", value=f"{seconds:.3f}")),
        )
        for name, seconds in slowest
    ]
    more = f" The {_SLOWEST} slowest:" if len(timed) > _SLOWEST else ""
    yield element("p", escaped(text.format(sum(seconds for _, seconds in timed)) + more))
    yield element("div", element("table", *rows, class_="timings"), class_="scroll")


def _file(section: _Section, anchor: str) -> str:
    """One file: why it failed and what is left, the cases that are not equal, the diff, and then what is as it was."""
    parts = [element("h2", escaped(section.title), " ", _badge(section.outcome))]
    if section.report and section.report.reason:
        parts.append(element("p", escaped(section.report.reason)))
    findings = [(r, f) for r in (section.report, section.legality) if r for f in r.findings]
    if findings:
        places = (
            element(
                "li",
                element("code", f"{report.shown_line(f.line)}:{f.column} {f.code}"),
                content(f" [{f.applicability}] {f.message}"),
            )
            for report, f in findings
        )
        parts.append(element("ul", *places, class_="places"))
    cases = [(result.verdict, _case(result, f"{anchor}-case-{n}")) for n, result in enumerate(section.results, 1)]
    parts += [case for verdict, case in cases if verdict != "equal"]
    parts.append(_diff(section))
    assumed = [(section.report, each) for each in section.report.asserted] if section.report else []
    if assumed:
        notes = (
            element("li", element("code", f"{report.shown_line(a.line)} note"), content(f" {assumption_text(a)}"))
            for report, a in assumed
        )
        parts.append(element("ul", *notes, class_="places"))
    parts += [case for verdict, case in cases if verdict == "equal"]
    return element("section", *parts, id=anchor, class_=f"file {_hidden_with(section)}")


def _diff(section: _Section) -> str:
    if section.before is None or section.after is None:
        return ""
    diff = diff_of(section.before, section.after)
    if not diff.hunks:
        return ""
    counts = (element("span", f"+{diff.added}", class_="plus"), element("span", f"−{diff.removed}", class_="minus"))
    return element("details", element("summary", "Diff ", " ".join(counts)), diff.hunks, open="open")


def _case(result: CaseResult, anchor: str) -> str:
    """One case: the verdict with its reasons, and the maps; open when there is something to look at."""
    title = ", ".join(filter(None, (result.kernel or "the file", result.case)))
    target = f" ({result.hardware})" if result.hardware else ""
    summary = element("summary", element("b", escaped(title)), escaped(target), " ", _badge(result.verdict.value))
    lines = result_text(result).split("\n")[1:]
    text = element("pre", escaped("\n".join(line.removeprefix("    ") for line in lines))) if lines else ""
    is_open = None if result.verdict == "equal" else "open"
    shown_tiles = maps(*result.tiles, memory_of(result.language), result.spans) + remarks.tiles(result.matches)
    return element(
        "details", summary, text, shown_tiles, id=anchor, class_=f"case {_outcome(result.verdict.value)}", open=is_open
    )
