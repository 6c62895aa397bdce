"""Beta 1 kernels that nobody wrote: those of the goldens, changed by machine in ways that mostly keep them legal.

    python tests/beta1_mutants.py [--seconds 600] [--seed N] [--unsafe] [--keep FOLDER]

Each mutant is rewritten, and both versions run the cases of its golden. What a mutant must never be is *wrong*:
rewritten without a finding, run to its end, and other numbers. ``crash`` is an internal error. The rest is said:
*illegal* (no case of the old kernel runs), *finding*, *refused* (a guard), *stopped* (the new kernel ends with an
error, an assertion of its own for example), *equal*. With ``--keep`` the sources of what is wrong, a crash, refused
or stopped are kept.
"""

from __future__ import annotations

import argparse
import ast
import copy
import functools
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from first_rung import Options, rewrite
from nki_migrate.golden import NKI_GOLDENS as GOLDENS
from nki_migrate.guard import complete, objection
from nki_migrate.judging import judged
from nki_migrate.runtime.cases import Case, read_cases
from nki_migrate.runtime.compare import LEVELS, Failure, Inexact, Run
from nki_migrate.runtime.messages import Reply, Request
from nki_migrate.runtime.pool import Pool, pool
from nki_migrate.runtime.spec.hardware import DEFAULT_TARGET
from nki_migrate.runtime.versions import Version

RANDOM = {"random_numbers"}
"""Goldens whose numbers differ by design."""
NAMES = sorted(
    name
    for name, golden in GOLDENS.items()
    if not golden.is_beta2_only and golden.first_after_path.exists() and name not in RANDOM
)
DTYPES = ("float32", "bfloat16", "float16", "int32", "uint8")
LOOPS = ("range", "nl.affine_range", "nl.sequential_range", "nl.static_range")


@dataclass(frozen=True)
class Mutant:
    golden: str
    kinds: tuple[str, ...]
    source: str


@dataclass(frozen=True)
class Trial:
    """What became of a mutant; ``text`` says more of what is not as it should be."""

    mutant: Mutant
    result: str
    text: str = ""


@dataclass
class Place:
    """A module, one of its functions that computes with tiles, and what chooses among places."""

    tree: ast.Module
    function: ast.FunctionDef
    choose: random.Random

    @property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.function))

    def blocks(self) -> Iterator[list[ast.stmt]]:
        for node in self.nodes:
            for name in ("body", "orelse"):
                found = getattr(node, name, None)
                if isinstance(found, list) and found and isinstance(found[0], ast.stmt):
                    yield found

    def statement(self, wanted: Callable[[ast.stmt], bool]) -> tuple[list[ast.stmt], int] | None:
        """A statement, as a block and its place there."""
        found = [(block, n) for block in self.blocks() for n, each in enumerate(block) if wanted(each)]
        return self.choose.choice(found) if found else None

    def loop(self) -> ast.For | None:
        """A loop over one number."""
        found = [node for node in self.nodes if isinstance(node, ast.For) and is_counted(node)]
        return self.choose.choice(found) if found else None

    def locals(self) -> set[str]:
        names = {a.arg for a in (*self.function.args.args, *self.function.args.kwonlyargs)}
        return names | {n.id for n in self.nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}

    def test(self) -> str | None:
        """A condition that holds, and that only a trace tells."""
        shaped = {ast.unparse(n.value) for n in self.nodes if isinstance(n, ast.Attribute) and n.attr == "shape"}
        given = [a.arg for a in self.function.args.args if a.arg in shaped]
        return f"{given[0]}.shape[0] > 0" if given else None

    def insert_function(self, text: str) -> None:
        at = next(n for n, s in enumerate(self.tree.body) if isinstance(s, ast.FunctionDef | ast.ClassDef))
        self.tree.body[at:at] = ast.parse(text).body


