"""Names of Python's own library: ``collections.deque``, ``itertools.product``.

The front end reads what it finds in Python source as kernel code, and knows nothing of what is written in C.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from types import BuiltinFunctionType

from ..spec.beta2 import LIBRARIES, LIBRARY_CLASSES
from .model import RuleDoc, Violation, kernel
from .rules_definitions import BASE
from .rules_names import MATH, is_decorator
from .walk import Context, document, on, report

LIBRARY = document(
    RuleDoc(
        "NKL111",
        "python-library",
        "{} not found!",
        "Of Python's library kernels have the module math. The containers of collections, the iterators of itertools "
        "and the functions of functools, operator, copy, heapq and bisect do not exist.",
        "Use a list or a dictionary with strings for keys, and write the loop.",
        bad="from collections import deque\n\n\n" + kernel("rows = deque([1])\nreturn rows[0]"),
        good=kernel("rows = [1]\nreturn rows[0]"),
    )
)


@on(ast.Name, ast.Attribute, evaluated=True)
def library_names(node: ast.Name | ast.Attribute, context: Context) -> Iterator[Violation]:
    """Names of :data:`LIBRARIES` that are read, but not as decorators.

    ``import collections`` leaves the name behind the dot unknown. A class in Python source that is imported by name is
    read, and no NKI class; a function in C that is is known, as None.
    """
    name = (context.qualified(node) or "") if isinstance(node.ctx, ast.Load) else ""
    module, _, last = name.rpartition(".")
    found = getattr(import_module(module), last, None) if module in LIBRARIES else None
    if found is None or is_decorator(node, context):
        return
    if ast.unparse(node) == name:
        yield report(LIBRARY, node, name)
    elif name in LIBRARY_CLASSES:
        yield report(BASE, node, message=BASE.message, help=f"{name}: {LIBRARY.help}")
    elif not isinstance(found, BuiltinFunctionType):
        yield report(LIBRARY, node, name)
    elif isinstance(context.parent, ast.Call) and context.parent.func is node:
        yield report(LIBRARY, node, message=MATH.message, help=f"{name}: {LIBRARY.help}")
