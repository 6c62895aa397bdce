"""The rules that work on text, before any function is walked: each reads what the one before it wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..model import Options, Outcome
from ..plan.edited_text import EditedText
from ..plan.factories.rewriting import moved_out
from ..plan.grids.rewriting import Relaunched, relaunched
from ..plan.index_functions import written_out
from ..plan.inlining.rewriting import in_place
from ..plan.long_lines import fitted
from ..syntax.source import Source

_DEPTH = 8


@dataclass(frozen=True)
class Texts:
    """Modules by path after these rules: what each rule made of them, and what is known of their launch grids."""

    sources: dict[str, Source]
    grids: Mapping[str, Relaunched]
    steps: tuple[Mapping[str, EditedText], ...]

    def joined(self, path: str, outcome: Outcome) -> Outcome:
        """The outcome for the text of a module as one for its input."""
        for step in reversed(self.steps):
            outcome = step[path].joined(outcome)
        return outcome


def texts_of(sources: Mapping[str, Source], options: Options) -> Texts:
    """The modules with kernels at their top, no functions of indices, and no launch grids."""
    moved = moved_out(sources, options)
    read = _read_again(sources, moved)
    plain = written_out(read, options)
    read = _read_again(read, plain)
    steps = [moved, plain]
    while len(steps) < _DEPTH:  # one call may hide another
        steps.append(in_place(read, options))
        if not any(text.applied for text in steps[-1].values()):
            break
        read = _read_again(read, steps[-1])
    grids = {
        path: replace(module, lines=fitted(module.lines, sources[path].text))
        for path, module in relaunched(read, options).items()
    }
    return Texts(_read_again(read, grids), grids, (*steps, grids))


def _read_again(read: Mapping[str, Source], texts: Mapping[str, EditedText]) -> dict[str, Source]:
    return {
        path: source if texts[path].text == source.text else Source(texts[path].text, path)
        for path, source in read.items()
    }
