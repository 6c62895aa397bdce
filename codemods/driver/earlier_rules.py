"""The rules that work on text, before any function is walked: each reads what the one before it wrote."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
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
from ..plan.nested_targets import unpacked
from ..plan.returned_outputs import returned
from ..plan.starred_shapes import added
from ..plan.unrolling import unrolled
from ..plan.whole_sizes import whole_sizes
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


@dataclass(frozen=True)
class Unbranched:
    """Modules by path after the rules that come before choices: the same for all choices that are tried."""

    originals: Mapping[str, Source]
    sources: Mapping[str, Source]
    steps: tuple[Mapping[str, EditedText], ...]
    options: Options

    def of(self, paths: Collection[str]) -> Unbranched:
        """Some of the modules."""
        steps = tuple({path: step[path] for path in paths} for step in self.steps)
        originals, sources = ({path: each[path] for path in paths} for each in (self.originals, self.sources))
        return Unbranched(originals, sources, steps, self.options)

    def with_branches(self, choices: Mapping[str, Collection[int]]) -> Texts:
        """The modules without launch grids.

        ``choices`` are lines of statements whose choices are to be an ``if`` (:meth:`Texts.place_of_choice`).
        """
        branches = branched(self.sources, choices)
        read = _read_again(self.sources, branches)
        grids = {
            path: replace(module, lines=fitted(module.lines, self.originals[path].text))
            for path, module in relaunched(read, self.options).items()
        }
        return Texts(_read_again(read, grids), grids, branches, (*self.steps, branches, grids))


def unbranched(sources: Mapping[str, Source], options: Options) -> Unbranched:
    """The modules with kernels at their top, no functions of indices, no loops over tensors, no targets in targets."""
    read, steps = _repeated(sources, unrolled, options)
    for step in (added, unpacked, whole_sizes, returned, moved_out, written_out):
        steps.append(step(read, options))
        read = _read_again(read, steps[-1])
    read, further = _repeated(read, in_place, options)
    return Unbranched(sources, read, (*steps, *further), options)


def _repeated(
    read: Mapping[str, Source], step: Callable[[Mapping[str, Source], Options], dict[str, EditedText]], options: Options
) -> tuple[Mapping[str, Source], list[dict[str, EditedText]]]:
    """The modules after a step that is repeated while it applies (what it writes out may hold another one), and each
    of its outcomes."""
    steps: list[dict[str, EditedText]] = []
    while len(steps) <= _DEPTH:
        steps.append(step(read, options))
        if not any(text.applied for text in steps[-1].values()):
            break
        read = _read_again(read, steps[-1])
    return read, steps


def _read_again(read: Mapping[str, Source], texts: Mapping[str, EditedText]) -> dict[str, Source]:
    return {
        path: source if texts[path].text == source.text else Source(texts[path].text, path)
        for path, source in read.items()
    }
