"""What black writes for the statements that rules write most: simple ones, and calls whose arguments fill lines.

Black needs a hundred times as long as Python to read a statement, and a rewrite writes thousands: it was a tenth of the
time of a run. Each answer here is black's, or none; the tests ask black for the same.
"""

from __future__ import annotations

import ast
import re

_INDENT = 4
_WRITTEN_OTHERWISE = ("\n", "\t", "#", "**", ",]", ", =", "\\")
_WRITTEN_ALIKE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Assert, ast.Return, ast.Import, ast.ImportFrom)
_Element = ast.expr | ast.keyword


def broken(text: str, width: int) -> str:
    """The lines of one simple statement, without the last line end; empty where black has to be asked."""
    line = _one_line(text)
    if not line or len(line) <= width:
        return line
    value = _value(line)
    return "\n".join(_lines(line, value, 0, "", width) if isinstance(value, ast.Call) else [])


def by_arguments(text: str, width: int) -> list[list[str]]:
    """A call whose arguments stand on lines of their own: its first line, those of each argument, and its last.

    Empty for other statements, and where black has to be asked.
    """
    line = _one_line(text)
    value = _value(line) if line else None
    elements = _elements(value) if isinstance(value, ast.Call) else []
    if not elements:
        return []
    parts = [_element_lines(line, element, ",", width, _INDENT) for element in elements]
    return [[line[: elements[0].col_offset]], *parts, [")"]] if all(parts) else []


def _value(line: str) -> ast.expr | None:
    """What a statement evaluates, or assigns to names."""
    statement = ast.parse(line).body[0]
    if isinstance(statement, ast.Assign) and not all(isinstance(target, ast.Name) for target in statement.targets):
        return None
    return statement.value if isinstance(statement, ast.Expr | ast.Assign) else None


def _one_line(text: str) -> str:
    """A simple statement with the blanks that black sets, on one line; empty where that cannot be told.

    Python writes a tree with the same blanks, but for ``**``, for parts of a slice that are expressions, and for tuples
    of one; ``1e30`` has a sign there.
    """
    if any(part in text for part in _WRITTEN_OTHERWISE) or not text.isascii():
        return ""
    tree = ast.parse(text)
    if len(tree.body) != 1 or not isinstance(tree.body[0], _WRITTEN_ALIKE) or _is_docstring(tree.body[0]):
        return ""
    line = re.sub(r"(?<=\d)e\+(?=\d)", "e", ast.unparse(tree))
    if line != text:
        if _joined(line) != _joined(text):
            return ""
        line = _with_quotes_of(text, line)
    return _with_blanks_in_slices(line) if line and ":" in line else line


def _joined(text: str) -> str:
    return re.sub(r"(?<=\d)e\+(?=\d)", "e", re.sub(r"\s", "", text)).replace("'", '"')


def _with_quotes_of(text: str, line: str) -> str:
    """The line, which is the text but for quotes and blanks, with the text's quotes; empty where both are others."""
    if "'" not in text and "'" not in line:
        return line
    return text if line.replace("'", '"') == text.replace("'", '"') else ""


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _with_blanks_in_slices(line: str) -> str:
    """Black sets a blank on each side of the colon of a slice, next to a bound, where a bound is an expression.

    Empty where black has to be asked.
    """
    slices = [node for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Slice)]
    blanks: list[int] = []
    for node in slices:
        if not any(map(_is_expression, (node.lower, node.upper, node.step))):
            continue
        if node.step is not None or re.search("f['\"]", line, re.IGNORECASE):
            return ""  # a tree does not say where in a format string a slice stands
        colon = (node.lower.end_col_offset or 0) if node.lower is not None else (node.upper or node).col_offset - 1
        if line[colon] != ":":
            return ""
        blanks += [colon] if node.lower is not None else []
        blanks += [colon + 1] if node.upper is not None else []
    for at in sorted(blanks, reverse=True):
        line = f"{line[:at]} {line[at:]}"
    return line


def _is_expression(bound: ast.expr | None) -> bool:
    bound = bound.operand if isinstance(bound, ast.UnaryOp) and not isinstance(bound.op, ast.Not) else bound
    return bound is not None and not isinstance(bound, ast.Name | ast.Constant)


def _lines(line: str, value: ast.expr, start: int, behind: str, width: int, indent: int = 0) -> list[str]:
    """The lines of ``line[start:]`` up to the end of a call or a list, which is too long for one; ``behind`` follows.

    What stands in the bracket is on one line, or on a line each, with a comma behind each of several. Elements of a
    list are always on a line each. None for another value.
    """
    elements = _elements(value)
    end = value.end_col_offset or 0
    if not elements:
        return []
    first, last = elements[0].col_offset, elements[-1].end_col_offset or 0
    if line[first - 1] not in "([" or line[last:end] not in (")", "]"):
        return []
    head = " " * indent + line[start:first]
    tail = " " * indent + line[last:end] + behind
    inner = indent + _INDENT
    if len(head) > width:
        return []
    is_together = not isinstance(value, ast.List) or len(elements) == 1
    if is_together and inner + last - first <= width:
        return [head, " " * inner + line[first:last], tail]
    comma = "," if len(elements) > 1 else ""
    parts = [_element_lines(line, element, comma, width, inner) for element in elements]
    return [head, *(each for part in parts for each in part), tail] if all(parts) else []


def _element_lines(line: str, element: _Element, behind: str, width: int, indent: int) -> list[str]:
    """The lines of one argument or element; none where black has to be asked."""
    start, end = element.col_offset, element.end_col_offset or 0
    if indent + end - start + len(behind) <= width:
        return [f"{' ' * indent}{line[start:end]}{behind}"]
    return _lines(line, element.value if isinstance(element, ast.keyword) else element, start, behind, width, indent)


def _elements(value: ast.expr) -> list[_Element]:
    """What stands in the brackets of a call of a name or of a method of one, of a list, and of a subscript of a name.

    None where anything of it has a star.
    """
    match value:
        case ast.Call(func=ast.Name() | ast.Attribute(value=ast.Name())):
            found: list[_Element] = [*value.args, *value.keywords]
        case ast.List(elts):
            found = [*elts]
        case ast.Subscript(ast.Name() | ast.Subscript(ast.Name()), ast.Tuple(elts)):
            found = [*elts]
        case _:
            return []
    stars = any(isinstance(each, ast.Starred) or (isinstance(each, ast.keyword) and each.arg is None) for each in found)
    return [] if stars else found
