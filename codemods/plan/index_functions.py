"""Functions of indices, written out where they are called: lambdas, dictionaries of lambdas, and nested functions.

With ``row = lambda t: t * 128 + nl.arange(128)[:, None]``, ``x[row(t)]`` is ``x[t * 128 + nl.arange(128)[:, None]]``.
Beta 2 has neither lambdas nor index vectors, and a vector is rewritten where it indexes, or bounds a mask. A closure
reads the values that its names have when it is called, and so does the text of its body in that place. What a function
computes of the vectors of its kernel may have steps, ``n = rows - t * 128``: these are written out, too. A function
that is imported from another module of the files may compute one slice of its parameters, ``nl.ds(i * size, size)``.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..model import Options
from ..project.program import Module
from ..syntax.codes import INDEX_VECTORS as CODE
from ..syntax.local_names import bound_here, local_names, own_statements
from ..syntax.module_level import module_statements
from ..syntax.node_index import children, of_kinds, walk
from ..syntax.nodes import first_line, is_name, positional_parameters
from ..syntax.source import Source
from .edited_text import EditedText, arranged, edited_where
from .line_origins import Edit, Line, comments, edited, margin_of

Owner = ast.Module | ast.FunctionDef
_DEPTH = 6
_VECTORS = ("nl.arange", "nl.mgrid")
_BUILTINS = frozenset(("min", "max", "len", "abs", "int", "range"))
_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr)
"""What binds names of its own inside an expression."""
_ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Subscript, ast.Attribute)


@dataclass(frozen=True)
class _Function:
    """A function that only computes an expression of its parameters, and the statement that binds it in ``owner``.

    ``steps`` are names that it gives to parts of that, in their order. One that is imported stands in another module,
    its ``home``; ``spelled`` is what the importing one calls the function of NKI in it.
    """

    owner: Owner
    statement: ast.stmt
    node: ast.Lambda | ast.FunctionDef
    body: ast.expr
    steps: tuple[tuple[str, ast.expr], ...] = ()
    home: Module | None = None
    spelled: str = ""

    @property
    def parts(self) -> list[ast.expr]:
        """All that it computes."""
        return [*(value for _, value in self.steps), self.body]


def written_out(sources: Mapping[str, Source], options: Options) -> dict[str, EditedText]:
    """Modules by path, with the calls of such functions in kernel code as what they compute."""
    slices = {name for source in sources.values() for name in _slice_functions(source)}
    return edited_where(
        sources,
        options,
        lambda source: options.enabled(CODE) and (_may_have(source) or _imports(source, slices)),
        lambda module: _Writing(module).result(),
    )


def _slice_functions(source: Source) -> Iterator[str]:
    """The functions at the level of a module that may compute slices."""
    if "ds(" in source.text or "slice(" in source.text:
        functions = (s for s in source.tree.body if isinstance(s, ast.FunctionDef))
        yield from (f.name for f in functions if _of_expressions(source.tree, f) is not None)


def _imports(source: Source, names: Collection[str]) -> bool:
    return any(alias.name in names for s in of_kinds(source.tree, ast.ImportFrom) for alias in s.names)


def _may_have(source: Source) -> bool:
    """Is there a name for a lambda, or a function in a function that returns a vector?"""
    lambdas = any(
        isinstance(n.value, ast.Lambda | ast.Dict) and any(isinstance(part, ast.Lambda) for part in walk(n.value))
        for n in of_kinds(source.tree, ast.Assign)
    )
    words = any(word in source.text for word in ("arange", "mgrid", "ds(", "slice("))
    functions = of_kinds(source.tree, ast.FunctionDef)
    return lambdas or (words and any(_of_expressions(source.tree, n) is not None for n in functions))


@dataclass
class _Writing:
    """The edits of one module."""

    module: Module
    functions: dict[tuple[Owner, str, object], _Function] = field(default_factory=dict)
    edits: list[Edit] = field(default_factory=list)
    uses: Counter[ast.stmt] = field(default_factory=Counter)

    def result(self) -> EditedText:
        source = self.module.source
        owners: list[Owner] = [source.tree, *of_kinds(source.tree, ast.FunctionDef)]
        self.functions |= {(source.tree, name, None): function for name, function in self._imported()}
        while True:
            defined = {(o, name, key): function for o in owners for name, key, function in self._defined(o)}
            if defined.keys() <= self.functions.keys():
                break
            self.functions |= defined
        touched: set[str] = set()
        for outer in module_statements(source.tree):
            before = len(self.edits)
            if isinstance(outer, ast.FunctionDef) and outer in self.module.program.kernel_code:
                self._write(outer, (outer,))
            touched |= {outer.name} if len(self.edits) > before and isinstance(outer, ast.FunctionDef) else set()
        lines = edited(source, self.edits)
        gone: set[int] = set()
        above: dict[int, list[Line]] = {}
        for statement in self._unused():
            first, last = first_line(statement), statement.end_lineno or statement.lineno
            gone |= set(range(first, last + 1))
            text = "\n".join(source.text.split("\n")[first - 1 : last])
            margin = margin_of(source, statement)
            above[first] = [Line(margin + comment, first) for comment in comments(text)]
            touched |= {getattr(statement, "name", "")} - {""}
        applied = Counter({CODE: len(self.edits)}) if self.edits else Counter()
        return EditedText(arranged(lines, gone, above, (0, [])), [], applied, touched)

    def _defined(self, owner: Owner) -> Iterator[tuple[str, object, _Function]]:
        """The functions of indices that an owner binds once, with the key of one in a dictionary."""
        bound = Counter(name for s in own_statements(owner.body) for name in bound_here(s))
        bound.update(name for n in of_kinds(owner, ast.Nonlocal, ast.Global) for name in n.names)
        if isinstance(owner, ast.FunctionDef):
            bound.update(a.arg for a in of_kinds(owner.args, ast.arg))
        for statement in owner.body:
            for name, key, function in self._bound(owner, statement):
                plain = not any(isinstance(part, _SCOPES) for value in function.parts for part in walk(value))
                if bound[name] == 1 and plain and (key is None or self._is_only_called(owner, name)):
                    yield name, key, function

    def _imported(self) -> Iterator[tuple[str, _Function]]:
        """The functions of other modules that compute one slice of their parameters."""
        tree = self.module.source.tree
        times = Counter(name for s in own_statements(tree.body) for name in bound_here(s))
        bound = {(a.asname or a.name): s for s in of_kinds(tree, ast.ImportFrom) for a in s.names}
        for name in sorted(name for name in bound if times[name] == 1):
            found = self.module.program.function(self.module, ast.Name(name, ast.Load()))
            function = _of_expressions(tree, found[1]) if found is not None else None
            if found is not None and function is not None and _is_of_parameters(function):
                assert isinstance(function.body, ast.Call)
                spelled = self._slice_of(_Writing(found[0]), function.body.func)
                if spelled:
                    yield name, replace(function, statement=bound[name], home=found[0], spelled=spelled)

    def _slice_of(self, home: _Writing, function: ast.expr) -> str:
        """What this module calls ``nl.ds`` or ``slice``, where another one calls that; empty for anything else."""
        if home._is_known(function, ("slice",)):
            return "slice" if not self._binds_slice else ""
        language = (item for item in self.module.symbols.import_list if item.path == "neuronxcc.nki.language")
        names = (f"{item.name}.ds" for item in language if item.name not in self.module.symbols.rebound)
        return next(names, "") if home._is_known(function, ("nl.ds",)) else ""

    def _bound(self, owner: Owner, statement: ast.stmt) -> Iterator[tuple[str, object, _Function]]:
        """The functions that a statement binds: name, key in a dictionary, function."""
        if isinstance(statement, ast.FunctionDef):
            function = _of_expressions(owner, statement)
            if function is not None and all(map(self._is_pure, function.parts)):
                is_slice = not function.steps and self._is_slice(function.body)
                if is_slice or self._is_inner_vector(owner, function):
                    yield statement.name, None, function
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            for key, node in _lambdas(statement.value) if isinstance(target, ast.Name) else ():
                assert isinstance(target, ast.Name)
                yield target.id, key, _Function(owner, statement, node, node.body)

    @staticmethod
    def _is_only_called(owner: Owner, name: str) -> bool:
        """Is a dictionary used for nothing but calls of its functions, by constant keys?"""
        calls = {c.func for c in of_kinds(owner, ast.Call)}
        keyed = [s for s in of_kinds(owner, ast.Subscript) if s in calls and isinstance(s.slice, ast.Constant)]
        used = [n for n in of_kinds(owner, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
        return set(used) <= {s.value for s in keyed}

    def _is_slice(self, value: ast.expr) -> bool:
        """Is an expression ``nl.ds(...)`` or ``slice(...)``, or a call of a function that computes such a slice?"""
        if not isinstance(value, ast.Call):
            return False
        known = [f for (_, name, key), f in self.functions.items() if key is None and is_name(value.func, name)]
        return self._is_known(value.func, ("nl.ds", "slice")) or any(self._is_slice(f.body) for f in known)

    def _is_known(self, function: ast.expr, names: Collection[str]) -> bool:
        """Is it one of these functions of NKI, or Python's own ``slice``?"""
        own = is_name(function, "slice") and "slice" in names and not self._binds_slice
        return own or self.module.symbols.host_name(function) in names

    @cached_property
    def _binds_slice(self) -> bool:
        """Does anything in the module have the name ``slice``?"""
        return any("slice" in bound_here(s) for s in of_kinds(self.module.source.tree, ast.stmt)) or any(
            argument.arg == "slice" for argument in of_kinds(self.module.source.tree, ast.arg)
        )

    def _is_inner_vector(self, owner: Owner, function: _Function) -> bool:
        """Does a function in a function compute with vectors? Those of modules are followed where they are called."""
        if not isinstance(owner, ast.FunctionDef):
            return False
        named = [n for value in function.parts for n in of_kinds(value, ast.Attribute, ast.Name)]
        if any(self._is_known(n, _VECTORS) for n in named) or any(map(self._calls_function, function.parts)):
            return True
        assert isinstance(function.node, ast.FunctionDef)
        calls = (c for c in of_kinds(owner, ast.Call) if is_name(c.func, function.node.name))
        given = [v for call in calls for v in (*call.args, *(keyword.value for keyword in call.keywords))]
        return not self._vectors_of(owner).isdisjoint(n.id for n in (*named, *given) if isinstance(n, ast.Name))

    def _calls_function(self, value: ast.expr) -> bool:
        """Does an expression call a function of indices?"""
        known = {name for _, name, _ in self.functions}
        called = {c.func.value if isinstance(c.func, ast.Subscript) else c.func for c in of_kinds(value, ast.Call)}
        return any(isinstance(n, ast.Name) and n.id in known for n in called)

    def _vectors_of(self, owner: ast.FunctionDef) -> set[str]:
        """The names that a function binds to vectors, or to what it makes of vectors without a call."""
        bound = [s for s in own_statements(owner.body) if isinstance(s, ast.Assign)]
        vectors: set[str] = set()
        while True:
            made = {name for s in bound if self._is_of_vectors(s.value, vectors) for name in bound_here(s)}
            if made <= vectors:
                return vectors
            vectors |= made

    def _is_of_vectors(self, value: ast.expr, vectors: Collection[str]) -> bool:
        """Does an expression make vectors: no calls but of ``nl.arange`` and the like, and at least one vector?"""
        if any(not self._is_known(c.func, _VECTORS) for c in of_kinds(value, ast.Call)):
            return False
        parts = list(of_kinds(value, ast.Name, ast.Attribute))
        return any(is_name(n, v) for n in parts for v in vectors) or any(self._is_known(n, _VECTORS) for n in parts)

    def _write(self, node: ast.AST, around: tuple[ast.FunctionDef, ...]) -> None:
        """Write out the calls in code, the outermost of those that stand in each other."""
        for child in children(node):
            inside = (*around, child) if isinstance(child, ast.FunctionDef) else around
            if isinstance(child, (ast.JoinedStr, *_SCOPES)) or any(child is f.node for f in self.functions.values()):
                continue
            if isinstance(child, ast.Call):
                text = self._text_of_call(child, around, {}, _DEPTH)
                if text is not None:
                    self.edits.append(Edit(*self.module.source.span(child), text))
                    continue
            self._write(child, inside)

    def _text_of_call(
        self, call: ast.Call, around: tuple[ast.FunctionDef, ...], known: Mapping[str, str], depth: int
    ) -> str | None:
        """What a call of a function of indices computes; ``None`` for any other call."""
        function = self._called(call, around)
        given = _arguments(call, function.node) if function is not None and depth else None
        if function is None or given is None or not all(self._is_pure(value) for value in given.values()):
            return None
        if not self._reads_the_same(function, around) or any(map(self._hands_on, [*function.parts, *given.values()])):
            return None
        texts = {}
        for name, value in given.items():
            text = self._text(value, around, known, depth - 1)
            texts[name] = text if isinstance(value, _ATOMS) else f"({text})"
        self.uses[function.statement] += 1
        for name, value in function.steps:
            text = self._text(value, around, texts, depth - 1)
            texts[name] = text if isinstance(value, _ATOMS) else f"({text})"
        if function.home is not None:
            return _text_of_slice(function, texts)
        text = self._text(function.body, around, texts, depth - 1)
        return text if isinstance(function.body, _ATOMS) else f"({text})"

    def _text(self, node: ast.expr, around: tuple[ast.FunctionDef, ...], known: Mapping[str, str], depth: int) -> str:
        """The text of an expression with parameters as what they are, on one line."""
        texts: list[tuple[ast.AST, str]] = []
        self._collect(node, around, known, depth, texts)
        if texts and texts[0][0] is node:
            return texts[0][1]
        text = self.module.source.segment(node, texts)
        return ast.unparse(ast.parse(text, mode="eval")) if "\n" in text else text

    def _collect(
        self,
        node: ast.AST,
        around: tuple[ast.FunctionDef, ...],
        known: Mapping[str, str],
        depth: int,
        texts: list[tuple[ast.AST, str]],
    ) -> None:
        if isinstance(node, ast.Name) and node.id in known:
            texts.append((node, known[node.id]))
            return
        text = self._text_of_call(node, around, known, depth) if isinstance(node, ast.Call) else None
        if text is not None:
            texts.append((node, text))
            return
        for child in children(node):
            self._collect(child, around, known, depth, texts)

    def _called(self, call: ast.Call, around: tuple[ast.FunctionDef, ...]) -> _Function | None:
        """The function of indices that a call means: ``row(t)``, or ``rows["all"](t)``."""
        called = call.func
        keyed = isinstance(called, ast.Subscript) and isinstance(called.slice, ast.Constant)
        target = called.value if isinstance(called, ast.Subscript) and keyed else called
        key = (
            called.slice.value if isinstance(called, ast.Subscript) and isinstance(called.slice, ast.Constant) else None
        )
        if not isinstance(target, ast.Name):
            return None
        text = self.module.source.text
        owner = next((f for f in reversed(around) if target.id in local_names(text, f)), self.module.source.tree)
        return self.functions.get((owner, target.id, key))

    def _reads_the_same(self, function: _Function, around: tuple[ast.FunctionDef, ...]) -> bool:
        """Do the names that a function reads mean the same where it is called?"""
        own = {*(a.arg for a in positional_parameters(function.node)), *(name for name, _ in function.steps)}
        read = {n.id for value in function.parts for n in of_kinds(value, ast.Name)} - own
        read = read | {function.spelled.split(".")[0]} if function.home is not None else read
        at = around.index(function.owner) + 1 if isinstance(function.owner, ast.FunctionDef) else 0
        between = around[at:] if isinstance(function.owner, ast.FunctionDef) else around
        return not any(read & local_names(self.module.source.text, inner) for inner in between)

    def _hands_on(self, node: ast.expr) -> bool:
        """Does an expression name such a function without calling it?"""
        called = {c.func.value if isinstance(c.func, ast.Subscript) else c.func for c in of_kinds(node, ast.Call)}
        known = {name for _, name, _ in self.functions}
        return any(n.id in known and n not in called for n in of_kinds(node, ast.Name))

    def _is_pure(self, value: ast.expr) -> bool:
        """May an argument be computed as often as the function reads it?"""
        if any(isinstance(n, ast.NamedExpr | ast.Await | ast.Yield | ast.Lambda) for n in walk(value)):
            return False
        known = _BUILTINS | {name for _, name, _ in self.functions}
        called = [c.func.value if isinstance(c.func, ast.Subscript) else c.func for c in of_kinds(value, ast.Call)]
        return all(
            (isinstance(f, ast.Name) and f.id in known) or self._is_known(f, (*_VECTORS, "nl.ds", "slice"))
            for f in called
        )

    def _unused(self) -> list[ast.stmt]:
        """The statements that bind functions all of whose uses are written out, and that a block can do without."""
        found = {f.statement: f for f in self.functions.values() if self.uses[f.statement] and self._can_go(f)}
        while True:
            kept = {statement for statement, function in found.items() if self._is_read(function, found)}
            if not kept:
                return list(found)
            found = {statement: function for statement, function in found.items() if statement not in kept}

    def _can_go(self, function: _Function) -> bool:
        """Does a statement stand alone on its lines, with others beside it, in no module that others import it from?"""
        if function.home is not None:
            return False  # an import stays
        statement, body = function.statement, function.owner.body
        lines = set(range(first_line(statement), (statement.end_lineno or statement.lineno) + 1))
        alone = len(body) > 1 and not any(s.lineno in lines for s in body if s is not statement)
        names = bound_here(statement)
        users = (u for name in names for u in self.module.program.users(self.module, name))
        return alone and not (isinstance(function.owner, ast.Module) and any(users))

    def _is_read(self, function: _Function, going: Mapping[ast.stmt, _Function]) -> bool:
        """Is a function read where nothing is written out, and by nothing that goes?"""
        names, inside = bound_here(function.statement), {n for s in going for n in walk(s)}
        reads = (n for n in of_kinds(function.owner, ast.Name) if n.id in names and isinstance(n.ctx, ast.Load))
        return any(n not in inside and not self._is_written_out(n) for n in reads)

    def _is_written_out(self, name: ast.Name) -> bool:
        at, _ = self.module.source.span(name)
        return any(edit.start <= at < edit.end for edit in self.edits)


