"""Small sources, one construct each: what the recorder shows to the gatherer and the tests show to the checker.

A source is the text of a whole file without imports; ``{name}`` templates put every expression and statement into every
place that can hold one.
"""

from __future__ import annotations

import textwrap

EXPRESSIONS = {
    "await": "await x",
    "bytes": 'b"x"',
    "call": "f(x, 1, a=2)",
    "call-keywords-expanded": 'f(**{"a": 1})',
    "call-starred": "f(*x)",
    "chained-comparison": "0 < x <= 2",
    "complex": "1j",
    "conditional": "1 if x else 2",
    "dict": '{"a": 1}',
    "dict-comprehension": "{i: i for i in x}",
    "dict-expanded": "{**x}",
    "dict-number-key": "{1: 2}",
    "ellipsis": "...",
    "f-string": 'f"{x}"',
    "f-string-conversion": 'f"{x!r}"',
    "f-string-specifier": 'f"{x:>3}"',
    "f-string-nested-specifier": 'f"{x:>{3}}"',
    "f-string-refused-value": 'f"{[i for i in x]}"',
    "generator": "f(i for i in x)",
    "in": "1 in x",
    "integer-limit": "2147483647",
    "integer-too-large": "2147483648",
    "integer-too-small": "-2147483649",
    "is": "x is None",
    "is-not": "x is not f",
    "lambda": "lambda i: i",
    "lambda-in-call": "f(lambda: [i for i in x])",
    "list": "[1, 2]",
    "list-comprehension": "[i for i in x]",
    "matmul": "x @ x",
    "nested-comprehension": "[[j for j in i] for i in x]",
    "not": "not x",
    "set": "{1, 2}",
    "set-comprehension": "{i for i in x}",
    "slice": "x[0:4, ::2, ...]",
    "starred-list": "[*x]",
    "string-concatenation": '"a" "b"',
    "subscript-of-comprehension": "[i for i in x][0]",
    "tuple": "(1, 2)",
    "two-comprehensions": "[i for i in x] + [j for j in x]",
    "walrus": "(y := 1)",
    "yield": "(yield x)",
    "yield-from": "(yield from x)",
}
PLACES = {
    "return": "return {}",
    "assigned": "y = {}",
    "argument": "f({})",
    "test": "if {}:\n    pass",
    "loop": "for i in {}:\n    pass",
    "while": "while {}:\n    break",
    "index": "y = x[{}]",
    "assert": "assert {}",
    "with": "with {}:\n    pass",
    "annotation": "y: {} = 1",
}
STATEMENTS = {
    "annotated": "y: int = 1",
    "annotated-only": "y: int",
    "assert": 'assert x, "text"',
    "async-def": "async def g():\n    pass",
    "augmented": "x += 1",
    "break": "for i in x:\n    break",
    "class": "class C:\n    pass",
    "continue": "for i in x:\n    continue",
    "def": "def g():\n    return [i for i in x]",
    "decorated-def": "@f\ndef g():\n    pass",
    "del": "del x",
    "del-item": "del x[0]",
    "expression": "f(x)",
    "for": "for i in range(4):\n    pass",
    "for-else": "for i in range(4):\n    pass\nelse:\n    del x",
    "for-tuple": "for i, j in x:\n    pass",
    "global": "global g",
    "if": "if x:\n    pass\nelif f:\n    pass\nelse:\n    pass",
    "import": "import math",
    "import-from": "from math import ceil",
    "match": "match x:\n    case 1:\n        del x",
    "multiple-targets": "a = b = x",
    "pass": "pass",
    "raise": "raise ValueError([i for i in x])",
    "raise-bare": "raise",
    "return": "return",
    "starred-target": "a, *b = x",
    "subscript-target": "x[0] = 1",
    "attribute-target": "x.y = 1",
    "try": "try:\n    del x\nexcept ValueError:\n    del x\nfinally:\n    del x",
    "tuple-target": "a, (b, c) = x",
    "while-else": "while x:\n    break\nelse:\n    pass",
    "with": "with f():\n    pass",
    "with-as": "with f() as y:\n    del y",
    "with-two": "with f(), f():\n    pass",
}
BLOCKS = {
    "plain": "{}",
    "if": "if x:\n{indented}",
    "else": "if x:\n    pass\nelse:\n{indented}",
    "for": "for k in range(2):\n{indented}",
    "while": "while x:\n{indented}\n    break",
    "with": "with f():\n{indented}",
}
_NUMPY = "import numpy as np\n\n"
_CLASS = "class C({}):\n{}\n\n\n"
FILES = {
    "class-without-base": "class C:\n    a: int = 1\n\n\ndef kernel(x):\n    return C()\n",
    "class-object": _CLASS.format("object", "    a: int = 1") + "def kernel(x):\n    return C()\n",
    "class-nkiobject": _CLASS.format("NKIObject", "    a: int = 1") + "def kernel(x):\n    return C()\n",
    "class-enum": _CLASS.format("Enum", "    a = 1") + "def kernel(x):\n    return C.a\n",
    "class-int-enum": _CLASS.format("IntEnum", "    a = 1") + "def kernel(x):\n    return C.a\n",
    "class-named-tuple": _CLASS.format("NamedTuple", "    a: int = 1") + "def kernel(x):\n    return C()\n",
    "class-two-bases": _CLASS.format("NKIObject, ABC", "    a: int = 1") + "def kernel(x):\n    return C()\n",
    "class-keyword": _CLASS.format("NKIObject, metaclass=type", "    a: int = 1") + "def kernel(x):\n    return C()\n",
    "class-docstring": _CLASS.format("NKIObject", '    """Text."""') + "def kernel(x):\n    return C()\n",
    "class-expression": _CLASS.format("NKIObject", "    a: int = 1\n    print(1)") + "def kernel(x):\n    return C()\n",
    "class-if": _CLASS.format("NKIObject", "    if True:\n        a: int = 1") + "def kernel(x):\n    return C()\n",
    "class-two-targets": _CLASS.format("NKIObject", "    a = b = 1") + "def kernel(x):\n    return C()\n",
    "class-tuple-target": _CLASS.format("NKIObject", "    a, b = 1, 2") + "def kernel(x):\n    return C()\n",
    "class-nested": _CLASS.format("NKIObject", "    class D:\n        pass") + "def kernel(x):\n    return C()\n",
    "class-method": _CLASS.format("NKIObject", "    def m(self):\n        del self")
    + "def kernel(x):\n    return C()\n",
    "class-refused-method": _CLASS.format("object", "    def m(self):\n        del self")
    + "def kernel(x):\n    return C()\n",
    "class-method-after": _CLASS.format("NKIObject", "    print(1)\n\n    def m(self):\n        del self")
    + "def kernel(x):\n    return C()\n",
    "class-method-before": _CLASS.format("NKIObject", "    def m(self):\n        del self\n\n    print(1)")
    + "def kernel(x):\n    return C()\n",
    "class-static-method": _CLASS.format("NKIObject", "    @staticmethod\n    def m():\n        raise ValueError")
    + "def kernel(x):\n    return C.m()\n",
    "class-subclass": _CLASS.format("NKIObject", "    a: int = 1")
    + "class D(C):\n    pass\n\n\ndef kernel(x):\n    return D()\n",
    "class-not-reached": "class C:\n    def m(self):\n        del self\n\n\ndef kernel(x):\n    return x\n",
    "class-in-annotation": "class C:\n    pass\n\n\ndef kernel(x: C) -> C:\n    return x\n",
    "class-in-variable-annotation": "class C:\n    pass\n\n\ndef kernel(x):\n    y: C = x\n    return y\n",
    "class-of-global": _CLASS.format("object", "    a: int = 1") + "c = C()\n\n\ndef kernel(x):\n    return c\n",
    "class-of-global-in-list": _CLASS.format("object", "    a: int = 1")
    + "c = [C()]\n\n\ndef kernel(x):\n    return c\n",
    "class-of-global-in-dict": _CLASS.format("object", "    a: int = 1")
    + 'c = {"a": C()}\n\n\ndef kernel(x):\n    return c\n',
    "class-in-isinstance": "class C:\n    pass\n\n\ndef kernel(x):\n    return isinstance(x, C)\n",
    "helper-called": "def h(x):\n    del x\n\n\ndef kernel(x):\n    return h(x)\n",
    "helper-twice": "def h(x):\n    del x\n\n\ndef kernel(x):\n    h(x)\n    return h(x)\n",
    "helper-named": "def h(x):\n    del x\n\n\ndef kernel(x):\n    return h\n",
    "helper-of-helper": "def g(x):\n    del x\n\n\ndef h(x):\n    return g(x)\n\n\ndef kernel(x):\n    return h(x)\n",
    "helper-not-reached": "def h(x):\n    del x\n\n\ndef kernel(x):\n    return x\n",
    "helper-in-default": "def h(x):\n    del x\n\n\ndef kernel(x, g=h):\n    return x\n",
    "helper-in-keyword-default": "def h(x):\n    del x\n\n\ndef kernel(x, *, g=h):\n    return x\n",
    "helper-in-list": "def h(x):\n    del x\n\n\nhs = [h]\n\n\ndef kernel(x):\n    return hs[0](x)\n",
    "helper-in-dict": 'def h(x):\n    del x\n\n\nhs = {"h": h}\n\n\ndef kernel(x):\n    return hs["h"](x)\n',
    "helper-alias": "def h(x):\n    del x\n\n\ng = h\n\n\ndef kernel(x):\n    return g(x)\n",
    "helper-shadowed": "def h(x):\n    del x\n\n\ndef kernel(x, h):\n    return h(x)\n",
    "helper-recursive": "def h(x):\n    del x\n    return h(x)\n\n\ndef kernel(x):\n    return h(x)\n",
    "helper-made-global": "def h(x):\n    del x\n    return 1\n\n\ng = h(1)\n\n\ndef kernel(x):\n    return g\n",
    "helper-in-decorator": "def h(f):\n    return f\n\n\n@h\ndef g(x):\n    del x\n\n\ndef kernel(x):\n    return g(x)\n",
    "helper-inside-refused": "def h(x):\n    del x\n\n\ndef kernel(x):\n    try:\n        h(x)\n    finally:\n        pass\n",
    "helper-inside-comprehension": "def h(x):\n    del x\n\n\ndef kernel(x):\n    return [h(i) for i in x]\n",
    "helper-inside-specifier": 'def h(x):\n    del x\n\n\ndef kernel(x):\n    return f"{h(x):>3}"\n',
    "varargs": "def kernel(*x):\n    return x\n",
    "keyword-varargs": "def kernel(**x):\n    return x\n",
    "keyword-only": "def kernel(x, *, y):\n    return y\n",
    "positional-only": "def kernel(x, /, y):\n    return y\n",
    "default-lambda": "def kernel(x, y=lambda: 1):\n    return x\n",
    "default-comprehension": "def kernel(x, y=[i for i in range(2)]):\n    return x\n",
    "default-set": "def kernel(x, *, y={1, 2}):\n    return x\n",
    "annotation-lambda": "def kernel(x: (lambda: 1)) -> (lambda: 1):\n    return x\n",
    "docstring": 'def kernel(x):\n    """Text."""\n    return x\n',
    "decorator-call-lambda": "def h(f):\n    return lambda g: g\n\n\n@h(lambda: 1)\ndef g(x):\n    return x\n\n\n"
    "def kernel(x):\n    return g(x)\n",
    "numpy-types-in-dict": _NUMPY + "v = {np.float32: 4, np.int64: 8}\n\n\ndef kernel(x):\n    return v\n",
    "numpy-types-in-list": _NUMPY + "v = [np.float16, (np.int8,)]\n\n\ndef kernel(x):\n    return v\n",
    "numpy-types-read-twice": _NUMPY + "v = [np.uint8]\n\n\ndef kernel(x):\n    y = v\n    return v\n",
    "numpy-type-instance": _NUMPY + 'v = np.dtype("int8")\n\n\ndef kernel(x):\n    return v\n',
    "numpy-type-instance-of-type": _NUMPY + "v = [np.dtype(np.int16)]\n\n\ndef kernel(x):\n    return v\n",
    "numpy-type-alias": _NUMPY + "v = np.float32\n\n\ndef kernel(x):\n    return v\n",
    "numpy-type-in-body": _NUMPY + "def kernel(x):\n    return np.float32, [np.int8]\n",
    "numpy-types-shadowed": _NUMPY + "v = [np.uint8]\n\n\ndef kernel(x, v):\n    return v\n",
    "numpy-other-types": "import ml_dtypes\n\nv = [ml_dtypes.bfloat16]\n\n\ndef kernel(x):\n    return v\n",
}
"""Whole files; the function to read is ``kernel``. ``NKIObject``, ``Enum``, ``IntEnum``, ``NamedTuple`` and ``ABC`` are there."""

HEADER = "from abc import ABC\nfrom enum import Enum, IntEnum\nfrom typing import NamedTuple\n\nimport nki\n"
HEADER += "from nki.language import NKIObject\n\n\n"


def sources() -> dict[str, str]:
    """Every source by name, with the imports above; ``kernel`` is decorated."""
    bodies: dict[str, str] = {}
    for name, expression in EXPRESSIONS.items():
        for place, template in PLACES.items():
            bodies[f"{name} in {place}"] = template.format(expression)
    for name, statement in STATEMENTS.items():
        for block, template in BLOCKS.items():
            indented = textwrap.indent(statement, "    ")
            bodies[f"{name} in {block}"] = template.format(statement, indented=indented)
    made = {name: "def kernel(x):\n" + textwrap.indent(body, "    ") + "\n" for name, body in bodies.items()}
    helper = "def f(*a, **k):\n    pass\n\n\n"
    plain = {
        name: HEADER + helper.replace("*a, **k", "a=None, b=None, c=None") + decorated(text)
        for name, text in made.items()
    }
    return plain | {name: HEADER + decorated(text) for name, text in FILES.items()}


def decorated(text: str) -> str:
    return text.replace("def kernel(", "@nki.jit\ndef kernel(")
