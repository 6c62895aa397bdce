"""What docstrings, and comments at the head of a function, say of parameters: shapes, kinds, the line of each."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence

Dim = str | int
"""A size, a name of one (``K``), or an expression of names (``H + 4``)."""
_SHAPE = r"[\(\[]\s*(\w[\w\s+*/\-]*(?:,\s*\w[\w\s+*/\-]*)*),?\s*[\)\]]"
_NAMES = r"\w+(?:[`'\"]*\s*(?:,|/|&|\band\b)\s*[`'\"]*\w+)*"
_KINDS: tuple[tuple[str, object], ...] = (
    (r"bool(ean)?|flag", False),
    (r"float(ing)?", 1.0),
    (r"int(eger)?", 2),
)
"""Words of a docstring for a parameter, and a value of that kind."""
_OF_TENSORS = r"tensors?|arrays?|matri\w+|vectors?|tiles?|shape\w*"


def described(text: bytes, file: str) -> ast.Module:
    """The tree of a file in which the comments at the head of a function are a part of its docstring.

    The head ends where the first statement behind the docstring does. ``x,  # [B, H]`` is read as ``x: [B, H]``.
    """
    tree = ast.parse(text, file)
    tokens = tokenize.tokenize(io.BytesIO(text).readline)
    comments = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    for function in ast.walk(tree):
        if comments and isinstance(function, ast.FunctionDef):
            said = list(_head_comments(function, comments))
            told = ast.get_docstring(function)
            if said:
                text_of = ast.Expr(ast.Constant("\n".join([*([told] if told else []), *said])))
                function.body[: 1 if told else 0] = [ast.copy_location(text_of, function.body[0])]
                ast.fix_missing_locations(text_of)
    return tree


def _head_comments(function: ast.FunctionDef, comments: Mapping[int, str]) -> Iterator[str]:
    first = next((s for s in function.body if not isinstance(s, ast.Expr)), function.body[-1])
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    for line in range(function.lineno, first.lineno + 1):
        if line in comments:
            named = [each.arg for each in arguments if each.lineno == line]
            yield f"{named[0]}: {comments[line]}" if len(named) == 1 else comments[line]


def docstrings(tree: ast.Module, kernel: ast.FunctionDef) -> list[str]:
    """The docstring of a kernel, those of the functions of the file that it refers to, and the texts of the module."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    text = ast.get_docstring(kernel) or ""
    named = [word for word in dict.fromkeys(re.findall(r"\w+", text)) if word in functions and word != kernel.name]
    plain = (node.value for node in tree.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    texts = [value.value for value in plain if isinstance(value.value, str)]
    return [text, *(ast.get_docstring(functions[name]) or "" for name in named), *texts]


def documented_shapes(texts: Sequence[str], names: Sequence[str]) -> dict[str, list[Dim]]:
    """Shapes that docstrings give right behind names of parameters, or in a line that begins with one, or below it."""
    found: dict[str, list[Dim]] = {}
    for name, shape in _named_shapes(texts, names):
        found.setdefault(name, _dims(shape))
    for name, text in _blocks(texts, names):
        shape = next((text for text in re.findall(_SHAPE, text) if _is_shape(text)), "")
        if shape:
            found.setdefault(name, _dims(shape))
    return found


def _named_shapes(texts: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """``q [H, D], k and v: (H, D, S)``, anywhere in a text: each name, and the shape behind it."""
    for text in texts:
        for match in re.finditer(rf"(?<![\w.])({_NAMES})[`'\"]*\s*[:=]?\s*{_SHAPE}", text):
            named = [each for each in re.findall(r"\w+", match[1]) if each != "and"]
            if all(each in names for each in named) and _is_shape(match[2]):
                yield from ((each, match[2]) for each in named)


def _dims(shape: str) -> list[Dim]:
    return [_dim(part.strip()) for part in shape.split(",") if part.strip()]


def _blocks(texts: Sequence[str], names: Sequence[str]) -> list[tuple[str, str]]:
    """The lines that begin with the name of a parameter, each with those behind it that are indented more."""
    found: list[tuple[str, str]] = []
    indent = 0
    for line in (line for text in texts for line in (*text.splitlines(), "")):
        match = re.match(r"[\s\-*:]*(?:param\s+)?[`'\"]*(\w+)", line)
        margin = len(line) - len(line.lstrip())
        if match and match[1] in names:
            found.append((match[1], line[match.end() :]))
            indent = margin
        elif line.strip() and found and margin > indent:
            found[-1] = found[-1][0], f"{found[-1][1]} {line.strip()}"
        else:
            indent = 1 << 30
    return found


def _is_shape(text: str) -> bool:
    """Is ``B, S, H + 4`` a shape, and no remark in parentheses?"""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return ("," in text or text.strip().isdigit()) and all(_is_size(part) for part in parts)


def _is_size(text: str) -> bool:
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return False
    return all(isinstance(n, (ast.Name, ast.Constant, ast.BinOp, ast.operator, ast.Load)) for n in ast.walk(node))


def _dim(text: str) -> Dim:
    return int(text) if text.isdigit() else text


def documented_kinds(texts: Sequence[str], names: Sequence[str]) -> dict[str, object]:
    """A value for each parameter that the docstring calls a number or a truth value."""
    found: dict[str, object] = {}
    for name, line in documented_lines(texts, names).items():
        head = re.split(r"[.;]\s", line, maxsplit=1)[0].lower()
        kind = next((value for words, value in _KINDS if re.search(rf"\b({words})\b", head)), None)
        if kind is not None and not re.search(rf"\b({_OF_TENSORS})\b", head):
            found[name] = kind
    return found


def documented_lines(texts: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """What docstrings say behind the name of a parameter, the first of them that does."""
    found: dict[str, str] = {}
    for name, text in _blocks(texts, names):
        if re.match(r"[`'\"]*\s*[:(\-–]", text):
            found.setdefault(name, text)
    return found