def _is_of_parameters(function: _Function) -> bool:
    """Is what a function computes one call, of whose arguments all names are parameters, or functions of Python?"""
    if function.steps or not isinstance(function.body, ast.Call):
        return False
    given = [*function.body.args, *(keyword.value for keyword in function.body.keywords)]
    read = {n.id for value in given for n in of_kinds(value, ast.Name)}
    known = _BUILTINS | {a.arg for a in positional_parameters(function.node)}
    return read <= known and not any(isinstance(n, _SCOPES) for n in walk(function.body))


def _text_of_slice(function: _Function, known: Mapping[str, str]) -> str:
    """The slice that an imported function computes, with its parameters as what they are."""
    assert function.home is not None and isinstance(function.body, ast.Call)
    named = [n for n in of_kinds(function.body, ast.Name) if n.id in known and n is not function.body.func]
    texts: list[tuple[ast.AST, str]] = [(n, known[n.id]) for n in named]
    text = function.home.source.segment(function.body, [(function.body.func, function.spelled), *texts])
    return ast.unparse(ast.parse(text, mode="eval")) if "\n" in text else text


def _of_expressions(owner: Owner, function: ast.FunctionDef) -> _Function | None:
    """A function that gives names to expressions, each once, and returns one; ``None`` for any other."""
    *steps, last = function.body[ast.get_docstring(function, clean=False) is not None :] or [function]
    if not isinstance(last, ast.Return) or last.value is None or function.decorator_list:
        return None
    taken = {a.arg for a in of_kinds(function.args, ast.arg)}
    named: list[tuple[str, ast.expr]] = []
    for step in steps:
        target = step.targets[0] if isinstance(step, ast.Assign) and len(step.targets) == 1 else None
        if not isinstance(step, ast.Assign) or not isinstance(target, ast.Name) or target.id in taken:
            return None
        taken.add(target.id)
        named.append((target.id, step.value))
    return _Function(owner, function, function, last.value, tuple(named))


