"""The checker is checked on the goldens: correct migrations are damaged by machine, and every damage must be caught.

Each kind of damage has the level that must catch it. A kernel that the emulator refuses is caught, too. The sample is
the same every time: of each kind, so many places, spread over the goldens.
"""

from __future__ import annotations

import ast
import copy
import functools
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from nki_migrate.golden import FIRST
from nki_migrate.golden import NKI_GOLDENS as GOLDENS
from nki_migrate.judging import judged
from nki_migrate.runtime.cases import Case, read_cases
from nki_migrate.runtime.compare import LEVELS, Failure, Run
from nki_migrate.runtime.messages import Reply, Request
from nki_migrate.runtime.spec.hardware import DEFAULT_TARGET
from nki_migrate.variants import variations
from one_process import OneProcess

PER_KIND = 12
VARIATIONS = 24
MIGRATED = sorted(
    name for name, golden in GOLDENS.items() if not golden.is_beta2_only and golden.first_after_path.exists()
)
Edit = Callable[[ast.Module], bool]


@dataclass(frozen=True)
class Mutant:
    golden: str
    kind: str
    level: str
    line: int
    source: str
    before: str
    """The damaged statement as it was."""

    def __str__(self) -> str:
        return f"{self.golden}:{self.line}: {self.kind}: {self.before}"


# --- places ----------------------------------------------------------------------------------------------------------


def calls(tree: ast.Module, prefix: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(prefix):
            yield node


def bodies(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.For, ast.If, ast.While)):
            yield node.body
            yield from [node.orelse] if getattr(node, "orelse", None) else []


def is_instruction(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and ast.unparse(statement.value.func).startswith("nisa.")
    )


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    return next((k for k in call.keywords if k.arg == name), None)


def addresses(tree: ast.Module) -> Iterator[ast.Tuple]:
    for call in calls(tree, "nl.ndarray"):
        found = keyword(call, "address")
        if found is not None and isinstance(found.value, ast.Tuple):
            yield found.value


def plus(node: ast.expr, number: int) -> ast.expr:
    return ast.BinOp(node, ast.Add() if number > 0 else ast.Sub(), ast.Constant(abs(number)))


# --- damage: each generator yields (line, change) ---------------------------------------------------------------------

Change = tuple[int, Callable[[], None]]


def assign(target: object, name: str, value: object) -> Callable[[], None]:
    return lambda: setattr(target, name, value)


def moved_by(number: int) -> Callable[[ast.Module], Iterator[Change]]:
    def damage(tree: ast.Module) -> Iterator[Change]:
        for address in addresses(tree):
            yield address.lineno, lambda a=address: a.elts.__setitem__(1, plus(a.elts[1], number))  # type: ignore[misc]

    return damage


def other_partition(tree: ast.Module) -> Iterator[Change]:
    for address in addresses(tree):
        yield address.lineno, lambda a=address: a.elts.__setitem__(0, plus(a.elts[0], 32))  # type: ignore[misc]


def no_address(tree: ast.Module) -> Iterator[Change]:
    for call in calls(tree, "nl.ndarray"):
        found = keyword(call, "address")
        if found is not None:
            yield call.lineno, lambda c=call, f=found: c.keywords.remove(f)  # type: ignore[misc]


def no_modulo(tree: ast.Module) -> Iterator[Change]:
    for address in addresses(tree):
        for node in ast.walk(address):
            for name, value in ast.iter_fields(node):
                if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mod):
                    yield address.lineno, assign(node, name, value.left)


def not_restored(tree: ast.Module) -> Iterator[Change]:
    for loop in ast.walk(tree):
        if isinstance(loop, ast.For):
            for statement in loop.body[:4]:
                if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
                    yield statement.lineno, lambda b=loop.body, s=statement: b.__setitem__(b.index(s), ast.Pass())  # type: ignore[misc]


