"""What only Beta 1 has in a file that imports Beta 2: somebody has changed its imports by hand, and nothing else.

Each name of NKI in a file, each call, and what is done with tiles is of the versions that have it. Where no later
version has all of that and Beta 1 does, the file is of Beta 1, whatever its imports say: no rule of the ladder is for
it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from nki_migrate.runtime.spec import beta1, beta2
from nki_migrate.runtime.spec.launchers import LAUNCHERS
from nki_migrate.runtime.spec.versions import VERSIONS, Version, shown

from ..emit.marks import marked
from ..expr.tables import is_parameter, positional_limit, required_parameters
from ..model import Finding
from ..syntax.codes import NAMESPACE as CODE
from .evidence import named
from .names import ISA, LANGUAGE
from .program import Program
from .rung import Rung
from .tensors import Tensor, Tensors

_EVERY = frozenset(VERSIONS)
_LISTED = 3
"""How many forms of Beta 1 a finding lists."""


@dataclass(frozen=True)
class Form:
    """A name of NKI, a call, or what is done with a tile: has Beta 1 it, and which later ``versions`` do?"""

    node: ast.AST
    text: str
    is_beta1: bool
    versions: frozenset[Version]
    is_call: bool = False

    @property
    def place(self) -> tuple[int, int]:
        return self.node.lineno, self.node.col_offset  # type: ignore[attr-defined]  # of nodes with places

    def __str__(self) -> str:
        return f"{self.text} (line {self.place[0]})"


@dataclass(frozen=True)
class Shown:
    """The first form that shows a file to be of no later version than Beta 1, and why it does."""

    form: Form
    reason: str

    def finding(self, imports: Sequence[ast.stmt | ast.expr]) -> Finding:
        """What is said of the file, whose imports of NKI are ``imports``."""
        line, column = self.form.place
        message = f"this module imports nki, but it is written in Beta 1: {self.reason}; it is left alone"
        return Finding(line, column + 1, CODE, "manual", message, _help(imports))


def of_beta1(program: Program, path: str) -> Shown | None:
    """What shows that a file has all that it has of NKI from Beta 1, whatever it imports; ``None`` where nothing does.

    What an earlier rewrite has left in a file has marks, and is no sign of such a file.
    """
    rung = program.rungs[path]
    found = []
    for form in _names_and_calls(rung):
        if not form.is_beta1:
            return None
        found.append(form)
    if marked(rung.text, rung.tree):
        return None
    found += _uses_of_tiles(program, path) if any(form.is_call for form in found) else ()
    if _EVERY.intersection(*(form.versions for form in found)):
        return None
    return _first(sorted(found, key=lambda form: form.place))


def _first(found: list[Form]) -> Shown:
    alone = [form for form in found if not form.versions]
    if alone:
        texts = {form.text: str(form) for form in reversed(alone)}
        first = [texts[text] for text in dict.fromkeys(form.text for form in alone)]
        more = f" and {len(first) - _LISTED} more" if len(first) > _LISTED else ""
        return Shown(alone[0], f"no version of Beta 2 has {', '.join(first[:_LISTED])}{more}")
    left = _EVERY
    for form in found:
        if not left & form.versions:
            break
        left &= form.versions
    other = next(each for each in found if each.versions != _EVERY)
    return Shown(form, f"{other} is in NKI {shown(other.versions)} alone, {form} in NKI {shown(form.versions)}")


# --- names and calls --------------------------------------------------------------------------------------------------


def _names_and_calls(rung: Rung) -> Iterator[Form]:
    """What some version of NKI has, calls first: most of these show a file of Beta 2.

    Launchers do not count: host code may have them of old, and kernels of Beta 2.
    """
    callees = {call.func for call in rung.all_calls}
    calls = ((call, rung.qualified(call.func)) for call in rung.all_calls if call.func not in rung.left)
    for call, path in calls:
        if path and (name := _beta1_name(path)):
            yield from _known(_call(rung, call, path, name))
    for node, path in named(rung):
        if node not in callees and (name := _beta1_name(path)):
            yield from _known(Form(node, name, beta1.symbol(name) is not None, _having(path)))


def _known(form: Form) -> Iterator[Form]:
    if form.is_beta1 or form.versions:
        yield form


@lru_cache(maxsize=4096)
def _beta1_name(path: str) -> str:
    """The canonical name of Beta 1 for what ``nki`` has at ``path``; nothing for modules and launchers."""
    name = beta1.canonical(f"neuronxcc.{path}")
    return "" if name in LAUNCHERS or name in beta1.MODULES.values() else name


def _call(rung: Rung, call: ast.Call, path: str, name: str) -> Form:
    faults = {item: _fault(rung, call, path, item) for item in VERSIONS}
    text = next((fault for fault in reversed(faults.values()) if fault), "")
    later = frozenset(item for item, fault in faults.items() if fault is None)
    return Form(call.func, f"{name}{text or '()'}", _beta1_takes(call, name), later, is_call=True)


@lru_cache(maxsize=4096)
def _having(path: str) -> frozenset[Version]:
    """The versions in which a name can be used."""
    entries = {item: beta2.symbol(path, item) for item in VERSIONS}
    return frozenset(item for item, entry in entries.items() if entry is not None and not entry.unavailable)


def _fault(rung: Rung, call: ast.Call, path: str, item: Version) -> str | None:
    """What a version has against a call: empty where it has no such function, ``None`` where it takes the call."""
    entry = beta2.symbol(path, item)
    if entry is None or item not in _having(path):
        return ""
    if entry.parameters is None:
        return None if entry.kind == "class" else ""
    if path.startswith(ISA) and entry.parameter("dst") and not isinstance(rung.parents.get(call), ast.Expr):
        return "() as a value"
    if path == f"{LANGUAGE}par_dim" and is_behind_blocks(rung, call):
        return " behind another size"
    return _argument_fault(call, entry)


def _argument_fault(call: ast.Call, entry: beta2.Symbol) -> str | None:
    """What is wrong with the arguments of a call; nothing where a text does not tell them all."""
    if _expands(call):
        return None
    keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    nones = [name for name, value in keywords.items() if isinstance(value, ast.Constant) and value.value is None]
    for fault in beta2.call_faults(entry, len(call.args), list(keywords), nones):
        if fault.kind == "missing":
            return f"() without {fault.name}"
        return f"({fault.name}=)" if fault.name else "()"
    return None


def is_behind_blocks(rung: Rung, size: ast.Call) -> bool:
    """Does a size stand behind another one in a shape? What Beta 1 has in front of ``par_dim`` are blocks."""
    above = rung.parents.get(size)
    return isinstance(above, (ast.Tuple, ast.List)) and above.elts[0] is not size


def _beta1_takes(call: ast.Call, name: str) -> bool:
    """Has Beta 1 something of that name, and can it be called so? The parameters of functions are known."""
    entry = beta1.symbol(name)
    if entry is None or entry.kind not in ("function", "method") or _expands(call):
        return entry is not None
    limit = positional_limit(name)
    given = {keyword.arg for keyword in call.keywords if keyword.arg is not None}
    if (limit is not None and len(call.args) > limit) or not all(is_parameter(name, each) for each in given):
        return False
    order = [parameter.name for parameter in entry.parameters if parameter.kind == "positional"]
    return set(required_parameters(name)) <= given | set(order[: len(call.args)])


def _expands(call: ast.Call) -> bool:
    """Has a call ``*args`` or ``**kwargs``, of which a text does not tell what they give?"""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)


# --- tiles ------------------------------------------------------------------------------------------------------------


def _uses_of_tiles(program: Program, path: str) -> Iterator[Form]:
    """Operators on tiles, and assignments to parts of them: Python on tensors, which Beta 1 alone has."""
    tensors = Tensors(program)

    def is_tile(node: ast.expr) -> bool:
        value = tensors.of(path, node)
        return isinstance(value, Tensor) and (value.is_on_chip or bool(value.calls))

    for node in program.rungs[path].nodes:
        if isinstance(node, ast.BinOp) and (is_tile(node.left) or is_tile(node.right)):
            yield Form(node, "an operator on a tile", True, frozenset())
        elif any(map(is_tile, _changed(node))):
            yield Form(node, "an assignment to a tile", True, frozenset())


def _changed(node: ast.AST) -> list[ast.expr]:
    """The objects that an assignment changes, and with ``+=`` what it adds; not the names that it binds."""
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.value for target in targets if isinstance(target, ast.Subscript)]


# --- what to do -------------------------------------------------------------------------------------------------------


def _help(imports: Sequence[ast.stmt | ast.expr]) -> str:
    """The imports as they were."""
    back = "; ".join(f"line {node.lineno}: {text}" for node in imports for text in _beta1_imports(node))
    return f"put the imports of Beta 1 back ({back}), and run this again: it changes imports and bodies together"


def _beta1_imports(node: ast.stmt | ast.expr) -> Iterator[str]:
    """The imports of ``neuronxcc.nki`` that bind what an import of ``nki`` does."""
    if isinstance(node, ast.ImportFrom):
        yield ast.unparse(ast.ImportFrom(f"neuronxcc.{node.module}", node.names, 0))
    elif isinstance(node, ast.Import):
        for alias in node.names:
            module = alias.name if alias.asname else "nki"
            yield f"import neuronxcc.{module} as {alias.asname or module}"
    else:
        yield f"neuronxcc.nki in place of nki in {ast.unparse(node)}"
