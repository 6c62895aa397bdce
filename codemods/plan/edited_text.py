"""A module's text after a rule that works on text: its lines, and what was left, in places of the input."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ..expr.emission import Said
from ..model import Asserted, Finding, Options, Outcome
from ..project.program import Module, program_of
from ..syntax.source import Source
from .line_origins import Line, lines_of, place_in_input


@dataclass
class EditedText:
    """One module after a rule: its lines, what was left, how often the rule applied, in which functions.

    ``asserted`` is what the rule takes for true.
    """

    lines: list[Line]
    findings: list[Finding] = field(default_factory=list)
    applied: Counter[str] = field(default_factory=Counter)
    touched: set[str] = field(default_factory=set)
    asserted: list[Asserted] = field(default_factory=list, kw_only=True)

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def said(self) -> list[Said]:
        """The findings, in lines of :attr:`text`; of what is under review Beta 2 itself judges the launch."""
        places: dict[int, int] = {}
        for number, line in enumerate(self.lines, start=1):
            places.setdefault(line.origin, number)
        here = [replace(f, line=places[f.line]) for f in self.findings if f.line in places]
        return [Said(ast.Pass(), finding, finding.applicability == "manual") for finding in here]

    def joined(self, outcome: Outcome) -> Outcome:
        """The outcome for :attr:`text` as one for the input."""

        def place(line: int) -> int:
            return place_in_input(self.lines, line)[0]

        findings = {*self.findings}
        for found in outcome.findings:
            line, column = place_in_input(self.lines, found.line, found.column)
            findings.add(replace(found, line=line, column=column))
        return replace(
            outcome,
            findings=tuple(sorted(findings)),
            applied=self.applied + Counter(outcome.applied),
            touched=outcome.touched | self.touched,
            moves=tuple(replace(m, lines=(place(m.lines[0]), place(m.lines[1]))) for m in outcome.moves),
            decisions=tuple(sorted({replace(d, line=place(d.line)) for d in outcome.decisions})),
            assumptions=frozenset(replace(a, line=place(a.line)) for a in outcome.assumptions),
            left=frozenset(place(line) for line in outcome.left),
            asserted=tuple(sorted([*self.asserted, *(replace(a, line=place(a.line)) for a in outcome.asserted)])),
        )


def edited_where(
    sources: Mapping[str, Source],
    options: Options,
    concerns: Callable[[Source], bool],
    edit: Callable[[Module], EditedText],
) -> dict[str, EditedText]:
    """Modules by path after a rule: those that it ``concerns`` as it edits them, all others as they are."""
    concerned = {path for path, source in sources.items() if concerns(source)}
    plain = {path: EditedText(lines_of(source.text)) for path, source in sources.items() if path not in concerned}
    if not concerned:
        return plain
    program = program_of(sources, options)
    return plain | {path: edit(program.modules[path]) for path in concerned}


def arranged(
    lines: list[Line], gone: set[int], above: Mapping[int, list[Line]], further: tuple[int, list[str]]
) -> list[Line]:
    """The lines without those that are gone, with those that come above others, and with a further import."""
    result = [Line(text, 1) for text in further[1]] if not further[0] else []
    placed: set[int] = set()
    gap = False
    for line in lines:
        if line.origin in above and line.origin not in placed:
            placed.add(line.origin)
            result += above[line.origin]
        if line.origin in gone:
            gap = True
            continue
        if (
            gap
            and not line.text.strip()
            and (not result or not result[-1].text.strip() or result[-1].text.endswith(":"))
        ):
            continue
        gap = False
        result.append(line)
        if line.origin == further[0]:
            result += [Line(text, line.origin) for text in further[1]]
    return result
