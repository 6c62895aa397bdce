"""Kernels like those of the goldens, and not quite: one or more small changes of how they are written.

Most of them mean what the kernel meant; some mean something else, and some nothing. Whoever asks runs them: what counts
is that the rewritten file does what the changed one does.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable

LOOPS = ("range", "nl.static_range", "nl.affine_range", "nl.sequential_range")


def blocks(function: ast.FunctionDef) -> list[list[ast.stmt]]:
    """The lists of statements in it, its own among them."""
    found = []
    for node in ast.walk(function):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                found.append(block)
    return found


def names(function: ast.FunctionDef) -> list[str]:
    """What it binds by assignments and loops."""
    stores = [n for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return sorted({node.id for node in stores})


def loads(node: ast.AST) -> list[str]:
    read = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    return sorted({each.id for each in read})


def is_plain(statement: ast.stmt) -> bool:
    """Does it bind, write or call, and not leave, declare or document?"""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Call)
    return isinstance(statement, ast.Assign | ast.AugAssign | ast.For | ast.If)


class Renamed(ast.NodeTransformer):
    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.new, node.ctx) if node.id == self.old else node


class Mutator:
    """Changes the kernels of one module in place, each change by what the random numbers say."""

    def __init__(self, module: ast.Module, chosen: random.Random) -> None:
        self.module, self.chosen, self.count = module, chosen, 0
        self.functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
        self.said: list[str] = []

    def mutate(self, times: int) -> None:
        kinds: list[Callable[[ast.FunctionDef], str | None]] = [
            self.merge,
            self.alias,
            self.once,
            self.other_loop,
            self.rebind,
            self.branch,
            self.outline,
            self.in_place,
            self.repeat,
            self.swap,
            self.nested,
            self.early,
        ]
        for _ in range(20 * times):
            if len(self.said) == times or not self.functions:
                return
            said = self.chosen.choice(kinds)(self.chosen.choice(self.functions))
            if said:
                self.said.append(said)

    def place(self, function: ast.FunctionDef) -> tuple[list[ast.stmt], int] | None:
        block = self.chosen.choice(blocks(function))
        plain = [n for n, statement in enumerate(block) if is_plain(statement)]
        return (block, self.chosen.choice(plain)) if plain else None

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}_{self.count}"

    def merge(self, function: ast.FunctionDef) -> str | None:
        """Two names become one."""
        bound = names(function)
        if len(bound) < 2:
            return None
        old, new = self.chosen.sample(bound, 2)
        Renamed(old, new).visit(function)
        return f"merge {old}->{new}"

    def alias(self, function: ast.FunctionDef) -> str | None:
        """``b = a`` behind a binding of ``a``, and some of what reads ``a`` behind it reads ``b``."""
        where = self.place(function)
        if where is None:
            return None
        block, at = where
        match block[at]:
            case ast.Assign([ast.Name(name)]):
                other = self.fresh(name)
                for later in block[at + 1 :]:
                    if self.chosen.random() < 0.6:
                        for node in ast.walk(later):
                            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                                node.id = other
                block.insert(at + 1, ast.parse(f"{other} = {name}").body[0])
                return f"alias {name}"
        return None

    def once(self, function: ast.FunctionDef) -> str | None:
        """Some statements stand in a loop or a branch that is taken once."""
        where = self.place(function)
        if where is None:
            return None
        block, at = where
        end = self.chosen.randint(at + 1, min(len(block), at + 4))
        inside = block[at:end]
        if any(isinstance(each, ast.Return) for each in inside):
            return None
        head = self.chosen.choice(
            [*(f"for {self.fresh('once')} in {kind}(1): pass" for kind in LOOPS), "if True: pass", "if 1 < 2: pass"]
        )
        around = ast.parse(head).body[0]
        around.body = inside  # type: ignore[attr-defined]
        block[at:end] = [around]
        return f"once {head} {ast.unparse(inside[0])[:50]}"

    def other_loop(self, function: ast.FunctionDef) -> str | None:
        loops = [n for n in ast.walk(function) if isinstance(n, ast.For) and isinstance(n.iter, ast.Call)]
        if not loops:
            return None
        loop = self.chosen.choice(loops)
        kind = self.chosen.choice(LOOPS)
        loop.iter.func = ast.parse(kind, mode="eval").body  # type: ignore[attr-defined]
        return f"{kind} for {ast.unparse(loop.target)}"

    def rebind(self, function: ast.FunctionDef) -> str | None:
        """A name is bound to itself, or to its number by another way."""
        where = self.place(function)
        if where is None:
            return None
        block, at = where
        bound = [name for name in names(function) if name in loads(block[at])]
        if not bound:
            return None
        name = self.chosen.choice(bound)
        text = self.chosen.choice([f"{name} = {name}", f"{name} = {name} + 0", f"{name} = {name} * 1", f"{name} += 0"])
        block.insert(at, ast.parse(text).body[0])
        return f"rebind {text}"

    def branch(self, function: ast.FunctionDef) -> str | None:
        branches = [n for n in ast.walk(function) if isinstance(n, ast.If) and n.orelse]
        if not branches:
            return None
        chosen = self.chosen.choice(branches)
        chosen.test = ast.UnaryOp(ast.Not(), chosen.test)
        chosen.body, chosen.orelse = chosen.orelse, chosen.body
        return f"branch {ast.unparse(chosen.test)}"

    def outline(self, function: ast.FunctionDef) -> str | None:
        """The right side of an assignment, or a call, is a function of what it reads."""
        where = self.place(function)
        if where is None:
            return None
        block, at = where
        statement = block[at]
        if not isinstance(statement, ast.Assign | ast.Expr) or not isinstance(statement.value, ast.Call):
            return None
        local = {*names(function), *(arg.arg for arg in [*function.args.args, *function.args.kwonlyargs])}
        read = [name for name in loads(statement.value) if name in local]
        helper = self.fresh("part")
        text = ast.unparse(statement.value)
        made = ast.parse(f"def {helper}({', '.join(read)}):\n    return {text}\n").body[0]
        self.module.body.insert(self.module.body.index(function), made)
        statement.value = ast.parse(f"{helper}({', '.join(read)})", mode="eval").body
        return f"outline {text[:60]}"

    def in_place(self, function: ast.FunctionDef) -> str | None:
        """``a = f(..)`` writes into ``a``, which is bound before."""
        where = self.place(function)
        if where is None:
            return None
        block, at = where
        match block[at]:
            case ast.Assign([ast.Name(name)]) as statement:
                statement.targets = [ast.parse(f"{name}[...] = 0").body[0].targets[0]]  # type: ignore[attr-defined]
                return f"in place {ast.unparse(statement)[:50]}"
        return None

    def repeat(self, function: ast.FunctionDef) -> str | None:
        where = self.place(function)
        if where is None:
            return None
        block, at = where
        block.insert(at, copy.deepcopy(block[at]))
        return f"repeat {ast.unparse(block[at])[:50]}"

    def swap(self, function: ast.FunctionDef) -> str | None:
        """Two statements change places; not where addresses are given, which may overlap as lifetimes then do."""
        where = None if "alloc(" in ast.unparse(self.module) else self.place(function)
        if where is None or where[1] + 1 == len(where[0]) or not is_plain(where[0][where[1] + 1]):
            return None
        block, at = where
        block[at], block[at + 1] = block[at + 1], block[at]
        return f"swap {ast.unparse(block[at])[:50]}"

    def nested(self, function: ast.FunctionDef) -> str | None:
        """Some statements stand in a function of the kernel that is called at once."""
        where = self.place(function)
        if where is None:
            return None
        block, at = where
        end = self.chosen.randint(at + 1, min(len(block), at + 3))
        inside = block[at:end]
        if any(isinstance(node, ast.Return | ast.Break | ast.Continue) for each in inside for node in ast.walk(each)):
            return None
        bound = sorted(
            {n.id for s in inside for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        )
        helper = self.fresh("inner")
        made = ast.parse(f"def {helper}(): pass").body[0]
        made.body = inside  # type: ignore[attr-defined]
        call = f"{helper}()"
        if bound:
            made.body = [*inside, ast.parse(f"return {', '.join(bound)}").body[0]]  # type: ignore[attr-defined]
            call = f"{', '.join(bound)} = {helper}()"
        block[at:end] = [made, ast.parse(call).body[0]]
        return f"nested {ast.unparse(inside[0])[:50]}"

    def early(self, function: ast.FunctionDef) -> str | None:
        """What is bound is bound before, to something else."""
        where = self.place(function)
        if where is None:
            return None
        block, at = where
        match block[at]:
            case ast.Assign([ast.Name(name)]):
                other = self.chosen.choice([n for n in names(function) if n != name] or ["1"])
                block.insert(at, ast.parse(f"{name} = {self.chosen.choice(['None', '1', other])}").body[0])
                return f"early {name}"
        return None


def mutant(source: str, chosen: random.Random) -> tuple[str, list[str]]:
    """The module after one to three changes, and what they are."""
    module = ast.parse(source)
    mutator = Mutator(module, chosen)
    mutator.mutate(chosen.choice([1, 1, 2, 3]))
    return ast.unparse(ast.fix_missing_locations(module)) + "\n", mutator.said
