"""Nothing that an instruction or a tensor is told escapes the comparison, unless the table of exemptions names it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import fields, make_dataclass, replace
from functools import cache
from typing import Any

import comparison_calls as calls
import numpy as np
import pytest
from nki_migrate.runtime.beta1 import launch as beta1_launch
from nki_migrate.runtime.beta1.modules import MODULES as BETA1_MODULES
from nki_migrate.runtime.beta2 import isa_search
from nki_migrate.runtime.beta2 import launch as beta2_launch
from nki_migrate.runtime.beta2.modules import MODULES as BETA2_MODULES
from nki_migrate.runtime.compare import HbmTensor, Run, TileRow, Verdict, compare_layout, compare_operands
from nki_migrate.runtime.compare.trace import traces_of
from nki_migrate.runtime.errors import KernelError, NotModelled
from nki_migrate.runtime.events import Event, Operand
from nki_migrate.runtime.numerics import DTYPES
from nki_migrate.runtime.spec import beta1, beta2, comparison
from nki_migrate.runtime.spec.comparison import ANY, EXEMPTIONS, Exemption
from nki_migrate.runtime.spec.hardware import TARGETS
from nki_migrate.runtime.spec.versions import NEWEST, OLDEST, V03
from nki_migrate.runtime.spec.versions import version as version_of

VERSIONS = ("beta1", OLDEST.name, V03.name, NEWEST.name)
GEN4 = ("exponential", "rand2")
ELSEWHERE = frozenset({"core_barrier", "lnc_barrier", "sendrecv", "nc_matmul_mx", "quantize_mx"})
"""Instructions that need a launch or formats of their own: test_beta2_cores, test_beta2_mx run them."""
NO_INSTRUCTION = frozenset({"get_nc_version", "register_alloc", "register_load", "register_move", "register_store"})
SYNONYMS = frozenset({"tensor_copy_dynamic_src", "tensor_copy_dynamic_dst"})
"""Names of Beta 2 for tensor_copy."""


def keywords(version: str) -> dict[str, list[str]]:
    """The keywords that each instruction of a version takes."""
    if version == "beta1":
        entries = {name.removeprefix("nisa."): e for name, e in beta1.DOCUMENTED.items() if name.startswith("nisa.")}
        functions = {name: e for name, e in entries.items() if e.kind == "function" and e.fate != "refused"}
        return {n: [p.name for p in e.parameters if p.kind in ("positional", "keyword")] for n, e in functions.items()}
    entries2 = {name: e for name, e in beta2.table(version).items() if name.startswith("nki.isa.") and e.is_callable}
    return {name.removeprefix("nki.isa."): list(e.accepted()) for name, e in entries2.items()}


def is_run(name: str, version: str) -> bool:
    """Can one program run the instruction? (What the emulator does not model is undecided, whatever it is told.)"""
    beta2_only = isa_search.UNMODELLED.keys() | SYNONYMS if version != "beta1" else frozenset()
    return name not in ELSEWHERE | NO_INSTRUCTION and name not in beta2_only


PAIRS = [(v, n, k) for v in VERSIONS for n, names in keywords(v).items() if is_run(n, v) for k in names]


def is_exempt(version: str, name: str, keyword: str) -> bool:
    return any(e.subject in (ANY, name) and e.attribute == keyword and holds(e, version) for e in EXEMPTIONS)


def holds(exemption: Exemption, name: str) -> bool:
    is_old = name == "beta1"
    return exemption.covers("beta1" if is_old else "beta2", None if is_old else version_of(name))


def call_of(version: str, name: str) -> dict[str, str]:
    """The keywords of the base call and their expressions."""
    text = (calls.BETA1 if version == "beta1" else calls.BETA2)[name]
    given = ast.parse(f"f({text})", mode="eval").body
    assert isinstance(given, ast.Call)
    found = {str(k.arg): ast.get_source_segment(f"f({text})", k.value) or "" for k in given.keywords}
    found = {
        k: f"({v})" if isinstance(ast.parse(v, mode="eval").body, (ast.Compare, ast.BinOp)) and "*" not in v else v
        for k, v in found.items()
    }
    if version not in ("beta1", "0.2"):
        found |= {
            "nc_matmul": {"accumulate": "None"},
            "tensor_reduce": {"axis": "2"},
            "tensor_scalar_reduce": {"reduce_res_negate": "False"},
            "dma_compute": {"oob_mode": "nisa.oob_mode.error"},
        }.get(name, {})
    return {k: v for k, v in found.items() if k in keywords(version)[name]}


def changed(version: str, name: str, keyword: str, value: str) -> str:
    if version == "beta1":
        own = calls.CHANGES_BETA1.get((name, keyword)) or calls.CHANGES_BETA1_ALL.get(keyword)
        return own if own and own != value else calls.OTHER_BETA1[value]
    return calls.CHANGES.get((name, keyword)) or calls.OTHER[value]


def ran(version: str, name: str, given: dict[str, str]) -> Run:
    """The record of a kernel that declares the tiles and makes the call."""
    return _ran(version, name, tuple(given.items()))


@cache
def _ran(version: str, name: str, given: tuple[tuple[str, str], ...]) -> Run:
    old = version == "beta1"
    modules = BETA1_MODULES if old else BETA2_MODULES
    root = "neuronxcc.nki" if old else "nki"
    nl, nisa = modules[f"{root}.language"], modules[f"{root}.isa"]
    random = np.random.default_rng(0)

    def kernel(**inputs):
        here = {"nl": nl, "nisa": nisa, "np": np}
        if old:
            here |= {"rows": nl.arange(32)[:, None], "columns": nl.arange(32)[None, :]}
        for tile, (shape, dtype, space) in calls.TILES.items():
            if old:
                made = nl.ndarray((nl.par_dim(shape[0]), *shape[1:]), dtype=DTYPES[dtype], buffer=getattr(nl, space))
                made[...] = nl.load(inputs[tile]) if space == "sbuf" else nisa.nc_matmul(here["t"], here["t"])
            else:
                made = nl.ndarray(shape, getattr(nl, dtype), getattr(nl, space))
                if space == "sbuf":
                    nisa.dma_copy(dst=made, src=inputs[tile])
                else:
                    nisa.nc_matmul(dst=made, stationary=here["t"], moving=here["t"])
            here[tile] = made
        result = eval(f"nisa.{name}({', '.join(f'{k}={v}' for k, v in given)})", here)
        if old and result is not None:
            nisa.tensor_copy(result)
        end = nl.ndarray((32, 32), dtype=nl.float32, buffer=nl.shared_hbm)
        if old:
            nl.store(end, value=here["t"])
        else:
            source = here["t"]
            if version == "0.2":
                nisa.dma_copy(dst=here["m"], src=nl.shared_identity_matrix(32))
                source = nl.ndarray((32, 32), nl.float32, nl.sbuf, address=(0, 4096))
                nisa.tensor_copy(dst=source, src=here["t"])
            scratch = nl.ndarray((32, 32), nl.float32, nl.private_hbm)
            nisa.dma_copy(dst=scratch, src=source)
            nisa.dma_copy(dst=end, src=scratch)
        return end

    inputs = {
        tile: (random.integers(0, 2, shape) if "int" in dtype else random.standard_normal(shape)).astype(DTYPES[dtype])
        for tile, (shape, dtype, _) in calls.TILES.items()
    }
    target = TARGETS["gen4" if name in GEN4 else "gen3"]

    if old:
        machines = beta1_launch.launch(kernel, inputs, target=target, record=True).machines
    else:
        machines = beta2_launch.execute(kernel, inputs, target=target, record=True, version=version).machines
    programs = tuple(program for machine in machines for program in traces_of(machine))
    return Run((), programs, version="" if old else version)


@pytest.mark.parametrize(("version", "name", "keyword"), PAIRS, ids=lambda part: part)
def test_a_change_of_a_keyword_is_seen_or_exempt(version, name, keyword):
    given = call_of(version, name)
    base = ran(version, name, given)
    assert compare_operands(base, base).verdict is Verdict.EQUAL
    other = {**given, keyword: changed(version, name, keyword, given[keyword])}
    assert other != given
    try:
        seen = compare_operands(base, ran(version, name, other)).verdict is Verdict.DIFFERENT
    except (KernelError, NotModelled):
        seen = True  # the kernel is in error, or undecided
    assert seen != is_exempt(version, name, keyword), "seen by the comparison, or exempt, and not both"


OTHER_VALUES = {str: "other", int: 999, bool: True, tuple: (1,)}
RECORDS = [(cls, field.name) for cls in (Event, Operand, TileRow, HbmTensor) for field in fields(cls)]


def damaged(run: Run, cls: type, attribute: str) -> Iterator[Run]:
    """The run with another value of a field in one event, operand, tile or tensor, for each of a kind."""
    (program,) = run.programs

    def other(record: Any) -> Any:
        value = getattr(record, attribute)
        new = not value if isinstance(value, bool) else OTHER_VALUES[type(value)] if value is not None else 7
        return replace(record, **{attribute: new})

    for group in ("tiles", "tensors", "events"):
        records = getattr(program, group)
        for n, record in enumerate(records):
            if isinstance(record, cls):
                changed = [other(record)]
            elif cls is Operand and isinstance(record, Event):
                at = record.operands
                changed = [replace(record, operands=(*at[:k], other(o), *at[k + 1 :])) for k, o in enumerate(at)]
            else:
                continue
            for one in changed:
                yield replace(run, programs=(replace(program, **{group: (*records[:n], one, *records[n + 1 :])}),))


def is_seen(before: Run, after: Run) -> bool:
    try:
        return Verdict.DIFFERENT in (compare_operands(before, after).verdict, compare_layout(before, after).verdict)
    except (AttributeError, KeyError, TypeError):
        return True  # no run gives such a record


@pytest.mark.parametrize(("cls", "attribute"), RECORDS, ids=lambda part: getattr(part, "__name__", part))
def test_a_change_of_a_record_is_seen_or_exempt(cls, attribute):
    run = ran("0.2", "tensor_copy", call_of("0.2", "tensor_copy"))
    (program,) = run.programs
    run = replace(run, programs=(replace(program, tiles=tuple(replace(row, block=(0,)) for row in program.tiles)),))
    seen = any(is_seen(run, other) for other in damaged(run, cls, attribute))
    exempt = any((e.subject, e.attribute) == (cls.__name__, attribute) for e in EXEMPTIONS)
    assert seen != exempt, "seen by the comparison, or exempt, and not both"


# --- the comparison goes by the table --------------------------------------------------------------------------------


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Exemption], None]]:
    """Takes a row out of the table that the comparison reads."""

    def take_out(row: Exemption) -> None:
        monkeypatch.setattr(comparison, "EXEMPTIONS", tuple(e for e in EXEMPTIONS if e != row))
        forget()

    def forget() -> None:
        comparison.exempt.cache_clear()
        comparison.FIELDS.clear()

    yield take_out
    monkeypatch.undo()
    forget()


UNRECORDED = NO_INSTRUCTION | {"set_rng_seed"}
"""Registers and seeds are in no record: addresses, trip counts and random numbers show what they hold."""
KEYWORD_ROWS = [
    (row, version, name, keyword)
    for row in EXEMPTIONS
    for version, name, keyword in PAIRS
    if row.subject in (ANY, name) and row.attribute == keyword and holds(row, version) and name not in UNRECORDED
]
RECORD_ROWS = [(row, cls) for row in EXEMPTIONS for cls in (Event, Operand, TileRow, HbmTensor)]


@pytest.mark.parametrize(("row", "version", "name", "keyword"), KEYWORD_ROWS, ids=lambda part: str(part)[:20])
def test_a_row_of_an_instruction_that_is_taken_out_makes_a_difference(row, version, name, keyword, without):
    given = call_of(version, name)
    base, other = ran(version, name, given), ran(
        version, name, {**given, keyword: changed(version, name, keyword, given[keyword])}
    )
    assert compare_operands(base, other).verdict is Verdict.EQUAL
    without(row)
    assert f"another '{keyword}'" in compare_operands(base, other).differences[0].message


@pytest.mark.parametrize(
    ("row", "cls"), [(row, cls) for row, cls in RECORD_ROWS if row.subject == cls.__name__], ids=lambda part: str(part)
)
def test_a_row_of_a_record_that_is_taken_out_makes_a_difference(row, cls, without):
    run = ran("0.2", "tensor_copy", call_of("0.2", "tensor_copy"))
    assert not any(is_seen(run, other) for other in damaged(run, cls, row.attribute))
    without(row)
    assert any(is_seen(run, other) for other in damaged(run, cls, row.attribute))


def test_each_row_is_taken_out_in_a_test():
    tried = {row for row, *_ in KEYWORD_ROWS} | {row for row, cls in RECORD_ROWS if row.subject == cls.__name__}
    assert {row.subject for row in EXEMPTIONS if row not in tried} <= UNRECORDED


@pytest.mark.parametrize("cls", [Event, Operand, TileRow, HbmTensor])
def test_a_new_attribute_of_a_record_is_compared(cls):
    wider = make_dataclass(f"Wider{cls.__name__}", [("added", int, 0)], bases=(cls,), frozen=True)

    def widened(record: Any) -> Any:
        return wider(**{f.name: getattr(record, f.name) for f in fields(record)})

    run = ran("0.2", "tensor_copy", call_of("0.2", "tensor_copy"))
    (program,) = run.programs
    if cls is Operand:
        events = tuple(replace(e, operands=tuple(map(widened, e.operands))) for e in program.events)
        run = replace(run, programs=(replace(program, events=events),))
    else:
        group = {Event: "events", TileRow: "tiles", HbmTensor: "tensors"}[cls]
        run = replace(run, programs=(replace(program, **{group: tuple(map(widened, getattr(program, group)))}),))
    assert not is_seen(run, run)
    assert any(is_seen(run, other) for other in damaged(run, cls, "added"))


def test_a_new_attribute_of_an_instruction_is_compared():
    run = ran("0.2", "tensor_copy", call_of("0.2", "tensor_copy"))
    (program,) = run.programs
    told = tuple(replace(e, attributes=(*e.attributes, ("added", 1))) for e in program.events)
    (difference,) = compare_operands(run, replace(run, programs=(replace(program, events=told),))).differences
    assert "has another 'added'" in difference.message


def test_every_exemption_is_of_something():
    known = {
        (version, name, keyword) for version in VERSIONS for name, ks in keywords(version).items() for keyword in ks
    }
    records = {(cls.__name__, field.name) for cls in (Event, Operand, TileRow, HbmTensor) for field in fields(cls)}
    for e in EXEMPTIONS:
        versions = [name for name in VERSIONS if holds(e, name)]
        uses = [(v, n, k) for v, n, k in known if v in versions and e.subject in (ANY, n) and e.attribute == k]
        assert uses or (e.subject, e.attribute) in records, e
        assert e.reason