class Instead(ast.NodeTransformer):
    """Reads of a name become another expression."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.new = name, expression(text)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.new) if node.id == self.name and isinstance(node.ctx, ast.Load) else node


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def is_simple(statement: ast.stmt) -> bool:
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr) and not text


def binds_name(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)


def is_counted(loop: ast.For) -> bool:
    call = loop.iter if isinstance(loop.target, ast.Name) else None
    return isinstance(call, ast.Call) and len(call.args) == 1 and ast.unparse(call.func) in LOOPS


def reads(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def of_language(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).startswith(("nl.", "nisa."))


# --- changes: each makes one, and says whether there was a place for it -----------------------------------------------

Change = Callable[[Place], bool]
CHANGES: dict[str, Change] = {}


def change(function: Change) -> Change:
    CHANGES[function.__name__] = function
    return function


@change
def other_order(place: Place) -> bool:
    """A loop over indices that a function of the module gives, the last one first."""
    loop = place.loop()
    if loop is None:
        return False
    loop.iter.func = ast.Name("order_of", ast.Load())  # type: ignore[attr-defined]
    place.insert_function("def order_of(count):\n    return [count - 1 - place for place in range(count)]")
    return True


@change
def counted_down(place: Place) -> bool:
    loop = place.loop()
    if loop is None:
        return False
    name = ast.unparse(loop.target)
    down = Instead(name, f"{ast.unparse(loop.iter.args[0])} - 1 - {name}")  # type: ignore[attr-defined]
    loop.body = [down.visit(statement) for statement in loop.body]
    return True


@change
def other_loop(place: Place) -> bool:
    loop = place.loop()
    if loop is None:
        return False
    loop.iter.func = expression(place.choose.choice(LOOPS))  # type: ignore[attr-defined]
    return True


@change
def under_if(place: Place) -> bool:
    found, test = place.statement(is_simple), place.test()
    if found is None or test is None:
        return False
    block, n = found
    other = [copy.deepcopy(block[n])] if place.choose.random() < 0.3 else []
    block[n] = ast.If(expression(test), [block[n]], other)
    return True


@change
def in_loop(place: Place) -> bool:
    found = place.statement(is_simple)
    if found is None:
        return False
    block, n = found
    end = min(len(block), n + place.choose.choice((1, 2, 3)))
    call = expression(f"{place.choose.choice(LOOPS)}({place.choose.choice((1, 2))})")
    block[n:end] = [ast.For(ast.Name("turn", ast.Store()), call, block[n:end], [], None)]
    return True


@change
def second_name(place: Place) -> bool:
    found = place.statement(binds_name)
    if found is None:
        return False
    block, n = found
    name = ast.unparse(block[n].targets[0])  # type: ignore[attr-defined]
    also = Instead(name, f"{name}_also")
    block[n + 1 :] = [*ast.parse(f"{name}_also = {name}").body, *(also.visit(s) for s in block[n + 1 :])]
    return True


@change
def held_in_something(place: Place) -> bool:
    found = place.statement(binds_name)
    if found is None:
        return False
    block, n = found
    name, value = ast.unparse(block[n].targets[0]), ast.unparse(block[n].value)  # type: ignore[attr-defined]
    ways = (
        f"pack = [{value}]\n{name} = pack[0]",
        f'pack = {{"it": {value}}}\n{name} = pack["it"]',
        f"pack = ({value}, 1)\n{name}, rest = pack",
        f"{name}, rest = {value}, 2",
        f"pack = []\npack.append({value})\n{name} = pack[-1]",
    )
    block[n : n + 1] = ast.parse(place.choose.choice(ways)).body
    return True


@change
def named_argument(place: Place) -> bool:
    """An argument or an index gets a name in a statement of its own."""
    found = []
    for block in place.blocks():
        for n, statement in enumerate(block):
            for node in ast.walk(statement) if is_simple(statement) else ():
                lists = [node.args] if isinstance(node, ast.Call) else []
                lists += [node.elts] if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) else []
                found += [
                    (block, n, values, m)
                    for values in lists
                    for m, value in enumerate(values)
                    if isinstance(value, ast.Call | ast.Subscript | ast.BinOp)
                ]
    if not found:
        return False
    block, n, values, m = place.choose.choice(found)
    block.insert(n, ast.Assign([ast.Name("held", ast.Store())], values[m], lineno=0))
    values[m] = ast.Name("held", ast.Load())
    return True


@change
def by_a_function(place: Place) -> bool:
    """What a statement assigns is what a new function of the module returns."""
    if place.function not in place.tree.body:
        return False
    found = place.statement(lambda s: isinstance(s, ast.Assign) and not isinstance(s.value, ast.Constant | ast.Name))
    if found is None:
        return False
    statement = found[0][found[1]]
    assert isinstance(statement, ast.Assign)
    given = ", ".join(sorted(reads(statement.value) & place.locals()))
    place.insert_function(f"def given_back({given}):\n    return {ast.unparse(statement.value)}")
    statement.value = expression(f"given_back({given})")
    return True


@change
def other_number(place: Place) -> bool:
    found = [n for n in place.nodes if isinstance(n, ast.Constant) and type(n.value) in (int, float)]
    if not found:
        return False
    number = place.choose.choice(found)
    assert isinstance(number.value, int | float)
    number.value = place.choose.choice((number.value + 1, number.value - 1, number.value * 2, -number.value))
    return True


@change
def other_dtype(place: Place) -> bool:
    found = [n for n in place.nodes if isinstance(n, ast.Attribute) and n.attr in DTYPES]
    if not found:
        return False
    place.choose.choice(found).attr = place.choose.choice(DTYPES)
    return True


@change
def result_dtype(place: Place) -> bool:
    calls = [n for n in place.nodes if isinstance(n, ast.Call) and of_language(n)]
    calls = [call for call in calls if all(keyword.arg != "dtype" for keyword in call.keywords)]
    if not calls:
        return False
    call = place.choose.choice(calls)
    call.keywords.append(ast.keyword("dtype", expression(f"nl.{place.choose.choice(DTYPES)}")))
    return True


@change
def under_a_mask(place: Place) -> bool:
    made = [n for n in place.nodes if isinstance(n, ast.Assign) and "arange" in ast.unparse(n.value)]
    vectors = {n.targets[0].id for n in made if isinstance(n.targets[0], ast.Name)}
    calls = [n for n in place.nodes if isinstance(n, ast.Call) and of_language(n) and reads(n) & vectors]
    calls = [call for call in calls if all(keyword.arg != "mask" for keyword in call.keywords)]
    if not calls:
        return False
    call = place.choose.choice(calls)
    vector = place.choose.choice(sorted(reads(call) & vectors))
    test = f"{vector} {place.choose.choice(('<', '<=', '>', '>='))} {place.choose.choice((1, 3, 7, 30))}"
    call.keywords.append(ast.keyword("mask", expression(test)))
    return True


@change
def twice(place: Place) -> bool:
    found = place.statement(is_simple)
    if found is None:
        return False
    block, n = found
    block.insert(place.choose.choice((n, min(len(block), n + 2))), copy.deepcopy(block[n]))
    return True


@change
def exchanged(place: Place) -> bool:
    found = place.statement(is_simple)
    if found is None or found[1] + 1 >= len(found[0]):
        return False
    block, n = found
    block[n], block[n + 1] = block[n + 1], block[n]
    return True


@change
def added_to(place: Place) -> bool:
    found = place.statement(lambda s: isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Subscript))
    if found is None:
        return False
    block, n = found
    statement = block[n]
    assert isinstance(statement, ast.Assign)
    operator = place.choose.choice((ast.Add, ast.Sub, ast.Mult))()
    block[n] = ast.AugAssign(statement.targets[0], operator, statement.value)  # type: ignore[arg-type]
    return True


@change
def one_name_for_two(place: Place) -> bool:
    names = sorted({ast.unparse(s.targets[0]) for b in place.blocks() for s in b if binds_name(s)})  # type: ignore[attr-defined]
    if len(names) < 2:
        return False
    old, new = place.choose.sample(names, 2)
    for node in place.nodes:
        if isinstance(node, ast.Name) and node.id == old:
            node.id = new
    return True


@change
def other_slice(place: Place) -> bool:
    slices = [n for n in place.nodes if isinstance(n, ast.Slice) and n.upper is not None]
    if not slices:
        return False
    found = place.choose.choice(slices)
    assert found.upper is not None
    if place.choose.random() < 0.5:
        found.upper = ast.BinOp(found.upper, ast.Sub(), ast.Constant(1))
    else:
        found.lower = ast.BinOp(found.lower or ast.Constant(0), ast.Add(), ast.Constant(1))
    return True


# --- mutants ----------------------------------------------------------------------------------------------------------


def mutant(choose: random.Random) -> Mutant:
    """One golden with one to three changes."""
    golden = GOLDENS[choose.choice(NAMES)]
    source, kinds = golden.before, []
    for _ in range(choose.choice((1, 1, 2, 3))):
        kind = choose.choice(sorted(CHANGES))
        tree = ast.parse(source)
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and "nl." in ast.unparse(n)]
        if functions and CHANGES[kind](Place(tree, choose.choice(functions), choose)):
            source = ast.unparse(ast.fix_missing_locations(tree))
            kinds.append(kind)
    return Mutant(golden.name, tuple(kinds), source)


def tried(found: Mutant, workers: Pool, unsafe: bool = False) -> Trial:
    """Rewrite a mutant, and run both versions on the cases of its golden."""
    golden = GOLDENS[found.golden]
    befores = [(case, _run(workers, golden.before_path, found.source, case)) for case in _cases(found.golden)]
    running = [(case, before) for case, before in befores if isinstance(before, Run)]
    if not running:
        return Trial(found, "illegal")
    options = Options(**{**golden.options, **({"unsafe": True} if unsafe else {})})
    path = str(golden.before_path)
    try:
        outcome = complete(found.source, rewrite(found.source, options, path), options)
        refused = objection(found.source, outcome, options, path, rewrite)
    except Exception:
        return Trial(found, "crash", traceback.format_exc())
    if refused is not None:
        return Trial(found, "refused", refused)
    if outcome.findings:
        return Trial(found, "finding")
    ulps = max(outcome.inexact.values(), default=0)
    declared = Inexact(ulps, "the rewrite") if ulps else None
    for case, before in running:
        after = _run(workers, golden.first_after_path, outcome.source, case)
        if isinstance(after, Failure):
            return Trial(found, "stopped", f"{case.name}: line {after.line}: {after.message}\n\n{outcome.source}")
        levels = judged(case, LEVELS, before, after, None, inexact=declared).levels
        numbers = next(level for level in levels if level.level == "numbers")
        if numbers.verdict.value == "different" and not before.hazards:
            return Trial(found, "wrong", f"{case.name}: {numbers.summary}\n\n{outcome.source}")
    return Trial(found, "equal")


@functools.cache
def _cases(golden: str) -> tuple[Case, ...]:
    return tuple(read_cases(GOLDENS[golden].cases_path).cases)


def _run(workers: Pool, path: Path, source: str, case: Case) -> Reply:
    file = str(path.resolve())
    version = Version(((file, source.encode()),))
    request = Request("run", file, case, case.hardware or DEFAULT_TARGET, 60.0, version=version, hazards=True)
    return workers.submit(request).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--unsafe", action="store_true")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    choose, ended, results = random.Random(options.seed), time.monotonic() + options.seconds, Counter[str]()
    with pool(1) as workers:
        while time.monotonic() < ended:
            trial = tried(mutant(choose), workers, options.unsafe)
            results[trial.result] += 1
            if trial.text and options.keep is not None:
                options.keep.mkdir(parents=True, exist_ok=True)
                file = options.keep / f"{trial.result}_{options.seed}_{results.total()}_{trial.mutant.golden}.py"
                head = f"{' '.join(trial.mutant.kinds)}\n{trial.text}".replace('"""', "'''")
                file.write_text(f'"""{head}"""\n{trial.mutant.source}\n')
    for result, number in results.most_common():
        print(f"{number:6} {result}")


if __name__ == "__main__":
    main()
