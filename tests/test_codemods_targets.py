"""Targets that hold more than names are taken apart one level at a time, and bind what Python binds, in its order."""

from __future__ import annotations

import ast
from random import Random
from types import SimpleNamespace

import pytest
from examples import examples
from first_rung import rewrite
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from nki_migrate.codemods.model import Options
from nki_migrate.codemods.plan.nested_targets import unpacked
from nki_migrate.codemods.syntax.source import Source
from nki_migrate.codemods.syntax.targets import is_of_names
from nki_migrate.guard import objection
from nki_migrate.runtime.cases import TensorSpec

IMPORTS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


"""
NAMES = ("a", "b", "c", "d", "_")
DECORATOR = "@nki.jit\n"


def _target(random: Random, depth: int, element: bool = True) -> str:
    """A target that stands in another one."""
    if depth and random.random() < 0.4:
        return _tuple(random, depth - 1, brackets=random.choice(["()", "[]"]))
    if element and random.random() < 0.25:
        return random.choice(["t[0]", "t[1]", "t[a]", "t[b]", "o.x", "o.y"])
    return random.choice(NAMES)


def _tuple(random: Random, depth: int, brackets: str) -> str:
    parts = [_target(random, depth) for _ in range(random.randint(1, 3))]
    if random.random() < 0.2:
        parts[random.randrange(len(parts))] = "*" + random.choice(NAMES)
    comma = "," if len(parts) == 1 and brackets != "[]" else ""
    return brackets[:1] + ", ".join(parts) + comma + brackets[1:]


def _value(random: Random, target: ast.expr) -> str:
    """What a target can take apart: shown, given by a call, or under a name."""
    if not isinstance(target, ast.Tuple | ast.List):
        return random.choice([*map(str, range(5)), "a", "b", "t[2]"])
    parts = [
        value
        for element in target.elts
        for value in (
            [_value(random, element.value) for _ in range(random.randint(0, 2))]
            if isinstance(element, ast.Starred)
            else [_value(random, element)]
        )
    ]
    shown = f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    return random.choice([shown, shown, f"[{', '.join(parts)}]", f"same({shown})"])


def _statement(random: Random) -> str:
    target = _tuple(random, 2, brackets=random.choice(["", "()", "[]"]))
    tree = ast.parse(f"{target} = 0").body[0]
    assert isinstance(tree, ast.Assign)
    value = _value(random, tree.targets[0])
    match random.randrange(6):
        case 0:
            return f"{random.choice([*NAMES, 't[3]', 'o.x'])} = {target} = {value}"
        case 1:
            last = random.choice(["t[3]", "d", f"{random.choice(NAMES)} = t[3]"])
            return f"{random.choice(NAMES)} = {target} = {last} = {value}"
        case 2:
            return f"given = {value}\n    {target} = given  # taken apart"
        case 3:
            values = ", ".join(_value(random, tree.targets[0]) for _ in range(2))
            return f"for {target} in [{values}]:\n        # one of two\n        t.append(a)\n        t.append(b)"
        case 4:
            return f"for {target} in [{value}]: t.append(a)"
    return f"{target} = {value}" + random.choice(["", "; a = t[0]"])


def _run(function: str) -> object:
    """What a function leaves of its names and of what it changes; how it fails, where it does."""
    values = {"same": lambda value: value}
    exec(function, values)
    t, o = list(range(5)), SimpleNamespace(x=0, y=0)
    try:
        return values["k"](t, o), t, vars(o)
    except (TypeError, ValueError, IndexError) as error:
        return type(error)


@pytest.mark.random
@settings(max_examples=examples(400), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(random=st.randoms(use_true_random=False))
def test_names_are_bound_to_what_python_binds_them_to(random):
    start = "a, b, c, d, _ = 0, 1, 2, 3, 4"
    steps = [start, *(_statement(random) for _ in range(random.randint(1, 3))), "return a, b, c, d, _"]
    function = "def k(t, o):\n" + "".join(f"    {step}\n" for step in steps)
    source = IMPORTS + DECORATOR + function
    note(source)
    text = unpacked({"k.py": Source(source)}, Options())["k.py"].text
    note(text)
    assume(isinstance(before := _run(function), tuple))
    assert _run(text.partition(DECORATOR)[2]) == before
    for node in ast.walk(ast.parse(text)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.For) else []
        assert all(map(is_of_names, targets)) or "*" in function
    assert text.count("#") == source.count("#")


HELPERS = {
    "two(": """\
def two(x, y):
    return nl.add(x, y, dtype=nl.float32), (nl.multiply(x, 2.0, dtype=nl.float32), y)


""",
    "three(": """\
