"""Source expressions as values: whatever the codemods write or prove about an expression, Python agrees.

Random expressions are evaluated by Python on random numbers, before and after each operation on their text.
"""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.codemods.expr import algebra
from nki_migrate.codemods.syntax.nodes import with_names

NAMES = ("a", "b", "n", "size")
VALUES = st.fixed_dictionaries({name: st.integers(-9, 40) for name in NAMES})
DIVISORS = st.sampled_from(("1", "2", "3", "7", "(-4)", "64"))


def _join(parts: tuple[str, str, str]) -> str:
    left, operator, right = parts
    return f"{left} {operator} {right}"


def _bracketed(text: str) -> str:
    return f"({text})"


ATOMS = st.one_of(st.sampled_from(NAMES), st.integers(0, 130).map(str), st.sampled_from(("0", "1", "-1", "-7")))
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(("+", "-", "*")), inner).map(_join),
        st.tuples(inner.map(_bracketed), st.sampled_from(("//", "%")), DIVISORS).map(_join),
        inner.map(lambda e: f"-({e})"),
        inner.map(_bracketed),
        st.tuples(inner, inner).map(lambda pair: f"min({pair[0]}, {pair[1]})"),
        st.tuples(inner, inner, inner).map(lambda e: f"(({e[0]}) if ({e[1]}) > a else ({e[2]}))"),
        st.tuples(inner, inner).map(lambda e: f"({e[0]}) if n > 3 else ({e[1]})"),
    ),
    max_leaves=8,
)


def value(text: str, names: dict[str, int]) -> int:
    return eval(text, {"min": min}, dict(names))  # arithmetic on the names above, nothing else


def defined(definitions: dict[str, str], names: dict[str, int]) -> dict[str, int]:
    """The values of the names once each definition has been executed."""
    values = dict(names)
    for name, text in definitions.items():
        values[name] = value(text, values)
    return values


# A definition reads only names that stand before it, as an assignment in a function would.
DEFINITIONS = st.fixed_dictionaries(
    {},
    optional={
        "n": st.sampled_from(("5", "a", "a + b", "2 * (a - b)", "a // 3", "min(a, 4)", "-a")),
        "size": st.sampled_from(("128", "n", "n * n - 1", "b % 7", "n + a")),
    },
).map(lambda chosen: {name: chosen[name] for name in ("n", "size") if name in chosen})


@given(EXPRESSIONS, DEFINITIONS, VALUES)
def test_the_normal_form_has_the_value_of_the_expression(text, definitions, names):
    values = defined(definitions, names)
    assert value(algebra.show(algebra.normal(text, definitions)), values) == value(text, values)


@given(EXPRESSIONS, EXPRESSIONS, DEFINITIONS, VALUES)
def test_what_is_proved_equal_is_equal(first, second, definitions, names):
    values = defined(definitions, names)
    if algebra.equal(first, second, definitions):
        assert value(first, values) == value(second, values)


@given(EXPRESSIONS, EXPRESSIONS, EXPRESSIONS)
def test_sums_and_products_in_any_order_are_proved_equal(a, b, c):
    left = f"({a}) * (({b}) + ({c}))"
    assert algebra.equal(left, f"({c}) * ({a}) + ({b}) * ({a})", {})
    assert algebra.equal(f"({a}) - (({b}) - ({c}))", f"({c}) + ({a}) - ({b})", {})


@given(EXPRESSIONS, DEFINITIONS, VALUES)
def test_a_constant_is_the_value_whatever_the_names_are(text, definitions, names):
    constant = algebra.constant(text, definitions)
    if constant is not None:
        assert value(text, defined(definitions, names)) == constant


@given(st.lists(EXPRESSIONS, min_size=1, max_size=4), VALUES)
def test_add_writes_the_sum(terms, names):
    assert value(algebra.add(*terms), names) == sum(value(term, names) for term in terms)


@given(st.lists(EXPRESSIONS, min_size=1, max_size=4), VALUES)
def test_multiply_writes_the_product(factors, names):
    product = 1
    for factor in factors:
        product *= value(factor, names)
    assert value(algebra.multiply(*factors), names) == product


@given(EXPRESSIONS, EXPRESSIONS, VALUES)
def test_subtract_writes_the_difference(a, b, names):
    assert value(algebra.subtract(a, b), names) == value(a, names) - value(b, names)


@given(EXPRESSIONS, DIVISORS, VALUES)
def test_modulo_writes_the_remainder(a, divisor, names):
    assert value(algebra.modulo(a, divisor), names) == value(a, names) % value(divisor, names)


@given(EXPRESSIONS, VALUES, st.sampled_from(("* 3", "- 1", "// 2", "% 5", "** 2")))
def test_what_paren_returns_stands_beside_any_operator(text, names, operator):
    assert value(f"{algebra.paren(text)} {operator}", names) == value(f"({text}) {operator}", names)
    assert value(f"7 - {algebra.paren(text)}", names) == 7 - value(text, names)


