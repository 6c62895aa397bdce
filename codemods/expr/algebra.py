"""Source expressions as values: are two of them equal, is one a number, how do they add up?

Sizes in real kernels are names, not literals. Everything here works on the *text* of expressions. Names are expanded
through ``definitions`` (names that a function assigns exactly once), so ``fmax`` and ``512`` can be proved equal.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from ..syntax.node_index import walk
from ..syntax.nodes import with_names

Definitions = Mapping[str, str]
Monomial = tuple[str, ...]
Polynomial = dict[Monomial, int]

_MAX_DEPTH = 12


@dataclass(frozen=True)
class Told:
    """What a function asserts of sizes, always.

    Of each pair of ``multiples`` the second divides the first. ``alike`` are names of numbers and sizes of tensors,
    ``x.shape[1]``, with what they equal. (They are no definitions: 4 equals 4.0.)
    """

    multiples: tuple[tuple[str, str], ...] = ()
    alike: Mapping[str, str] = field(default_factory=dict)


@lru_cache(maxsize=65536)
def parse(text: str) -> ast.expr:
    return ast.parse(f"({text})", mode="eval").body


def normal(text: str, definitions: Definitions, depth: int = 0) -> Polynomial:
    """``text`` as a polynomial with integer coefficients over atoms (names and what cannot be expanded)."""
    return dict(_known_normal(text, _reached(text, definitions), depth))


def _reached(text: str, definitions: Definitions) -> tuple[tuple[str, str], ...]:
    """The definitions that an expression is expanded by: those of its names, and of the names in them."""
    found: dict[str, str] = {}
    pending = [text]
    for each in pending:  # grows as it is read
        for name in names(each):
            if name in definitions and name not in found:
                found[name] = definitions[name]
                pending.append(definitions[name])
    return tuple(sorted(found.items()))


@lru_cache(maxsize=65536)
def _known_normal(text: str, definitions: tuple[tuple[str, str], ...], depth: int) -> Polynomial:
    return _normal(parse(text), dict(definitions), depth)


def _normal(node: ast.expr, definitions: Definitions, depth: int) -> Polynomial:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return {(): node.value} if node.value else {}
    if isinstance(node, ast.Name) and node.id in definitions and depth < _MAX_DEPTH:
        return normal(definitions[node.id], definitions, depth + 1)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _scale(_normal(node.operand, definitions, depth), -1)
    if isinstance(node, ast.BinOp):
        left, right = _normal(node.left, definitions, depth), _normal(node.right, definitions, depth)
        if isinstance(node.op, ast.Add):
            return _sum(left, right)
        if isinstance(node.op, ast.Sub):
            return _sum(left, _scale(right, -1))
        if isinstance(node.op, ast.Mult):
            return _product(left, right)
        if isinstance(node.op, ast.FloorDiv | ast.Mod) and set(left) | set(right) <= {()} and right.get(()):
            a, b = left.get((), 0), right[()]
            return _constant(a // b if isinstance(node.op, ast.FloorDiv) else a % b)
    return {(_atom(node, definitions, depth),): 1}


def _atom(node: ast.expr, definitions: Definitions, depth: int) -> str:
    """Canonical text of an expression that is not a polynomial: its parts are expanded, its shape is kept."""
    text = ast.unparse(node)
    if isinstance(node, ast.Name | ast.Constant) or depth >= _MAX_DEPTH or names(text).isdisjoint(definitions):
        return text

    def defined(name: str) -> ast.expr | None:
        return parse(show(normal(name, definitions, depth + 1))) if name in definitions else None

    return ast.unparse(with_names(parse(text), defined))


def show(polynomial: Polynomial) -> str:
    """A polynomial as source text, in a fixed order."""
    if not polynomial:
        return "0"
    terms = []
    for monomial, coefficient in sorted(polynomial.items()):
        factors = [str(coefficient), *monomial] if coefficient != 1 or not monomial else list(monomial)
        terms.append(" * ".join(paren(factor) for factor in factors))
    return " + ".join(terms)


def _constant(value: int) -> Polynomial:
    return {(): value} if value else {}


def _sum(a: Polynomial, b: Polynomial) -> Polynomial:
    total = dict(a)
    for monomial, coefficient in b.items():
        total[monomial] = total.get(monomial, 0) + coefficient
    return {m: c for m, c in total.items() if c}


def _scale(a: Polynomial, factor: int) -> Polynomial:
    return {m: c * factor for m, c in a.items()}


def _product(a: Polynomial, b: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for m1, c1 in a.items():
        for m2, c2 in b.items():
            total = _sum(total, {tuple(sorted(m1 + m2)): c1 * c2})
    return total


def total(a: Polynomial, b: Polynomial) -> Polynomial:
    """The sum of two polynomials."""
    return _sum(a, b)


def equal(a: str, b: str, definitions: Definitions, told: Told | None = None) -> bool:
    """Are two expressions provably equal, by what the source asserts of sizes, too? ``False`` means *not proved*."""
    if a == b:
        return True
    first, second = normal(a, definitions), normal(b, definitions)
    if first == second or told is None:
        return first == second
    difference = _with_alike(_sum(first, _scale(second, -1)), definitions, told.alike)
    return not difference or not _without_quotients(difference, definitions, told)


def _with_alike(polynomial: Polynomial, definitions: Definitions, alike: Mapping[str, str]) -> Polynomial:
    """A polynomial with one of the sizes that are equal in place of all of them."""
    if not any(atom in alike for monomial in polynomial for atom in monomial):
        return polynomial
    result: Polynomial = {}
    for monomial, coefficient in polynomial.items():
        product = _constant(coefficient)
        for atom in monomial:
            product = _product(product, normal(alike[atom], definitions) if atom in alike else {(atom,): 1})
        result = _sum(result, product)
    return result


def _without_quotients(polynomial: Polynomial, definitions: Definitions, told: Told) -> Polynomial:
    """A multiple of ``polynomial`` without quotients that are whole: ``n - 2 * (n // 2)`` of an even ``n`` is 0."""
    for atom in {atom for monomial in polynomial for atom in monomial}:
        node = parse(atom)
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)):
            continue
        whole, divisor = ast.unparse(node.left), constant(ast.unparse(node.right), definitions)
        divides = divisor is not None and any(
            (constant(size, definitions) or 1) % divisor == 0 and equal(whole, of, definitions, Told(alike=told.alike))
            for of, size in told.multiples
        )
        if divisor is None or divisor < 1 or not divides or any(m.count(atom) > 1 for m in polynomial):
            continue
        scaled: Polynomial = {}
        numerator = _with_alike(normal(whole, definitions), definitions, told.alike)
        for monomial, coefficient in polynomial.items():
            rest = tuple(each for each in monomial if each != atom)
            factor = numerator if atom in monomial else _constant(divisor)
            scaled = _sum(scaled, _product({rest: coefficient}, factor))
        polynomial = scaled
    return polynomial


