"""Loops over tensors that are written out: the kernel does the same calls in the same order, or the loop is left."""

from __future__ import annotations

import random
import warnings
from types import SimpleNamespace
from typing import Any

import pytest
from first_rung import Options, rewrite
from nki_migrate.codemods.plan.unrolling import unrolled
from nki_migrate.codemods.syntax.source import Source
from nki_migrate.runtime.cases import TensorSpec

IMPORTS = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n"
KERNEL = IMPORTS + """

@nki.jit
def k(a, b, c, n=3, d=None):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    total = nl.load(a)
    {before}
    for {target} in {iterable}:{comment}
{body}
    {behind}
    nl.store(out, total)
    return out
"""


def kernel(target: str, iterable: str, body: str, before: str = "pass", behind: str = "pass", comment: str = "") -> str:
    indented = "\n".join(f"        {line}" for line in body.split("\n"))
    return KERNEL.format(target=target, iterable=iterable, body=indented, before=before, behind=behind, comment=comment)


def written(text: str) -> str:
    return unrolled({"k.py": Source(text, "k.py")}, Options())["k.py"].text


class Traced:
    """A value that says of what calls and operations it came."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.shape, self.dtype = (text, "shape"), (text, "dtype")

    def __getitem__(self, key: object) -> Traced:
        return Traced(f"{self.text}[{key}]")

    def __add__(self, other: object) -> Traced:
        return Traced(f"({self.text} + {other})")

    __iadd__ = __add__

    def __repr__(self) -> str:
        return self.text


def trace(text: str) -> list[str]:
    """The calls that a kernel does, with what it gives them, and how it ends."""
    calls: list[str] = []

    class Function:
        def __init__(self, name: str) -> None:
            self.name = name

        def __call__(self, *args: object, **kwargs: object) -> Traced:
            calls.append(f"{self.name}{args}{kwargs}")
            return Traced(f"%{len(calls)}")

        def __repr__(self) -> str:
            return self.name

    class Language:
        def __getattr__(self, name: str) -> Any:
            return range if name == "static_range" else Function(name)

    names: dict[str, Any] = {"nl": Language(), "nki": SimpleNamespace(jit=lambda f: f), "print": Function("print")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(text.replace(IMPORTS, ""), names)
    try:
        calls.append(str(names["k"](*map(Traced, "abc"))))
    except (TypeError, IndexError, UnboundLocalError) as error:
        calls.append(type(error).__name__)
    return calls


STATEMENTS = (
    "total = nl.add(total, nl.load({t}))",
    "nl.store(out, {t}, {u})",
    "x = nl.load({t})\n\ntotal = nl.add(x, {u})  # of both",
    "{t} = nl.load({t})\ntotal = nl.multiply(total, {t})",
    "# in halves\nfor h in nl.static_range(2):\n    nl.store(out[h], {t}[h])",
    "if n > 2:\n    total = nl.add(total, {t})\nelse:\n    nl.store({t}, total)",
    "for {u} in (a, c):\n    nl.store(out, {u}[{t}])",
    "total = nl.add(total, nl.load(tensors[{u}]))",
    "nl.store(out, [{t}[i] for i in range(2)])",
    "print(f'{{{t}}}')",
    "{t} += total",
    "if n > 5:\n    {t} = nl.load({t})\nnl.store(out, {t})",
    "later = lambda: {t}\nnl.store(out, later())",
    "b = nl.load({t})",
    "if n == 3:\n    continue\nnl.store(out, {t})",
)
ATOMS = ("a", "b", "c", "1", "-2", "nl.add", "n", "'text'", "total")
BEHIND = ("pass", "nl.store(out, {t})", "for {t} in [c, a]:\n        nl.store(out, {t})", "{t} = nl.load(a)")


def random_kernel(seed: int) -> str:
    chosen = random.Random(seed)
    t, u = chosen.sample(("t", "u", "v"), 2)
    size = chosen.randint(1, 3)

    def display(atoms: tuple[str, ...] = ATOMS) -> str:
        elements = [chosen.choice(atoms) for _ in range(size)]
        return f"[{', '.join(elements)}]" if chosen.random() < 0.5 else f"({', '.join(elements)},)"

    pairs = [f"({chosen.choice(ATOMS)}, {chosen.choice(ATOMS)})" for _ in range(size)]
    triples = [f"({chosen.choice(ATOMS)}, {pair})" for pair in pairs]
    target, iterable = chosen.choice(
        [
            (t, display()),
            (f"{t}, {u}", f"({', '.join(pairs)},)"),
            (f"{t}, {u}", f"zip({display()}, {display()})"),
            (f"{u}, {t}", f"enumerate({display(('a', 'b', 'c'))})"),
            (f"{u}, ({t}, v)" if "v" not in (t, u) else t, f"[{', '.join(triples)}]"),
            (t, "tensors"),
            (f"{u}, {t}", "enumerate(tensors)"),
            (f"{t}, {u}", "zip(tensors, others)"),
            (u, "nl.static_range(len(tensors))"),
        ]
    )
    body = "\n".join(chosen.sample(STATEMENTS, chosen.randint(1, 3))).format(t=t, u=u)
    before = f"tensors = {display(('a', 'b', 'c'))}\n    others = {display()}\n    {t} = {u} = 0"
    behind = chosen.choice(BEHIND).format(t=t)
    if chosen.random() < 0.1:
        behind += "\n    tensors = [a]"
    return kernel(target, iterable, body, before, behind, chosen.choice(("", "  # in turn")))


def test_the_kernel_does_the_same_calls_in_the_same_order() -> None:
    changed = 0
    for seed in range(600):
        text = random_kernel(seed)
        new = written(text)
        assert trace(new) == trace(text), f"{seed}\n{text}\n{new}"
        changed += new != text
        assert text.count("# of both") <= new.count("# of both")
    assert changed > 200


def test_one_loop_in_another() -> None:
    text = kernel("t", "(a, b)", "for u in (b, c):\n    total = nl.add(nl.load(t), nl.load(u))")
    once = written(text)
    assert trace(written(once)) == trace(once) == trace(text)
    assert once.count("for ") == 2 and written(once).count("for ") == 0


LEFT = {
    "a continue": kernel("t", "(a, b)", "if n > 3:\n    continue\nnl.store(out, nl.load(t))"),
    "an else": kernel("t", "(a, b)", "nl.store(out, nl.load(t))\n", behind="pass").replace(
        "    pass\n    nl.store(out, total)", "    else:\n        pass\n    nl.store(out, total)"
    ),
    "an element that the body binds": kernel("t", "(a, b)", "b = nl.load(t)\nnl.store(out, b)"),
    "an element that is computed": kernel("t", "(a, nl.load(b))", "nl.store(out, t)"),
    "numbers": kernel("t", "(1, 2, n)", "tile = nl.ndarray((t, 8), dtype=a.dtype, buffer=nl.sbuf)"),
    "a list that grows": kernel("t", "tensors", "nl.store(out, nl.load(t))", "tensors = [a]\n    tensors.append(b)"),
    "a list of another branch": kernel(
        "t",
        "tensors",
        "nl.store(out, nl.load(t))",
        "if n > 2:\n        tensors = [a]\n    else:\n        tensors = [b]",
    ),
    "an element that is bound again": kernel(
        "t", "tensors", "nl.store(out, nl.load(t))", "tensors = [a]\n    a = nl.load(a)"
    ),
    "too many lines": kernel("t", "(a, b)", "\n".join(["nl.store(out, nl.load(t))"] * 121)),
    "a text of several lines": kernel("t", "(a, b)", 'nl.store(out, nl.load(t), """\n""")'),
}


@pytest.mark.parametrize("what", LEFT)
def test_a_loop_whose_passes_might_be_others_stays(what: str) -> None:
    assert written(LEFT[what]) == LEFT[what]


def test_comments_stay_with_each_pass_and_in_front() -> None:
    text = kernel("i, t", "enumerate((a, b))", "# first\nnl.store(out[i], nl.load(t))\n# last", comment="  # in turn")
    lines = [line.strip() for line in written(text).split("\n") if "#" in line or "store(out[" in line]
    each = [["# first", f"nl.store(out[{i}], nl.load({t}))", "# last"] for i, t in enumerate("ab")]
    assert lines == ["# in turn", *each[0], *each[1]]


KINDS = {
    "tensors": ("t", "(a, b)", "total = nl.add(total, nl.load(t, dtype=nl.float32))"),
    "a function for each": (
        "t, f",
        "((a, nl.add), (b, nl.multiply))",
        "total = f(total, nl.load(t, dtype=nl.float32))",
    ),
    "numbers beside them": (
        "s, t",
        "zip((2.0, -3.0), (a, c))",
        "total = nl.add(total, nl.multiply(nl.load(t, dtype=nl.float32), s))",
    ),
    "a variable that is bound again": (
        "t",
        "[b, a]",
        "t = nl.load(t, dtype=nl.float32)\ntotal = nl.add(total, nl.exp(t))",
    ),
    "a list with a name": ("i, t", "enumerate(tensors)", "total = nl.add(total, nl.load(t, dtype=nl.float32))"),
    "parts of them": (
        "t, w",
        "((a, 32), (d, 16))",
        "for i in nl.affine_range(2):\n    nl.store(out[:, i * w : i * w + w], nl.load(t[:, w * 0 : w]))",
    ),
    "an index": ("i", "nl.static_range(len(tensors))", "total = nl.add(total, nl.load(tensors[i], dtype=nl.float32))"),
}


@pytest.mark.parametrize("what", KINDS)
def test_the_tensors_may_have_different_shapes_and_types(migrate: Any, what: str) -> None:
    text = kernel(*KINDS[what], before="tensors = [c, b, a]" if "tensors" in KINDS[what][1] else "pass")
    shapes = {"a": ((128, 64), "float32"), "b": ((128, 64), "bfloat16"), "c": ((128, 64), "float32")}
    shapes |= {"d": ((128, 32), "float32")} if "d" in KINDS[what][1] else {}
    args = {name: TensorSpec(shape, dtype, "normal") for name, (shape, dtype) in shapes.items()}
    migration = migrate(text, args)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert f"for {KINDS[what][0]} in" not in migration.outcome.source and "tensors = " not in migration.outcome.source


def test_findings_have_their_place_in_the_source() -> None:
    text = kernel("t", "(a, b)", "nl.store(out, nl.load(t))\nnl.shared_constant(t)")
    line = 1 + next(n for n, each in enumerate(text.split("\n")) if "shared_constant" in each)
    assert {finding.line for finding in rewrite(text).findings} == {line}
