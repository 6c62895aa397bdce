"""``nki-migrate layout`` of a kernel whose memory is planned from its source: nothing runs.

The map is that of runs: each buffer is a tile at its planned address, each entry of the statement list an event that
touches it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import click
from nki_migrate.runtime.ascend.plans import Program, Unreadable, planned
from nki_migrate.runtime.ascend.plans.names import Names
from nki_migrate.runtime.ascend.plans.planners import Planned
from nki_migrate.runtime.ascend.plans.sources import Kernel, Worth, kernels_of
from nki_migrate.runtime.ascend.plans.values import UNKNOWN
from nki_migrate.runtime.compare import Program as Record
from nki_migrate.runtime.compare import Run, TileRow
from nki_migrate.runtime.dialect import memory_of
from nki_migrate.runtime.events import Event, Operand
from nki_migrate.runtime.plan import statistics, trace
from nki_migrate.runtime.spec.ascend import DEFAULT_TARGET

from .errors import FileError, InputError
from .layout_map import mapped
from .layout_svg import drawn
from .layout_text import as_text
from .reports import parsed

FOUND = 1
LANGUAGE = "ascend"


@dataclass(frozen=True)
class Wish:
    """How to plan: hardware, mode, planner, and values for names of the source."""

    target: str = DEFAULT_TARGET
    mode: str = "auto"
    planner: str = "scope-exit"
    given: Mapping[str, object] = field(default_factory=dict)


def run(file: str, kernel: str, wish: Wish, output_format: str = "text", strict: bool = False) -> int:
    """Plan ``kernel``, print its map, figures, trace and problems; with ``strict`` problems make the exit code 1.

    Raises :class:`InputError` for a kernel that cannot be planned.
    """
    chosen, names = _kernel(file, kernel, wish.given)
    try:
        program = chosen.program(names)
    except Unreadable as problem:
        place = f"{file}:{problem.line}: " if problem.line else ""
        raise InputError(f"kernel '{kernel}': {place}{problem.text}; {problem.advice}") from None
    made = planned(program, wish.target, wish.mode, wish.planner, chosen.reuses)
    record = Run((), (_record(file, program, made),), language=LANGUAGE)
    found = mapped(record, _title(chosen, made), memory_of(LANGUAGE), wish.target)
    if output_format == "svg":
        click.echo(drawn(found))
    elif output_format == "json":
        click.echo(json.dumps(_as_json(chosen, program, made), indent=2))
    else:
        click.echo("\n".join([*_sources(chosen), *as_text(found), "", *_figures(made), "", *_trace(program, made)]))
    problems = _problems(file, program, made)
    for line in problems:
        click.echo(line, err=output_format != "text")
    return FOUND if strict and made.problems else 0


def _kernel(file: str, name: str, given: Mapping[str, object]) -> tuple[Kernel, Names]:
    try:
        with open(file, "rb") as stream:
            _, tree = parsed(stream.read())
    except (OSError, FileError) as error:
        raise InputError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    names = Names.of(tree)
    kernels = kernels_of(tree, names, given)
    for kernel in kernels:
        if name in (kernel.name, kernel.function.name):
            return kernel, names
    listed = ", ".join(kernel.name for kernel in kernels) or "none"
    raise InputError(f"{file}: no kernel is called '{name}': it has {listed}")


def _title(kernel: Kernel, made: Planned) -> str:
    planner = f", planner {made.planner}" if made.mode == "reuse" else ""
    return f"{kernel.name}, planned by mode {made.mode}{planner}"


def _record(file: str, program: Program, made: Planned) -> Record:
    """The plan as the record of a run: tiles, and an event for each entry that touches some."""
    path = os.path.abspath(file)
    uids = {buffer.name: uid for uid, buffer in enumerate(program.buffers)}
    tiles = tuple(
        TileRow(uids[a.name], a.name, (), a.scope.lower(), None if a.addr is None else 0, a.addr, 1, a.bytes, a.dtype,
                path, a.line)
        for a in made.plan.allocs
    )  # fmt: skip
    rows = {tile.uid: tile for tile in tiles}
    events = []
    for number, entry in enumerate(program.entries):
        operands = []
        for touch in entry.touches:
            tile = rows[uids[touch.buffer]]
            for role, takes_part in (("data", touch.reads), ("dst", touch.writes)):
                if takes_part:
                    operands.append(_operand(role, tile))
        if operands:
            events.append(Event(number + 1, "statement", tuple(operands), (), path, entry.line))
    return Record(tiles, (), tuple(events))


def _operand(role: str, tile: TileRow) -> Operand:
    return Operand(role, tile.space, tile.uid, tile.pinned, 0, tile.byte or 0, ((0, 1, tile.nbytes),), "uint8")


def _sources(kernel: Kernel) -> Iterator[str]:
    """Where the values of the kernel's parameters came from."""
    listed = [f"{name}={_shown(worth)}" for name, worth in kernel.parameters.items()]
    if listed:
        yield f"sizes: {', '.join(listed)}"
        yield ""