def constant(text: str, definitions: Definitions) -> int | None:
    """The integer that an expression is, or ``None`` where that cannot be seen."""
    polynomial = normal(text, definitions)
    return polynomial.get((), 0) if set(polynomial) <= {()} else None


def has_quotient(text: str, definitions: Definitions) -> bool:
    """Is a quotient (``/``), which may be no integer, one of the terms or factors of an expression?"""
    atoms = (parse(atom) for monomial in normal(text, definitions) for atom in monomial)
    return any(isinstance(atom, ast.BinOp) and isinstance(atom.op, ast.Div) for atom in atoms)


@lru_cache(1 << 14)
def names(text: str) -> frozenset[str]:
    """Every name that an expression reads."""
    return frozenset(node.id for node in walk(parse(text)) if isinstance(node, ast.Name))


def paren(text: str) -> str:
    """``text`` so that any operator may stand beside it."""
    node = parse(text)
    simple = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Tuple | ast.List
    if isinstance(node, ast.Constant):
        return text
    return text if isinstance(node, simple) else f"({text})"


def is_negative(text: str) -> bool:
    """Does the sign in front of an expression stand for all of it (``-n``, not ``-n + 1``)?"""
    node = parse(text)
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def negative(text: str) -> str:
    """``-text``, without its sign where it has one."""
    node = parse(text)
    return ast.unparse(node.operand) if isinstance(node, ast.UnaryOp) and is_negative(text) else f"-{paren(text)}"


