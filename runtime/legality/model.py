"""What the checker answers, and what a rule says about itself."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from ..spec.versions import EVER, Span


@dataclass(frozen=True, order=True)
class Violation:
    """One construct that Beta 2 refuses. ``line`` and ``column`` are 1-based."""

    line: int
    column: int
    code: str
    message: str
    help: str


@dataclass(frozen=True)
class RuleDoc:
    """A rule as data: what the front end says, why, what to do, and one example each way.

    ``message`` is the front end's text; ``{}`` stands for the part that depends on the source. ``stage`` is the part
    of the front end that refuses: ``gather`` (reads the Python syntax), ``simplify`` (turns it into NKI's own),
    ``trace`` (executes it), or ``ours`` for what the front end accepts and gets wrong without a word. ``bad`` must
    give exactly this code, ``good`` must give nothing: a test runs both, each as a whole file with the usual imports
    above it. The rule belongs to the NKI versions of ``span``.
    """

    code: str
    name: str
    message: str
    why: str
    help: str
    bad: str
    good: str
    stage: str = "trace"
    span: Span = EVER

    def __str__(self) -> str:
        origin = (
            "Refused by nki-migrate: the front end accepts it and compiles something else."
            if self.stage == "ours"
            else ""
        )
        parts = [
            f"{self.name}: {self.message}",
            *filter(None, [origin]),
            _filled(self.why),
            _filled(f"What to do: {self.help}"),
            f"Refused:\n\n{_indented(self.bad)}",
            f"Legal:\n\n{_indented(self.good)}",
        ]
        return "\n\n".join(parts)


def kernel(body: str) -> str:
    """A kernel with the given body, for the examples."""
    return "@nki.jit\ndef kernel(x, y):\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n"


def _filled(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 100)


def _indented(source: str) -> str:
    return textwrap.indent(source.strip(), "    ")