def three(x):
    return nl.exp(x, dtype=nl.float32), nl.multiply(x, 3.0, dtype=nl.float32), x


""",
}
KERNEL = """\
@nki.jit
def k(a):
    out = nl.ndarray((8, 16), dtype=nl.float32, buffer=nl.shared_hbm)
    x = nl.load(a[0:8, 0:16])
    y = nl.load(a[8:16, 0:16])
    rows, f32 = [1.0, 2.0], nl.float32
    scales = [(2.0, (3.0, 1.0)), (5.0, (7.0, 4.0))]
    {body}
    nl.store(out, value=nl.subtract(p, q, dtype=nl.float32))
    return out
"""


def kernel(body: str) -> str:
    helpers = [text for name, text in HELPERS.items() if name in body]
    return IMPORTS + "".join(helpers) + KERNEL.replace("{body}", body)


@pytest.mark.parametrize(
    "body",
    [
        "s, (p, q) = two(x, y)",
        "(s, [p, q]) = two(x, y)",
        "[p, t] = two(x, y)\n    _, q = t",
        "p, (_, (q, n)) = nl.exp(x, dtype=nl.float32), (1, (y, 2))",
        "p, *t = three(x)\n    q = y",
        "*t, p = three(x)\n    q = y",
        "p, *_, q = three(x)",
        "t = three(x)\n    q, *u, p = t",
        "p, [q, *t] = x, (y, 1, 2)",
        "both = s, (p, q) = two(x, y)",
        "p = y\n    for f, (g, h) in scales:\n        p = nl.multiply(p, f + g * h, dtype=f32)\n    q = x",
        "p = y\n    for f, [*g] in scales: p = nl.multiply(p, f + g[0] * g[1], dtype=f32)\n    q = x",
        "p = y\n    for i, (f, (g, _)) in enumerate(scales):\n        p = nl.multiply(p, f * g, dtype=f32)\n    q = x",
        "rows[1], (n, m) = scales[0]\n    p, q = x, nl.multiply(y, rows[1] + m, dtype=f32)",
        "w = [f * h for f, (g, h) in scales]\n    p, q = x, nl.multiply(y, w[0] + w[1], dtype=f32)",
        "w = [v * h for [f, [g, h]], v in zip(scales, rows)]\n    p, q = x, nl.multiply(y, w[1], dtype=f32)",
    ],
)
def test_tiles_are_taken_apart(migrate, body):
    migration = migrate(kernel(body), {"a": TensorSpec((16, 16), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("t = two(x, y)\n    p, q, n, *u = t", "a starred target of more elements than there are"),
        ("p, *q = x", "a starred target of an assignment"),
        ("p = q = x\n    w = [f for f, *g in scales]", "a comprehension with a starred target"),
    ],
)
def test_one_finding_says_what_is_left(body, message):
    source = kernel(body)
    outcome = rewrite(source)
    assert message in [finding.message for finding in outcome.findings]
    assert objection(source, outcome, Options(), "k.py", rewrite) is None


def test_code_of_the_host_is_left():
    host = "def launch(x):\n    a, (b, c) = x\n    return a\n\n\n"
    outcome = rewrite(kernel("p, (q, n) = x, (y, 1)").replace(IMPORTS, IMPORTS + host))
    assert host in outcome.source
    assert "    p = x\n    q = y\n    n = 1\n" in outcome.source


@pytest.mark.parametrize("statement", ["(p, f), mask = places(n)", "both, mask = places(n)\n    p, f = both"])
def test_index_vectors_in_a_tuple_in_a_tuple_are_one_finding(statement):
    places = """\
def places(n):
    i_p = nl.arange(8)[:, None]
    i_f = nl.arange(16)[None, :]
    return (i_p, i_f), i_p < n


"""
    body = f"n = a.shape[0] - 8\n    {statement}\n    p, q = nl.load(a[p, f], mask=mask), x"
    source = IMPORTS + places + KERNEL.replace("{body}", body)
    outcome = rewrite(source)
    said = [f.message for f in outcome.findings if f.line == source[: source.index(statement)].count("\n") + 1]
    assert said == ["'places' returns index vectors, and a tuple in a tuple"]
    assert objection(source, outcome, Options(), "k.py", rewrite) is None


def test_index_vectors_that_are_shown_are_bound_one_by_one(migrate):
    vectors = "(i, f), (p, q) = (nl.arange(8)[:, None], nl.arange(16)[None, :]), (x, y)"
    source = IMPORTS + KERNEL.replace("{body}", f"{vectors}\n    q = nl.load(a[i, f])")
    migration = migrate(source, {"a": TensorSpec((16, 16), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
