"""The modules of the project, and what each of them imports: imports in functions and for types count as any other."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from nki_migrate.runtime.spec.grammar import nodes_of

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"migrate": "nki_migrate", "codemods": "nki_migrate.codemods", "runtime": "nki_migrate.runtime"}
FILES = [path for folder in PACKAGES for path in sorted((ROOT / folder).rglob("*.py"))]


def module_of(path: Path) -> str:
    """The name that the file ``path`` is imported by."""
    folder, *parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join([PACKAGES[folder], *parts]).removesuffix(".__init__")


def package_of(path: Path) -> str:
    """The package that relative imports in ``path`` start from."""
    folder, *parts = path.relative_to(ROOT).parts[:-1]
    return ".".join([PACKAGES[folder], *parts])


@cache
def tree_of(path: Path) -> ast.Module:
    """The tree of a file of ours, for those who only read it."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_modules(tree: ast.AST, package: str) -> Iterator[str]:
    """Absolute names of what a module in ``package`` imports; ``from a import b`` gives ``a.b``."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            prefix = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{prefix}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call):
            yield from _imported_by(node, package)


def _imported_by(call: ast.Call, package: str) -> Iterator[str]:
    """The module that a call of ``import_module`` is for."""
    name = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    if isinstance(name, str) and getattr(call.func, "attr", getattr(call.func, "id", "")) == "import_module":
        yield f"{package}{name}" if name.startswith(".") else name