@settings(max_examples=50)
@given(EXPRESSIONS)
def test_names_are_the_names_that_python_reads(text):
    loads = {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}
    assert algebra.names(text) == loads


@pytest.mark.parametrize("text", ["a / 2", "a // n", "f(a)", "x.shape[0]", "a << 2", "True", "0.5"])
def test_what_is_no_polynomial_is_equal_to_itself_alone(text):
    assert algebra.equal(text, text, {})
    assert not algebra.equal(text, f"{text} + 1", {})
    assert algebra.constant(text, {}) is None


def test_a_definition_that_reads_its_own_name_ends():
    assert algebra.constant("n", {"n": "n + 1"}) is None


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("1", "2", "1 if f else 2"),
        ("1", "1 if f else 2", "1 if f else 2"),
        ("1 if f else 3", "2", "1 if f else 2"),
        ("(1 if f else 3) if f else 4", "5 if f else (6 if f else 2)", "1 if f else 2"),
        ("1", "3 if f else 1", "1"),
        ("1", "1 if g else 2", "1 if f else (1 if g else 2)"),
    ],
)
def test_a_choice_asks_its_condition_once(one: str, other: str, shown: str) -> None:
    assert algebra.choice("f", one, other) == shown


@pytest.mark.parametrize(
    ("terms", "written"),
    [
        (("n - 1", "1"), "n"),
        (("-128 * i + 10943", "1"), "-128 * i + 10944"),
        (("n - 3", "1"), "n - 2"),
        (("n // 2 - 1", "m", "1"), "n // 2 + m"),
        (("(a if c else b) - 1", "m", "1"), "(a if c else b) + m"),
    ],
)
def test_add_folds_the_literal_that_a_term_ends_with(terms: tuple[str, ...], written: str) -> None:
    assert algebra.add(*terms) == written


@given(EXPRESSIONS, DEFINITIONS)
def test_names_are_put_into_a_copy(text: str, meant: dict[str, str]) -> None:
    """What is parsed once is read by all who ask for the text."""
    shared = algebra.parse(text)
    before = ast.dump(shared)
    named = with_names(shared, lambda name: algebra.parse(meant[name]) if name in meant else None)
    assert ast.dump(shared) == before
    algebra.normal(text, meant)
    assert ast.dump(shared) == before == ast.dump(ast.parse(f"({text})", mode="eval").body)
    read = algebra.names(text)
    given = (algebra.names(definition) for name, definition in meant.items() if name in read)
    assert algebra.names(ast.unparse(named)) == (read - meant.keys()).union(*given)


QUOTIENTS = st.recursive(
    st.sampled_from(("n", "1", "a", "n // 2", "n // 4", "n // 8", "n // 1")),
    lambda inner: st.tuples(inner.map(_bracketed), st.sampled_from(("+", "-", "*")), inner.map(_bracketed)).map(_join),
    max_leaves=7,
)


@settings(max_examples=400)
@given(QUOTIENTS, QUOTIENTS, VALUES)
def test_what_is_proved_equal_of_a_multiple_is_equal(first, second, names):
    names = names | {"n": names["n"] * 8}
    if algebra.equal(first, second, {}, algebra.Told((("n", "8"),))):
        assert value(first, names) == value(second, names)


@pytest.mark.parametrize(
    ("first", "second", "size", "is_equal"),
    [
        ("n - n // 2", "n // 2", "2", True),
        ("n - n // 2", "n // 2", "128", True),
        ("n - h", "h", "128", True),
        ("n // 4 + n // 2 + n // 4", "n", "8", True),
        ("2 * (n // 2) * a", "a * n", "size", True),
        ("n - n // 2", "n // 2", "3", False),
        ("n - n // 3", "2 * (n // 3)", "128", False),
        ("n - b // 2", "b // 2", "128", False),
        ("n - n // 2", "n // 2", "b", False),
    ],
)
def test_halves_of_an_even_number_are_equal(first, second, size, is_equal):
    definitions = {"h": "n // 2", "size": "64"}
    assert algebra.equal(first, second, definitions, algebra.Told((("n", size),))) == is_equal
    assert not algebra.equal(first, second, definitions)


def test_sizes_that_are_told_to_be_equal_are():
    told = algebra.Told(alike={"y.shape[0]": "x.shape[1]", "z.shape[0]": "n"})
    assert algebra.equal("2 * y.shape[0]", "x.shape[1] + y.shape[0]", {}, told)
    assert algebra.equal("z.shape[0] - 1", "m - 1", {"m": "n"}, told)
    assert not algebra.equal("y.shape[0]", "z.shape[0]", {}, told)
    assert not algebra.equal("y.shape[0]", "x.shape[1]", {})