def _lambdas(value: ast.expr) -> Iterator[tuple[object, ast.Lambda]]:
    """The lambda that a value is, and those of a dictionary that has only lambdas, with their keys."""
    if isinstance(value, ast.Lambda):
        yield None, value
    elif isinstance(value, ast.Dict) and value.keys and all(isinstance(v, ast.Lambda) for v in value.values):
        pairs = list(zip(value.keys, value.values, strict=True))
        if all(isinstance(key, ast.Constant) for key, _ in pairs):
            yield from (
                (key.value, node)
                for key, node in pairs
                if isinstance(key, ast.Constant) and isinstance(node, ast.Lambda)
            )


def _arguments(call: ast.Call, function: ast.Lambda | ast.FunctionDef) -> dict[str, ast.expr] | None:
    """What a call gives each parameter; ``None`` where that is not told, or a default is no constant."""
    names = [a.arg for a in positional_parameters(function)]
    others = function.args.vararg or function.args.kwarg or function.args.kwonlyargs
    starred = any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
    if others or starred or len(call.args) > len(names):
        return None
    values = reversed(function.args.defaults)
    defaults = dict(zip(reversed(names), values, strict=False))
    given = {**defaults, **dict(zip(names, call.args, strict=False)), **{k.arg or "": k.value for k in call.keywords}}
    plain = all(isinstance(d, ast.Constant) for name, d in defaults.items() if given[name] is d)
    return given if plain and set(given) == set(names) else None
