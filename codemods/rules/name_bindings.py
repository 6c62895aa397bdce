"""NKI035 name-bindings: a file is left alone where a name of its output might mean something else than it did.

Why: what Beta 2 cannot have inside of a kernel moves out of it, and what it captured becomes arguments; tiles get
declarations, loops get names of their own. So after a file is rewritten, and apart from the rules that did it, each
name that the output reads is resolved again, in the source and in the output: through branches, loops, calls, and
what nested functions capture. It has to mean the same there. A file with a name for which that cannot be shown keeps
every byte.

Two functions under one name, in two branches of a condition, are such a name: Beta 2 has functions at module level
only, and no way to choose one by a condition but an ``if`` around each call. So is a captured name that the function
which calls what has captured it binds to something of its own.

Manual: give what differs a name of its own.

Source: this project's translation validation (``codemods/binding_check.py``).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..binding_check import Violation, violations
from ..emission import Refuse
from ..moves import declarations
from ..origins import Origins

if TYPE_CHECKING:
    from ..project import Module

CODE = "NKI035"
APPLICABILITY = "manual"
GOLDENS = ("function_in_branches",)


def report(module: Module, output: ast.Module, origins: Origins) -> bool:
    """Report the names of a module's ``output`` that may mean something else than they did; are there any?"""
    declared = declarations(module.planned, module.source.tree)
    found = list(violations(module.source.tree, output, origins, module.traced_once, declared, module.kept))
    for violation in found:
        module.report(_refusal(violation))
    return bool(found)


def _refusal(violation: Violation) -> Refuse:
    what = f"rewritten, '{violation.name}' might mean something else here, and the file is left: {violation.reason}"
    return Refuse(violation.statement, CODE, what, "give each function and each value a name of its own")
