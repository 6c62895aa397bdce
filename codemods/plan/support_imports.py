"""The import of what a file of a package has from the module of its functions (``render/support``)."""

from __future__ import annotations

import ast

from ..expr.emission import New
from ..project.program import Module
from ..project.usage import first_use


def add(module: Module) -> None:
    """Import the functions that the rewritten module calls: behind the imports of its own package, else of anything."""
    names = {name: local for name, local in module.names.support_names.items() if local in module.names.support}
    if not module.names.support_home or not names:
        return
    listed = (name if name == local else f"{name} as {local}" for name, local in sorted(names.items()))
    text = f"from {module.names.support_home} import {', '.join(listed)}"
    body = module.source.tree.body
    use = first_use(module)
    above = body[: body.index(use)] if use is not None else body
    imports = [s for s in above if isinstance(s, ast.Import | ast.ImportFrom)]
    own = [
        s for s in imports if isinstance(s, ast.ImportFrom) and _package(s) == _package_of(module.names.support_home)
    ]
    if imports:
        module.plan.edits.after.setdefault((own or imports)[-1], []).append(New(text, apart=not own))
    else:
        is_documented = ast.get_docstring(module.source.tree) is not None
        module.plan.edits.before.setdefault(body[1 if is_documented else 0], []).insert(0, New(text))


def definitions(module: Module) -> tuple[str, ...]:
    """The functions that the module imports, by their names where they are defined."""
    if not module.names.support_home:
        return ()
    return tuple(sorted(name for name, local in module.names.support_names.items() if local in module.names.support))


def _package(statement: ast.ImportFrom) -> str:
    return "." if statement.level else (statement.module or "").partition(".")[0]


def _package_of(home: str) -> str:
    return home.partition(".")[0] or "."
