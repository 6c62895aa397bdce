"""Imports go one way: migrate -> codemods -> runtime, and the codemods see only data and calculation there."""

import ast
from pathlib import Path

import pytest
from module_imports import FILES, PACKAGES, ROOT, imported_modules, package_of, tree_of

PURE = ("nki_migrate.runtime.spec", "nki_migrate.runtime.plan", "nki_migrate.runtime.ascend.plans")
"""Packages of runtime that hold facts, and functions of facts: nothing in them runs a kernel."""


def layer(module):
    """The folder that a module is in, ``None`` for what is not ours."""
    parts = module.split(".")
    if parts[0] != "nki_migrate":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in ("codemods", "runtime", "golden") else "migrate"


def forbidden(folder, module):
    if folder == "codemods":
        return layer(module) in ("migrate", "golden") or (
            layer(module) == "runtime" and not module.startswith(tuple(f"{package}." for package in PURE))
        )
    return folder == "runtime" and layer(module) in ("migrate", "codemods", "golden")


def imports_of(path):
    return path.relative_to(ROOT).parts[0], imported_modules(tree_of(path), package_of(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    folder, modules = imports_of(path)
    assert [module for module in modules if forbidden(folder, module)] == []


@pytest.mark.parametrize("package", [package for package in PURE if "spec" not in package])
def test_pure_packages_import_only_pure_ones(package):
    folder = ROOT / "runtime" / Path(*package.split(".")[2:])
    allowed = tuple(f"{pure}." for pure in PURE)
    files = sorted(folder.rglob("*.py"))
    assert files
    for path in files:
        ours = [module for module in imports_of(path)[1] if layer(module)]
        assert [module for module in ours if not module.startswith(allowed)] == [], path


def test_the_goldens_import_nothing_of_ours():
    source = (ROOT / "golden" / "__init__.py").read_text()
    assert [module for module in imported_modules(ast.parse(source), "nki_migrate.golden") if layer(module)] == []


@pytest.mark.parametrize(
    ("folder", "package", "source", "found"),
    [
        ("codemods", "nki_migrate.codemods", "from nki_migrate.runtime import memory", True),
        ("codemods", "nki_migrate.codemods.rules", "from ...runtime.isa import commit", True),
        ("codemods", "nki_migrate.codemods", "from nki_migrate.runtime.spec.dtypes import ITEMSIZE", False),
        ("codemods", "nki_migrate.codemods", "def f():\n    import nki_migrate.cli", True),
        ("codemods", "nki_migrate.codemods.rules", "from ..model import Rule", False),
        ("runtime", "nki_migrate.runtime", "from nki_migrate import codemods", True),
        ("runtime", "nki_migrate.runtime.isa", "from ..memory import View", False),
        ("migrate", "nki_migrate", "from nki_migrate.runtime.legality import CODES", False),
    ],
)
def test_what_is_forbidden_is_seen(folder, package, source, found):
    assert any(forbidden(folder, module) for module in imported_modules(ast.parse(source), package)) == found


def test_every_package_is_in_the_wheel():
    listed = (ROOT / "pyproject.toml").read_text().partition("packages = [")[2].partition("]")[0]
    folders = {path.parent for path in FILES if (path.parent / "__init__.py").exists()}
    names = {".".join((PACKAGES[f.relative_to(ROOT).parts[0]], *f.relative_to(ROOT).parts[1:])) for f in folders}
    assert {name for name in names if f'"{name}"' not in listed} == set()
    assert "nki_migrate.codemods.plan.grids" in names
