"""The structure gets no worse: what is not yet as the design wants it is counted here, and its number may only fall.

Who lowers a figure lowers its ceiling in the same commit. ``.ci/run`` checks the rules that hold without exception:
the contracts of import-linter, and ruff's bound for branches.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import pytest
from module_imports import FILES, ROOT, imported_modules, module_of, package_of, tree_of
from nki_migrate.runtime.spec.grammar import children, statements

COMPLEX = 20
"""The complexity, as radon counts it, that no new function has more of."""


@dataclass(frozen=True)
class Figures:
    """What is counted of a folder."""

    circle: int
    """Modules of the largest import circle; 1 where there is none."""
    local_imports: int
    """Imports within functions. What each spares a start is looked at in test_lazy_imports."""
    complex_functions: int
    """Functions of a complexity over 20 without a reason (``# complexity: ...``) above them."""
    most_complex: int
    """The complexity of the function that has most."""
    bare_ignores: int
    """Comments ``type: ignore`` that give no reason beside them."""


CEILINGS = {
    "migrate": Figures(circle=1, local_imports=66, complex_functions=0, most_complex=20, bare_ignores=0),
    "codemods": Figures(circle=1, local_imports=1, complex_functions=0, most_complex=20, bare_ignores=0),
    "runtime": Figures(circle=1, local_imports=0, complex_functions=0, most_complex=20, bare_ignores=0),
}
FRONT_ENDS = {"runtime/beta1": 1, "runtime/beta2": 1, "runtime/tilelang": 1}
"""The import circles of the emulator's front ends; that of runtime is the largest of the others."""


def arrows(sources: Mapping[str, tuple[ast.Module, str]]) -> dict[str, set[str]]:
    """The modules that each module imports, of those in ``sources`` (name: tree and package)."""
    graph = {}
    for module, (tree, package) in sources.items():
        names = set(imported_modules(tree, package))
        # "from a import b" asks for the module a.b, and where there is none for a.
        found = {name if name in sources else name.rpartition(".")[0] for name in names}
        graph[module] = (found & sources.keys()) - {module}
    return graph


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """The sets of modules each of which reaches all others of its set, but for modules alone."""
    reached = {module: reach(graph, module) for module in graph}
    found = {frozenset(other for other in reached[module] if module in reached[other]) for module in graph}
    return [set(circle) for circle in found if circle]


def reach(graph: Mapping[str, set[str]], module: str) -> set[str]:
    """What ``module`` imports, directly or not: itself if it is in a circle."""
    seen: set[str] = set()
    left = [module]
    while left:
        new = graph[left.pop()] - seen
        seen |= new
        left += new
    return seen


@cache
def project_circles() -> list[set[str]]:
    return circles(arrows({module_of(path): (tree_of(path), package_of(path)) for path in FILES}))


def largest_circle(folder: str) -> int:
    """The size of the largest import circle that has a module of ``folder`` in it; 1 where there is none."""
    return max((len(circle) for circle in project_circles() if folder in map(place, circle)), default=1)


def place(module: str) -> str:
    """The folder of a module: ``migrate``, ``codemods``, a front end, or what else is in ``runtime``."""
    _, *parts = module.split(".")
    if parts[:1] not in (["codemods"], ["runtime"]):
        return "migrate"
    inner = "/".join(parts[:2])
    return inner if inner in FRONT_ENDS else parts[0]


def local_imports(tree: ast.AST) -> int:
    """Import statements within functions."""
    return len({node for function in functions(tree) for node in statements(function) if is_import(node)})


def is_import(node: ast.AST) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in statements(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


_BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert, ast.match_case)


def complexity(function: ast.AST) -> int:
    """One, and one for each branch, loop, handler, assertion, operand behind ``and`` or ``or``, and clause."""
    total = 1
    left = children(function)
    while left:
        node = left.pop()
        total += isinstance(node, _BRANCHES)
        if isinstance(node, ast.BoolOp):
            total += len(node.values) - 1
        if isinstance(node, ast.comprehension):
            total += 1 + len(node.ifs)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            left += children(node)
    return total


def reasoned(path: Path, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Does a comment above a function say why it is not several?"""
    above = path.read_text(encoding="utf-8").splitlines()[function.lineno - 2]
    return re.fullmatch(r"\s*# complexity: \w.*", above) is not None


def bare_ignores(text: str) -> int:
    """Comments ``type: ignore`` without ``# reason`` behind them."""
    return len(re.findall(r"#\s*type:\s*ignore(?:\[[^\]\n]*\])?(?!\[|\s*#\s*\w)", text))


@cache
def figures(folder: str) -> Figures:
    paths = [path for path in FILES if path.relative_to(ROOT).parts[0] == folder]
    complexities = [
        complexity(function) for path in paths for function in functions(tree_of(path)) if not reasoned(path, function)
    ]
    return Figures(
        largest_circle(folder),
        sum(local_imports(tree_of(path)) for path in paths),
        sum(value > COMPLEX for value in complexities),
        max(complexities),
        sum(bare_ignores(path.read_text(encoding="utf-8")) for path in paths),
    )


@pytest.mark.parametrize("figure", [field.name for field in fields(Figures)])
@pytest.mark.parametrize("folder", CEILINGS)
def test_no_figure_rises(folder: str, figure: str) -> None:
    assert getattr(figures(folder), figure) <= getattr(CEILINGS[folder], figure)


@pytest.mark.parametrize("folder", FRONT_ENDS)
def test_no_circle_of_a_front_end_grows(folder: str) -> None:
    assert largest_circle(folder) <= FRONT_ENDS[folder]


@pytest.mark.parametrize("folder", CEILINGS)
def test_every_folder_with_modules_is_in_the_wheel(folder: str) -> None:
    """An installation from the sources has them all, whatever ``packages`` says. (Folders of data have none.)"""
    listed = (ROOT / "pyproject.toml").read_text()
    packages = {
        package_of(path)
        for path in FILES
        if path.is_relative_to(ROOT / folder) and (path.parent / "__init__.py").exists()
    }
    assert packages and {package for package in packages if f'"{package}"' not in listed} == set()


def test_no_circle_leaves_its_folder() -> None:
    homes = [{place(module) for module in circle} for circle in project_circles()]
    assert [found for found in homes if len(found) > 1] == []


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        ({"p.a": "from . import b", "p.b": "from . import c", "p.c": ""}, []),
        ({"p.a": "from . import b", "p.b": "def f():\n    from .a import x"}, [{"p.a", "p.b"}]),
        ({"p.a": "if TYPE_CHECKING:\n    from p import b", "p.b": "import p.c", "p.c": "import p.a"}, [{*"abc"}]),
        (
            {"p.a": "importlib.import_module('.b')", "p.b": "import_module('p.a')", "p.c": "import p.a"},
            [{"p.a", "p.b"}],
        ),
        ({"p.a": "from . import b", "p.b": "import p.a", "p.c": "import p.d", "p.d": "import p.c"}, [{*"ab"}, {*"cd"}]),
    ],
)
def test_circles_of_every_kind_of_import_are_seen(sources: dict[str, str], found: list[set[str]]) -> None:
    graph = arrows({module: (ast.parse(text), "p") for module, text in sources.items()})
    expected = [sorted(f"p.{name.removeprefix('p.')}" for name in circle) for circle in found]
    assert sorted(sorted(circle) for circle in circles(graph)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("pass", 1),
        ("if a: pass\n    elif b and c or d: pass", 5),
        ("for x in y:\n        while x: pass", 3),
        ("return [a for a in b if c if d] if e else f", 5),
        ("try: pass\n    except A: pass\n    except B: pass", 3),
        ("def g():\n        if a: pass", 1),
        ("assert (lambda: a or b)()", 3),
    ],
)
def test_complexity_counts_what_branches(body: str, expected: int) -> None:
    function, *_ = functions(ast.parse(f"def f():\n    {body}\n"))
    assert complexity(function) == expected