def choice(test: str, one: str, other: str) -> str:
    """``one if test else other``, where neither asks ``test`` again."""
    one, other = _side(test, one, True), _side(test, other, False)
    if one == other:
        return one
    condition = f"({test})" if isinstance(parse(test), ast.IfExp) else test
    return f"{paren(one)} if {condition} else {paren(other)}"


def _side(test: str, text: str, holds: bool) -> str:
    """What an expression is where ``test`` holds, or does not, if it is a choice by the same test."""
    node = parse(text)
    while isinstance(node, ast.IfExp) and ast.dump(node.test) == ast.dump(parse(test)):
        node = node.body if holds else node.orelse
    return text if node is parse(text) else ast.unparse(node)


def _factor(text: str) -> str:
    """``text`` so that it can stand in a product."""
    node = parse(text)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return text
    return paren(text)


def add(*terms: str) -> str:
    """Sum of expressions, zeros dropped, literals folded, also the one that a term ends with."""
    kept = [term for term in terms if term != "0"]
    literals = [int(term) for term in kept if term.isdigit()]
    if len(literals) > 1:
        kept = [*[term for term in kept if not term.isdigit()], str(sum(literals))]
    if literals and len(kept) > 1:
        kept = _with_last_literal(kept, sum(literals))
    if len(kept) < 2:
        return kept[0] if kept else "0"
    return " + ".join(term if _is_sum(term) else _term(term) for term in kept)


def _with_last_literal(terms: list[str], literal: int) -> list[str]:
    """``n - 1`` and ``1`` are ``n``: the literal that a term ends with takes in the one that stands alone."""
    for at, term in enumerate(terms):
        node = parse(term)
        last = node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) else None
        if not isinstance(node, ast.BinOp) or not isinstance(last, ast.Constant) or type(last.value) is not int:
            continue
        number = literal + (last.value if isinstance(node.op, ast.Add) else -last.value)
        left = ast.unparse(node.left)
        sign = "+" if number > 0 else "-"
        whole = f"{left if _is_sum(left) else _term(left)} {sign} {abs(number)}" if number else left
        return [whole if i == at else other for i, other in enumerate(terms) if not other.isdigit()]
    return terms


def _is_sum(text: str) -> bool:
    node = parse(text)
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


def _term(text: str) -> str:
    node = parse(text)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.FloorDiv | ast.Mod | ast.Div):
        return text
    return paren(text)


def subtract(a: str, b: str) -> str:
    """``a - b``, simplified where one of them is 0, ``b`` is negative, or both are literals."""
    if b == "0":
        return a
    node = parse(b)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return add(a, ast.unparse(node.operand))
    if a == "0":
        return f"-{paren(b)}"
    if a.isdigit() and b.isdigit():
        return str(int(a) - int(b))
    left = a if _is_sum(a) else _term(a)
    return f"{left} - {paren(b) if _is_sum(b) else _term(b)}"


def difference(a: str, b: str, definitions: Definitions) -> str:
    """``a - b`` in as few names as possible: what cancels goes, and for that the last names are expanded first."""
    order = list(definitions)
    polynomial = normal(f"({a}) - ({b})", {})
    for _ in range(_MAX_DEPTH):
        defined = [name for name in names(show(polynomial)) if name in definitions]
        if len(polynomial) < 2 or not defined:
            break
        last = max(defined, key=order.index)
        polynomial = normal(show(polynomial), {last: definitions[last]})
    if len(polynomial) > 1:
        return subtract(a, b)
    return "1" if constant(show(polynomial), definitions) == 1 else show(polynomial)


def increment(text: str) -> str:
    """``text + 1``: ``n`` for ``n - 1``."""
    return add(text, "1")


def multiply(*factors: str) -> str:
    """Product of expressions, ones dropped, literals folded."""
    if "0" in factors:
        return "0"
    kept = [factor for factor in factors if factor != "1"]
    literals = [int(factor) for factor in kept if factor.isdigit()]
    if len(literals) > 1:
        product = 1
        for literal in literals:
            product *= literal
        kept = [*[factor for factor in kept if not factor.isdigit()], str(product)]
    if not kept:
        return "1"
    if len(kept) == 1:
        return kept[0]
    return " * ".join(_factor(factor) if i == 0 else paren(factor) for i, factor in enumerate(kept))


def modulo(a: str, b: str) -> str:
    return f"{_factor(a)} % {paren(b)}"