def _shown(worth: Worth) -> str:
    return "?" if worth.value is UNKNOWN else f"{worth.value!r} ({worth.origin})"


def _figures(made: Planned) -> Iterator[str]:
    yield "statistics"
    rows = [("memory", "buffers", "asked for", "top", "live at most", "saved by reuse", "limit")]
    for space, usage in statistics(made.plan).items():
        numbers = (usage.buffers, usage.asked, usage.top, usage.peak, usage.reused, usage.limit)
        rows.append((space, *map(str, numbers)))
    yield from _table(rows)


def _trace(program: Program, made: Planned) -> Iterator[str]:
    yield "trace (live bytes after each step)"
    rows = [("line", "what", "memory", "buffer", "bytes", "address", "live")]
    for step in trace(made.plan):
        at = min(step.step, len(program.entries) - 1)
        line = program.entries[at].line if program.entries else 0
        address = "-" if step.addr is None else str(step.addr)
        what = "live" if step.what == "alloc" else "dead"
        rows.append((str(line), what, step.scope, step.name, str(step.bytes), address, str(step.in_use)))
    yield from _table(rows)


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _problems(file: str, program: Program, made: Planned) -> list[str]:
    lines = []
    for problem in made.problems:
        lines += [f"problem [{problem.kind}]: {file}:{problem.line}: {problem.message}", f"  help: {problem.advice}"]
    return lines + [f"note: {file}:{line}: {text}" for line, text in program.notes]


def _as_json(kernel: Kernel, program: Program, made: Planned) -> dict[str, Any]:
    return {
        "kernel": kernel.name,
        "target": made.target,
        "mode": made.mode,
        "planner": made.planner,
        "values": {
            name: {"value": None if worth.value is UNKNOWN else worth.value, "origin": worth.origin}
            for name, worth in kernel.parameters.items()
        },
        "buffers": [
            {"name": a.name, "memory": a.scope, "address": a.addr, "bytes": a.bytes, "shape": list(a.shape),
             "dtype": a.dtype, "align": a.align, "live": list(a.live), "fixed": a.fixed, "line": a.line}
            for a in made.plan.allocs
        ],
        "statistics": {
            space: {"buffers": u.buffers, "asked": u.asked, "top": u.top, "peak": u.peak, "reused": u.reused,
                    "limit": u.limit}
            for space, u in statistics(made.plan).items()
        },
        "trace": [
            {"step": s.step, "what": s.what, "memory": s.scope, "buffer": s.name, "bytes": s.bytes, "in_use": s.in_use}
            for s in trace(made.plan)
        ],
        "problems": [
            {"kind": p.kind, "line": p.line, "message": p.message, "help": p.advice} for p in made.problems
        ],
        "notes": [{"line": line, "text": text} for line, text in program.notes],
    }  # fmt: skip
