"""The rules that work on text, before any function is walked: each reads what the one before it wrote."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from ..model import Options, Outcome
from ..plan.branched_choices import branched
from ..plan.edited_text import EditedText
from ..plan.factories.rewriting import moved_out
from ..plan.grids.rewriting import Relaunched, relaunched
from ..plan.index_functions import written_out
from ..plan.inlining.rewriting import in_place
from ..plan.line_origins import place_in_input
from ..plan.long_lines import fitted
from ..plan.returned_outputs import returned
from ..syntax.source import Source

_DEPTH = 8


@dataclass(frozen=True)
class Texts:
    """Modules by path after these rules: what each rule made of them, and what is known of their launch grids.

    ``branches`` is the step that writes choices as an ``if``.
    """

    sources: dict[str, Source]
    grids: Mapping[str, Relaunched]
    branches: Mapping[str, EditedText]
    steps: tuple[Mapping[str, EditedText], ...]

    def place_of_choice(self, path: str, line: int) -> int:
        """The line, in the text in which choices are looked for, that a line of the last text was."""
        return place_in_input(self.branches[path].lines, place_in_input(self.grids[path].lines, line)[0])[0]

    def joined(self, path: str, outcome: Outcome) -> Outcome:
        """The outcome for the text of a module as one for its input."""
        for step in reversed(self.steps):
            outcome = step[path].joined(outcome)
        return outcome


def texts_of(sources: Mapping[str, Source], options: Options, choices: Mapping[str, Collection[int]]) -> Texts:
    """The modules with kernels at their top, no functions of indices, and no launch grids.

    ``choices`` are lines of statements whose choices are to be an ``if`` (:meth:`Texts.place_of_choice`).
    """
    outputs = returned(sources, options)
    read = _read_again(sources, outputs)
    moved = moved_out(read, options)
    read = _read_again(read, moved)
    plain = written_out(read, options)
    read = _read_again(read, plain)
    steps = [outputs, moved, plain]
    while len(steps) <= _DEPTH:  # one call may hide another
        steps.append(in_place(read, options))
        if not any(text.applied for text in steps[-1].values()):
            break
        read = _read_again(read, steps[-1])
    branches = branched(read, choices)
    read = _read_again(read, branches)
    grids = {
        path: replace(module, lines=fitted(module.lines, sources[path].text))
        for path, module in relaunched(read, options).items()
    }
    return Texts(_read_again(read, grids), grids, branches, (*steps, branches, grids))


def _read_again(read: Mapping[str, Source], texts: Mapping[str, EditedText]) -> dict[str, Source]:
    return {
        path: source if texts[path].text == source.text else Source(texts[path].text, path)
        for path, source in read.items()
    }