def test_imports_within_functions_are_counted_once() -> None:
    assert local_imports(ast.parse("import a\ndef f():\n    import b\n    def g():\n        from c import d\n")) == 2


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("x  # type: ignore", 1),
        ("x  # type: ignore[misc]", 1),
        ("x  # type: ignore[misc]  # the stubs say less than the class", 0),
        ("x  # type: ignore[misc]  #", 1),
        ("x  # ignored", 0),
    ],
)
def test_a_reason_stands_beside_an_ignored_type(comment: str, expected: int) -> None:
    assert bare_ignores(f"{comment}\n") == expected


EMITTING = {"fresh", "apply", "emit", "emit_assertion", "assert_equal", "assert_that", "assert_all", "assume", "guard"}
"""The methods of a scope that give a name, count a rule, or write a statement or an assertion."""
SILENT = ("expr", "project", "analysis", "plan")
"""The layers of codemods that find facts and decide: what is written is the business of those above them."""


def emitting_calls(tree: ast.Module) -> list[str]:
    """The calls of such a method of anything that is named a scope."""
    called = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    methods = (c for c in called if isinstance(c, ast.Attribute) and c.attr in EMITTING)
    return [ast.unparse(m) for m in methods if re.search(r"(?:^|\.)(?:scope|inner|outer)$", ast.unparse(m.value))]


@pytest.mark.parametrize("layer", SILENT)
def test_facts_and_decisions_write_nothing(layer: str) -> None:
    paths = [path for path in FILES if path.relative_to(ROOT).parts[:2] == ("codemods", layer)]
    found = {str(path.relative_to(ROOT)): calls for path in paths if (calls := emitting_calls(tree_of(path)))}
    assert paths and not found


def test_what_writes_is_seen() -> None:
    tree = ast.parse("scope.fresh('a')\ncall.scope.apply(CODE, node)\nscope.constant('a')\nrows.apply(f)\n")
    assert emitting_calls(tree) == ["scope.fresh", "call.scope.apply"]
