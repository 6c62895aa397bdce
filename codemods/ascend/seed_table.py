"""The table of the seed's functions, as text and as Markdown: from the rows that the emulator and the rules read."""

from __future__ import annotations

from collections.abc import Iterator

from nki_migrate.runtime.spec.ascend_seed import SEED

CODE = "ASC000"
NAME = "seed-functions"
SUMMARY = "what became of each function of the document that circulates as TileLang-Ascend's memory API."
_INTRODUCTION = (
    "Most names of that document never existed in tile-ai/tilelang-ascend. Each one runs on the emulator of this tool; "
    "the rewrite puts in its place what the project has, or says why there is nothing to put there."
)


def as_text() -> str:
    """The rows for ``explain``."""
    return "\n\n".join([_INTRODUCTION, *_paragraphs()])


def _paragraphs() -> Iterator[str]:
    for row in SEED.values():
        lines = [row.signature, f"    real:    {row.real}", f"    runs:    {row.runs}"]
        lines += [f"    becomes: {row.becomes}"] if row.becomes else []
        lines += [f"    refused: {row.refused}"] if row.refused else []
        lines += [f"    rule:    {row.code}"] if row.code else []
        yield "\n".join(lines)


def as_markdown() -> str:
    """The rows as a table."""
    lines = ["| Seed | Real | Runs here as | Becomes | Refused, and why | Rule |", "|---|---|---|---|---|---|"]
    for row in SEED.values():
        cells = (f"`{row.signature}`", row.real, row.runs, row.becomes, row.refused, row.code)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