def counter_off(tree: ast.Module) -> Iterator[Change]:
    """An address counter advances by one element more."""
    names = {n.id for a in addresses(tree) for n in ast.walk(a) if isinstance(n, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in names:
            yield node.lineno, assign(node, "value", plus(node.value, 4))


def swapped(first: str, second: str) -> Callable[[ast.Module], Iterator[Change]]:
    def damage(tree: ast.Module) -> Iterator[Change]:
        for call in calls(tree, "nisa."):
            a, b = keyword(call, first), keyword(call, second)
            if a and b and ast.unparse(a.value) != ast.unparse(b.value):

                def change(a: ast.keyword = a, b: ast.keyword = b) -> None:
                    a.value, b.value = b.value, a.value

                yield call.lineno, change

    return damage


def dropped(tree: ast.Module) -> Iterator[Change]:
    for body in bodies(tree):
        for statement in body:
            if is_instruction(statement):
                yield statement.lineno, lambda b=body, s=statement: b.__setitem__(b.index(s), ast.Pass())  # type: ignore[misc]


def doubled(tree: ast.Module) -> Iterator[Change]:
    for body in bodies(tree):
        for statement in body:
            if is_instruction(statement):
                yield statement.lineno, lambda b=body, s=statement: b.insert(b.index(s), copy.deepcopy(s))  # type: ignore[misc]


def exchanged(tree: ast.Module) -> Iterator[Change]:
    for body in bodies(tree):
        for a, b in pairwise(body):
            if is_instruction(a) and is_instruction(b) and ast.unparse(a) != ast.unparse(b):
                at = body.index(a)
                yield a.lineno, lambda x=body, n=at: x.__setitem__(slice(n, n + 2), [x[n + 1], x[n]])  # type: ignore[misc]


def keyword_dropped(tree: ast.Module) -> Iterator[Change]:
    required = (
        "dst",
        "src",
        "data",
        "data1",
        "data2",
        "stationary",
        "moving",
        "op",
        "op0",
        "operand0",
        "dtype",
        "shape",
    )
    for call in calls(tree, "nisa."):
        for found in call.keywords:
            if found.arg not in required:
                yield call.lineno, lambda c=call, f=found: c.keywords.remove(f)  # type: ignore[misc]


def other_number(tree: ast.Module) -> Iterator[Change]:
    for call in calls(tree, "nisa."):
        for found in call.keywords:
            value = found.value
            if isinstance(value, ast.Constant) and type(value.value) in (int, float):
                yield call.lineno, assign(value, "value", value.value + 1)


def other_operator(tree: ast.Module) -> Iterator[Change]:
    others = {"add": "subtract", "subtract": "add", "multiply": "add", "maximum": "minimum", "exp": "square"}
    for call in calls(tree, "nisa."):
        for found in call.keywords:
            value = found.value
            if isinstance(value, ast.Attribute) and ast.unparse(value.value) == "nl" and value.attr in others:
                yield call.lineno, assign(value, "attr", others[value.attr])


def other_dtype(tree: ast.Module) -> Iterator[Change]:
    for call in calls(tree, "nl.ndarray"):
        found = keyword(call, "dtype")
        on_chip = "hbm" not in ast.unparse(call)
        if found is not None and on_chip:
            yield call.lineno, assign(found, "value", ast.parse("nl.float8_e4m3", mode="eval").body)


def other_memory(tree: ast.Module) -> Iterator[Change]:
    for call in calls(tree, "nl.ndarray"):
        found = keyword(call, "buffer")
        if found is not None and ast.unparse(found.value) in ("nl.sbuf", "nl.psum"):
            other = "nl.psum" if ast.unparse(found.value) == "nl.sbuf" else "nl.sbuf"
            yield call.lineno, assign(found, "value", ast.parse(other, mode="eval").body)


def one_pass_less(tree: ast.Module) -> Iterator[Change]:
    for loop in ast.walk(tree):
        if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and len(loop.iter.args) == 1:
            statements = [node for node in ast.walk(loop) if isinstance(node, ast.stmt)]
            if any(map(is_instruction, statements)):
                yield loop.lineno, lambda i=loop.iter: i.args.__setitem__(0, plus(i.args[0], -1))  # type: ignore[misc]


def clamp_off(tree: ast.Module) -> Iterator[Change]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "min" and node.args:
            yield node.lineno, lambda n=node: n.args.__setitem__(-1, plus(n.args[-1], -1))  # type: ignore[misc]


def slice_off(tree: ast.Module) -> Iterator[Change]:
    for call in calls(tree, "nisa."):
        for found in call.keywords:
            for node in ast.walk(found.value):
                if isinstance(node, ast.Slice) and node.upper is not None:
                    yield call.lineno, assign(node, "upper", plus(node.upper, -1))


def other_block(tree: ast.Module) -> Iterator[Change]:
    """The first tile of a list in the place of the one that is meant."""
    for call in calls(tree, "nisa."):
        for found in call.keywords:
            if isinstance(found.value, ast.Subscript) and isinstance(found.value.slice, (ast.Name, ast.BinOp)):
                yield call.lineno, assign(found.value, "slice", ast.Constant(0))


def allocation(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Call)
        and ast.unparse(statement.value.func) == "nl.ndarray"
        and "hbm" not in ast.unparse(statement)
    )


def hoisted(tree: ast.Module) -> Iterator[Change]:
    for body in bodies(tree):
        for loop in body:
            for statement in loop.body if isinstance(loop, ast.For) else ():
                if allocation(statement):

                    def change(b: list[ast.stmt] = body, f: ast.For = loop, s: ast.stmt = statement) -> None:  # type: ignore[assignment]
                        f.body[f.body.index(s)] = ast.Pass()
                        b.insert(b.index(f), s)

                    yield statement.lineno, change


def sunk(tree: ast.Module) -> Iterator[Change]:
    for body in bodies(tree):
        for statement in body:
            loops = [s for s in body[body.index(statement) :] if isinstance(s, ast.For)]
            if allocation(statement) and loops:
                name = ast.unparse(statement.targets[0])  # type: ignore[attr-defined]
                using = next((f for f in loops if name in {n.id for n in ast.walk(f) if isinstance(n, ast.Name)}), None)
                if using is not None:

                    def change(b: list[ast.stmt] = body, f: ast.For = using, s: ast.stmt = statement) -> None:
                        b[b.index(s)] = ast.Pass()
                        f.body.insert(0, s)

                    yield statement.lineno, change


KINDS: dict[str, tuple[str, Callable[[ast.Module], Iterator[Change]]]] = {
    "an address one tile further": ("layout", moved_by(2048)),
    "an address one element further": ("layout", moved_by(4)),
    "another partition": ("layout", other_partition),
    "no address": ("layout", no_address),
    "a modulo dropped": ("layout", no_modulo),
    "a counter not restored": ("layout operands", not_restored),
    "a counter that advances too far": ("layout", counter_off),
    "tensor operands swapped": ("operands", swapped("data1", "data2")),
    "matmul operands swapped": ("operands", swapped("stationary", "moving")),
    "source and destination swapped": ("operands", swapped("dst", "src")),
    "data and destination swapped": ("operands", swapped("dst", "data")),
    "an instruction dropped": ("operands", dropped),
    "an instruction twice": ("operands", doubled),
    "two instructions exchanged": ("operands", exchanged),
    "a keyword dropped": ("operands", keyword_dropped),
    "another number": ("operands", other_number),
    "another operator": ("operands", other_operator),
    "another data type": ("operands", other_dtype),
    "another memory": ("operands", other_memory),
    "a pass less": ("operands", one_pass_less),
    "a clamp off by one": ("operands", clamp_off),
    "a slice off by one": ("operands", slice_off),
    "another block": ("operands", other_block),
    "an allocation hoisted": ("operands hazards", hoisted),
    "an allocation sunk": ("operands hazards", sunk),
}


# --- the sample ------------------------------------------------------------------------------------------------------


def mutants_of(golden: str, kind: str) -> Iterator[Mutant]:
    level, damage = KINDS[kind]
    source = GOLDENS[golden].first_after
    lines = source.splitlines()
    for number in range(len(list(damage(ast.parse(source))))):
        tree = ast.parse(source)
        line, change = next(islice(damage(tree), number, None))
        change()
        damaged = ast.unparse(ast.fix_missing_locations(tree))
        if damaged != ast.unparse(ast.parse(source)):
            yield Mutant(golden, kind, level, line, damaged, lines[line - 1].strip())


def sample() -> list[Mutant]:
    """Of each kind one place of each golden in turn, up to :data:`PER_KIND`."""
    chosen = []
    for kind in KINDS:
        chosen += list(islice(in_turn([mutants_of(golden, kind) for golden in MIGRATED]), PER_KIND))
    return chosen


def in_turn(sources: list[Iterator[Mutant]]) -> Iterator[Mutant]:
    """One of each source, then one more of each that has more: no more are made than are asked for."""
    while sources:
        left = []
        for source in sources:
            found = next(source, None)
            if found is not None:
                left.append(source)
                yield found
        sources = left


@functools.cache
def trials_of(golden: str) -> tuple[Case, ...]:
    """The cases of a golden, and the first variations of the first one."""
    cases = read_cases(GOLDENS[golden].cases_path).cases
    return (*cases, *islice(variations(cases[0]), VARIATIONS))


def verdicts(mutants: list[Mutant]) -> list[str]:
    """For each mutant ``refused``, ``undecided``, or the levels that differ and ``hazards``, joined by commas.

    Runs the cases of its golden, and then variations of the first, until one of them tells.
    """
    found = [""] * len(mutants)
    with TemporaryDirectory() as folder, closing(OneProcess()) as process:
        files = [written(mutant, Path(folder) / str(number)) for number, mutant in enumerate(mutants)]

        def ran(path: Path, case: Case) -> Reply:
            case = replace(case, target=FIRST)
            return process.submit(
                Request("run", str(path), case, case.hardware or DEFAULT_TARGET, hazards=True)
            ).result()

        for number in range(max(len(trials_of(mutant.golden)) for mutant in mutants)):
            left = [n for n, m in enumerate(mutants) if not caught(m, found[n]) and number < len(trials_of(m.golden))]
            left = [n for n in left if number == 0 or not is_equivalent(mutants[n])]
            names = {mutants[n].golden for n in left}
            befores = {name: ran(GOLDENS[name].before_path, trials_of(name)[number]) for name in names}
            for n in left:
                case = trials_of(mutants[n].golden)[number]
                found[n] = _told(case, befores[mutants[n].golden], ran(files[n], case))
    return found


def written(mutant: Mutant, folder: Path) -> Path:
    """The file of a mutant, beside copies of what else its golden has."""
    golden = GOLDENS[mutant.golden].first_after_path
    shutil.copytree(golden.parent, folder)
    (folder / golden.name).write_text(mutant.source, encoding="utf-8")
    return folder / golden.name


def _told(case: Case, before: Reply, after: Reply) -> str:
    if not isinstance(before, Run):  # a variation that the old kernel refuses
        return ""
    if isinstance(after, Failure):
        return "undecided" if after.undecided else "refused"
    assert isinstance(after, Run)
    result = judged(case, LEVELS, before, after, None)
    told = [level.level for level in result.levels if level.verdict.value == "different"]
    # A tile that each pass declares anew at its old address has its old bytes: verify notes that nobody wrote them.
    new_hazards = {hazard.kind for hazard in after.hazards} - {hazard.kind for hazard in before.hazards}
    return ",".join([*told, *(["hazards"] if new_hazards else [])])


def caught(mutant: Mutant, verdict: str) -> bool:
    """Did a level that must catch the damage do so, or the emulator refuse the kernel?"""
    return verdict == "refused" or not set(mutant.level.split()).isdisjoint(verdict.split(","))


_SAME_PLACE = "the tile has one address and is overwritten as a whole in every pass: declared once or often is the same"
EQUIVALENT: dict[tuple[str, str, str], str] = {
    ("psum_accumulate", "a counter not restored", "total = total_before_loop"): "the loop never binds it again",
    (
        "declared_in_loop",
        "an allocation hoisted",
        "work = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf, address=(0, 128 + 2 * size))",
    ): _SAME_PLACE,
    (
        "fused_rmsnorm",
        "an allocation hoisted",
        "squares = nl.ndarray((rows, dim), dtype=nl.float32, buffer=nl.sbuf, address=(0, addr))",
    ): _SAME_PLACE,
    (
        "launch_grid",
        "a counter that advances too far",
        "address += width * 4",
    ): "no tile lies behind it, and each program starts anew",
    (
        "loop_under_a_name",
        "a counter that advances too far",
        "address += 4",
    ): "no tile lies behind it, and each pass starts anew",
    (
        "alloc_dict",
        "an allocation sunk",
        "copied = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.sbuf, address=(0, 2 * (m + n) * 4))",
    ): _SAME_PLACE,
    (
        "block_grid_modulo",
        "an allocation sunk",
        "sheet = nl.ndarray((p, 2, 4, f), dtype=nl.float32, buffer=nl.sbuf, address=(0, 0))",
    ): _SAME_PLACE,
    (
        "block_grid_modulo",
        "an allocation sunk",
        "total = nl.ndarray((p, n, f), dtype=nl.float32, buffer=nl.sbuf, address=(0, 2 * 4 * f * 4))",
    ): _SAME_PLACE,
    (
        "nested_function",
        "an allocation sunk",
        "shift = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)",
    ): "the tile has no address and is overwritten as a whole in every pass, before it is read",
}
"""Damage that is none, by golden, kind and line, with the reason."""


def is_equivalent(mutant: Mutant) -> bool:
    return (mutant.golden, mutant.kind, mutant.before) in EQUIVALENT


@pytest.mark.random
def test_every_damage_to_a_golden_is_caught_at_its_level(record_property: Callable[[str, object], None]) -> None:
    mutants = sample()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    missed = []
    for mutant, verdict in zip(mutants, verdicts(mutants), strict=True):
        equivalent = is_equivalent(mutant)
        is_caught = caught(mutant, verdict)
        counts[mutant.kind]["equivalent" if equivalent else "caught" if is_caught else "missed"] += 1
        if is_caught == equivalent:
            missed.append(f"{mutant}: {verdict or 'equal'}{' though declared equivalent' if equivalent else ''}")
    total = sum((counter for counter in counts.values()), Counter())
    record_property("mutants", len(mutants))
    record_property(
        "score", f"{total['caught']} of {total['caught'] + total['missed']}, {total['equivalent']} equivalent"
    )
    assert missed == []
    assert len(mutants) >= 200 and all(counts[kind] for kind in KINDS), counts
