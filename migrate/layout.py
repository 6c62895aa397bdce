"""``nki-migrate layout``: the address of every tile of one run of a kernel."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from nki_migrate.runtime.cases import Case, CaseError, CaseFile, read_cases
from nki_migrate.runtime.compare import Failure, Run, TileRow
from nki_migrate.runtime.pool import Worker
from nki_migrate.runtime.spec.hardware import DEFAULT_TARGET, PSUM_BANK_BYTES, PSUM_BANKS, TARGETS
from nki_migrate.runtime.worker import Request

from .errors import InputError

_HEADINGS = ("partitions", "bytes", "tile", "size", "dtype", "declared")


def run(
    file: str | os.PathLike[str],
    kernel: str,
    cases: str | os.PathLike[str] | None = None,
    case: str | None = None,
    output_format: str = "text",
) -> int:
    """Run one case of ``kernel`` and print its tiles. Raises :class:`InputError` when there is nothing to print."""
    chosen = _chosen_case(os.fspath(file), kernel, cases, case)
    hardware = chosen.hardware or DEFAULT_TARGET
    rows = tile_rows(os.fspath(file), chosen, hardware)
    if output_format == "json":
        click.echo(json.dumps([row.as_json() for row in rows], indent=2))
    else:
        click.echo("\n".join(_text(rows, chosen, hardware)))
    return 0


def tile_rows(file: str, case: Case, hardware: str) -> list[TileRow]:
    """The tiles of a run, of all programs, in declaration order, without declarations that repeat an earlier one."""
    worker = Worker()
    try:
        reply = worker.ask(Request("run", file, case, hardware))
    finally:
        worker.close()
    if isinstance(reply, Failure):
        place = f"{reply.file}:{reply.line}: " if reply.line else ""
        raise InputError(
            f"kernel '{case.kernel}', {case.name}: {place}{reply.message}. {reply.help}".rstrip(". ") + "."
        )
    if not isinstance(reply, Run):
        raise InputError(f"kernel '{case.kernel}', {case.name}: the worker did not run it")
    return distinct_tiles(reply)


def distinct_tiles(run: Run) -> list[TileRow]:
    """The tiles of all programs of ``run``, in declaration order, without declarations that repeat an earlier one."""
    distinct: dict[str, TileRow] = {}
    for program in run.programs:
        for row in program.tiles:
            distinct.setdefault(json.dumps(row.as_json()), row)
    return list(distinct.values())


def _chosen_case(file: str, kernel: str, cases: str | os.PathLike[str] | None, name: str | None) -> Case:
    if not os.path.isfile(file):
        raise InputError(f"{file}: no such file")
    path = os.fspath(cases) if cases is not None else str(Path(file).with_name("cases.toml"))
    try:
        source = read_cases(path)
    except CaseError as error:
        raise InputError(str(error)) from None
    mine = source.of(kernel)
    for broken in source.bad:
        if broken.kernel == kernel and (broken.name == name or not mine):
            raise InputError(broken.message)
    if not mine:
        raise InputError(_no_case(source, kernel))
    if name is None:
        return mine[0]
    for case in mine:
        if case.name == name:
            return case
    raise InputError(f"{path}: kernel '{kernel}' has no case '{name}': {_choices(name, [c.name for c in mine])}")


def _no_case(source: CaseFile, kernel: str) -> str:
    others = list(dict.fromkeys(case.kernel for case in source.cases))
    return f"{source.path}: no case says how to run kernel '{kernel}': {_choices(kernel, others)}"


def _choices(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean '{near[0]}'?" if near else f"there are {', '.join(known) or 'none'}"


def _text(rows: Sequence[TileRow], case: Case, hardware: str) -> Iterator[str]:
    yield f"{case.kernel}, {case.name} ({hardware})"
    for space in ("sbuf", "psum"):
        mine = [row for row in rows if row.space == space]
        if mine:
            yield ""
            yield from _space_lines(space, mine, hardware)
    if not rows:
        yield "the kernel declares no tiles"


def _space_lines(space: str, rows: Sequence[TileRow], hardware: str) -> Iterator[str]:
    pinned = sorted((row for row in rows if row.pinned), key=lambda row: (row.byte or 0, row.partition or 0))
    loose = [row for row in rows if not row.pinned]
    yield f"{space.upper()}: {_use(space, pinned, hardware)}"
    table = [_HEADINGS, *(_cells(row) for row in (*pinned, *loose))]
    widths = [max(len(line[column]) for line in table) for column in range(len(_HEADINGS))]
    for line in table:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    if loose:
        yield f"  {len(loose)} tile{'' if len(loose) == 1 else 's'} without an address: the compiler places them"


def _use(space: str, pinned: Sequence[TileRow], hardware: str) -> str:
    """How much of the memory the pinned tiles reach, against its limit."""
    top = max(((row.byte or 0) + row.nbytes for row in pinned), default=0)
    if space == "sbuf":
        limit = TARGETS[hardware].sbuf_bytes
        return f"{top} of {limit} bytes a partition ({100 * top / limit:.1f} %)"
    banks = sorted({row.bank for row in pinned if row.bank is not None})
    listed = f" ({', '.join(map(str, banks))})" if banks else ""
    return f"{len(banks)} of {PSUM_BANKS} banks of {PSUM_BANK_BYTES} bytes{listed}"


def _cells(row: TileRow) -> tuple[str, ...]:
    place = f"{os.path.basename(row.file)}:{row.line}"
    size = f"{row.partitions} x {row.nbytes}"
    if row.partition is None or row.byte is None:
        return "-", "-", row.label, size, row.dtype, place
    partitions = f"{row.partition}-{row.partition + row.partitions - 1}"
    first, bank = (row.byte, "") if row.bank is None else (row.byte % PSUM_BANK_BYTES, f"bank {row.bank}: ")
    return partitions, f"{bank}{first}-{first + max(row.nbytes, 1) - 1}", row.label, size, row.dtype, place
