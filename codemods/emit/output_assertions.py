"""What the output asserts and the input did not: each assumption of the rewrite that kernels check when they run.

It is read from the text that comes out. No rule has to tell what it asserts, and none can forget to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from ..expr.emission import New
from ..model import Asserted
from ..project.program import Module
from ..render.support_texts import closure
from ..syntax.mark_text import is_mark
from ..syntax.module_level import definitions_around, module_statements
from ..syntax.node_index import of_kinds, tree_of, walk

_UNTOLD = "the source does not tell"


def output_assertions(module: Module, original: str, text: str) -> tuple[Asserted, ...]:
    """The assertions of the output ``text`` that do not stand in the ``original``, each function's once.

    Lines are those of the text that ``module`` was read from. What became of the source's own ``assert`` and ``raise``
    is none of them.
    """
    written = [*_assertions(tree_of(text)), *_imported(module)]
    if not written and not module.plan.assumed:
        return ()
    places = _Places(module)
    known = {ast.dump(node) for _, node in _assertions(tree_of(original))} | places.own
    found: dict[tuple[str, str], Asserted] = {}
    for definition, node in written:
        if ast.dump(node) in known:
            continue
        for line in places.lines(definition, node):
            one = Asserted(line, places.function(line), ast.unparse(node.test), _reason(node))
            key = (one.function, one.text)
            found[key] = min(one, found.get(key, one))
    for statement, conditions in module.plan.assumed.items():
        stays = any(node in module.plan.staying for node in walk(statement))
        for condition, why in conditions.items() if stays or statement in module.plan.edits.replaced else ():
            one = Asserted(statement.lineno, places.function(statement.lineno), condition, why)
            key = (one.function, one.text)
            found[key] = min(one, found.get(key, one))
    return tuple(sorted(found.values()))


def _assertions(tree: ast.Module) -> Iterator[tuple[str, ast.Assert]]:
    """The assertions of a module but for marks, each with the definition at the top level that it stands in."""
    around = definitions_around(tree)
    for node in of_kinds(tree, ast.Assert):
        if not is_mark(node):
            yield around.get(node, ""), node


def _imported(module: Module) -> Iterator[tuple[str, ast.Assert]]:
    """The assertions of the functions that the output imports, each with the name of its function."""
    if module.names.support_home:
        for name, text in _support(module).items():
            yield from ((name, node) for _, node in _assertions(tree_of(text)))


def _support(module: Module) -> dict[str, str]:
    """The functions that the output has or imports for what Beta 2 cannot ask, by name, and those that they call."""
    if not module.names.support_home:
        return module.names.support
    names = {name: local for name, local in module.names.support_names.items() if local in module.names.support}
    return {names.get(each.name, each.name): each.text(names=names) for each in closure(names)}


def _reason(node: ast.Assert) -> str:
    """Why the output asserts something, as its message says."""
    message = node.msg
    return message.value if isinstance(message, ast.Constant) and isinstance(message.value, str) else _UNTOLD


class _Places:
    """Where in its source a module's edits stand."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.support = _support(module)
        self.own: set[str] = set()
        """What the assertions of the source became, as dumps."""
        self.lines_of: dict[str, set[int]] = {}
        for statement, new in self._edits():
            is_own = isinstance(statement, ast.Assert | ast.Raise) and new.asserts is None
            for node in _written(new):
                if is_own:
                    self.own.add(ast.dump(node))
                else:
                    self.lines_of.setdefault(ast.dump(node), set()).add(statement.lineno)

    def lines(self, definition: str, node: ast.Assert) -> set[int]:
        """The lines for which a ``definition`` of the output asserts something."""
        if definition in self.support:
            callers = self._callers(definition)
        else:
            callers = self.lines_of.get(ast.dump(node), set()) or self._same(node)
        return callers or {self._definition(definition)}

    def function(self, line: int) -> str:
        """The definition at the top level that a line of the source stands in."""
        for statement in module_statements(self.module.source.tree):
            if statement.lineno <= line <= (statement.end_lineno or 0) and hasattr(statement, "name"):
                return str(statement.name)
        return ""

    def _edits(self) -> Iterator[tuple[ast.stmt, New]]:
        edits = self.module.plan.edits
        for planned in (edits.replaced, edits.before, edits.after, edits.prologue):
            for statement, news in planned.items():
                yield from ((statement, new) for new in news)

    def _callers(self, name: str, seen: frozenset[str] = frozenset()) -> set[int]:
        """The first line of each definition of the source that a function of the output's own is called for."""
        texts = {
            node.lineno: text for node, text in self.module.plan.edits.expressions.items() if hasattr(node, "lineno")
        }
        lines = [(statement.lineno, new.text) for statement, new in self._edits()] + list(texts.items())
        is_known = name in self.module.names.support  # what only functions of the package's module call is no name here
        direct = {line for line, text in lines if is_known and f"{name}(" in text}
        first = {min(line for line in direct if self.function(line) == f) for f in {self.function(n) for n in direct}}
        others = [n for n, text in self.support.items() if n not in (name, *seen) and f"{name}(" in text]
        return first.union(*(self._callers(other, seen | {name}) for other in others))

    def _same(self, node: ast.Assert) -> set[int]:
        """Where the text that the module was read from asserts the same: what became of a launch grid does."""
        return self._read.get(ast.dump(node), set())

    @cached_property
    def _read(self) -> dict[str, set[int]]:
        found: dict[str, set[int]] = {}
        for _, node in _assertions(tree_of(self.module.source.text)):
            found.setdefault(ast.dump(node), set()).add(node.lineno)
        return found

    def _definition(self, name: str) -> int:
        named = (s.lineno for s in module_statements(self.module.source.tree) if getattr(s, "name", None) == name)
        return next(named, 1)


def _written(new: New) -> list[ast.Assert]:
    """The assertions in the text of a new statement."""
    if "assert " not in new.text:
        return []
    try:
        return [node for node in walk(ast.parse(new.text)) if isinstance(node, ast.Assert)]
    except SyntaxError:  # a part of a statement
        return []
