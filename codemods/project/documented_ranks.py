"""The rank that a function's documentation gives one of its tensors: ``bias: (channels,)``, ``bias.shape == [C]``.

It is what the author says, and nothing checks it: who rewrites for it lets the kernel assert it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..syntax.nodes import first_line, named_parameters

_SHAPE = r"(?P<open>[(\[])(?P<inside>[^()\[\]]*(?:\([^()]*\)[^()\[\]]*)*)[)\]]"
_SIZE = re.compile(r"[A-Za-z_]\w*|\d+")
_NO_SIZES = frozenset("optional required input output in out tensor array int float bool str dtype hbm sbuf".split())
"""Words that stand between brackets behind a parameter and are no sizes: ``bias (optional)``."""
_FORMS = (
    r"`{{0,2}}{name}\.shape`{{0,2}}\s*(?:==|=|:|is)?\s*" + _SHAPE,
    r"^[\s*\-#]*`{{0,2}}{name}`{{0,2}}\s*[:=\-–—]*\s*" + _SHAPE,
    r"^[\s*\-#]*`{{0,2}}{name}`{{0,2}}\b[^\n]*?\bshape\b(?:\s*(?:of|is|:|=|==))*\s*`*" + _SHAPE,
)
_WORDS = (r"^[\s*\-#]*`{{0,2}}{name}`{{0,2}}\s*(?:\([^)]*\)\s*)?[:\-–—][^\n]*?\b(?P<rank>\d)-?(?:D|d|dimensional)\b",)


def documented_ranks(tree: ast.Module, text: str, function: ast.FunctionDef, name: str) -> set[int]:
    """The ranks of a parameter by what is written of it: none, one, or several that contradict each other."""
    if name not in {argument.arg for argument in named_parameters(function)}:
        return set()
    said = "\n".join(_documentation(tree, text, function))
    ranks = {rank for form in _FORMS for rank in _ranks_of_shapes(form.format(name=re.escape(name)), said)}
    ranks |= {
        int(found["rank"]) for form in _WORDS for found in re.finditer(form.format(name=re.escape(name)), said, re.M)
    }
    return ranks


def _ranks_of_shapes(form: str, said: str) -> Iterator[int]:
    for found in re.finditer(form, said, re.M):
        sizes = [part.strip() for part in _split(found["inside"]) if part.strip()]
        words = {word.lower() for word in _SIZE.findall(found["inside"])}
        one_word = len(sizes) == 1 and found["open"] == "(" and "," not in found["inside"]
        if sizes and not words & _NO_SIZES and (not one_word or "shape" in found[0]) and all(map(_is_size, sizes)):
            yield len(sizes)


def _split(inside: str) -> list[str]:
    """The parts between the commas of a shape that stand in no brackets: ``(max(a, b), n)`` has two."""
    parts, depth = [""], 0
    for character in inside:
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _is_size(text: str) -> bool:
    """Is it a number, or computed of names and numbers? Prose has words beside each other, and ``...`` is any rank."""
    return bool(_SIZE.search(text)) and ".." not in text and not re.search(r"\w\s+\w", text)


def _documentation(tree: ast.Module, text: str, function: ast.FunctionDef) -> Iterator[str]:
    """The doc string, and what stands right above the function: strings, and comments."""
    yield ast.get_docstring(function) or ""
    above: list[str] = []
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(name=name) if name == function.name:
                yield from above
            case ast.Expr(value=ast.Constant(value=str(written))):
                above.append(written)
                continue
        above = []
    lines, line = text.split("\n"), first_line(function) - 1
    while 0 < line <= len(lines) and lines[line - 1].lstrip().startswith("#"):
        line -= 1
        yield lines[line]
