"""Instructions in one side of an expression that a condition chooses: their statements become an ``if``."""

import random
import textwrap

import pytest
from examples import examples
from first_rung import Options, rewrite, rewrite_together
from nki_migrate.codemods.driver import module
from nki_migrate.runtime.cases import TensorSpec

HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\nimport neuronxcc.nki.language as nl\n\n\n"
KERNEL = """\
@nki.jit
def k(x, p=True, q=False, n=3):
    out = nl.ndarray((4, 8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.load(x[0:8, 0:8])
    u = nl.exp(t)
{body}
    nl.store(out[3], u)
    return out
"""


def kernel(body: str) -> str:
    return HEAD + KERNEL.format(body=textwrap.indent(body, "    "))


def written(body: str) -> str:
    """The lines that the kernel has for ``body``."""
    text = rewrite(kernel(body), Options(unsafe=True)).source
    lines = text[text.index("nisa.activation(dst=u") : text.rindex("    nisa.dma_copy(dst=out[3]")]
    return textwrap.dedent("    " + lines.partition("\n")[2].strip("\n").lstrip())


def test_the_sides_are_branches_and_a_chain_is_one():
    assert written("v = nl.add(t, u) if p else nl.exp(u) if n > 2 else t\nnl.store(out[0], v)") == (
        "if p:\n"
        "    v = nl.ndarray((8, 8), dtype=x.dtype, buffer=nl.sbuf)\n"
        "    nisa.tensor_tensor(dst=v, data1=t, data2=u, op=nl.add)\n"
        "elif n > 2:\n"
        "    v = nl.ndarray((8, 8), dtype=x.dtype, buffer=nl.sbuf)\n"
        "    nisa.activation(dst=v, op=nl.exp, data=u)\n"
        "else:\n"
        "    v = t\n"
        "nisa.dma_copy(dst=out[0], src=v)"
    )


@pytest.mark.parametrize(
    ("statement", "test"),
    [("u = nl.add(t, u) if p else u", "if p:"), ("u = u if p or q else nl.add(t, u)", "if not (p or q):")],
)
def test_a_side_that_is_the_name_itself_has_no_branch(migrate, statement, test):
    assert test in written(statement) and "else" not in written(statement)
    for p in (True, False):
        migration = migrate(kernel(statement), {"x": TensorSpec((8, 8), "float32", "normal"), "p": p})
        assert migration.objection is None and migration.trouble == () and not migration.outcome.findings


def test_a_comment_behind_comes_above_and_a_long_statement_keeps_its_lines(migrate):
    body = "v = nl.add(t, u) if p else t  # with u\nnl.store(\n    out[0],\n    nl.exp(v) if q else v,\n)"
    text = written(body)
    assert text.startswith("# with u\nif p:\n") and text.count("# with u") == 1
    for q in (True, False):
        migration = migrate(kernel(body), {"x": TensorSpec((8, 8), "float32", "normal"), "q": q})
        assert migration.objection is None and migration.trouble == () and not migration.outcome.findings


@pytest.mark.parametrize("p", [True, False])
def test_a_flag_that_decides_which_instructions_a_product_is_is_a_choice(migrate, p):
    body = "v = nl.matmul(t, u, transpose_x=not p)\nnl.store(out[0], v)"
    assert written(body).startswith("if not p:\n") and "else:\n" in written(body)
    migration = migrate(kernel(body), {"x": TensorSpec((8, 8), "float32", "normal"), "p": p})
    assert migration.objection is None and migration.trouble == () and not migration.outcome.findings


def test_a_finding_in_a_branch_is_about_the_line_of_the_choice():
    source = kernel("v = nl.add(t, u) if p else t\nw = nl.no_such(t) if p else t\nnl.store(out[0], v)")
    outcome = rewrite(source, Options(unsafe=True))
    line = source[: source.index("w = ")].count("\n") + 1
    assert {finding.line for finding in outcome.findings} == {line}


@pytest.mark.parametrize(
    "statement",
    [
        "m = 2 if p else 4",
        "m = nl.float32 if p else nl.bfloat16",
        "v = t if p else u",
        "m = (n + 1) // 2 if n > 2 else n",
    ],
)
def test_a_choice_of_numbers_types_or_tensors_stays_one(statement):
    assert statement in written(f"{statement}\nnl.store(out[0], t)")


@pytest.mark.parametrize(
    "statement",
    [
        "v = nl.add(t, u) if p else t; w = t",
        "v = (\n    nl.add(t, u)  # both\n    if p\n    else t\n)",
        "v = w = nl.add(t, u) if p else t",
        "nl.store(out[max(n - 3, 0)], nl.exp(t) if p else t)",
        "v = nl.add(t, u) if (r := p) else t",
    ],
)
def test_what_cannot_be_parted_is_left(statement):
    outcome = rewrite(kernel(f"{statement}\nnl.store(out[0], t)"), Options(unsafe=True))
    assert outcome.findings and "if p:" not in outcome.source


def files(body: str) -> dict[str, str]:
    """A kernel in a file that another one imports, and one that shares no more with them than host code."""
    shared = "from common import size\n"
    return {
        "a.py": shared + kernel(f"{body}\nnl.store(out[0], v)"),
        "b.py": "from a import k\n\n\ndef run(x):\n    return k(x)\n",
        "c.py": shared + kernel("nl.store(out[size(0)], t)"),
        "common.py": "def size(n):\n    return n\n",
    }


def test_a_choice_that_helps_is_written_in_a_group_of_files_that_are_read_apart():
    outcomes = rewrite_together(files("v = nl.add(t, u) if p else t"), Options(unsafe=True))
    assert "if p:" in outcomes["a.py"].source
    assert not any(outcome.findings for outcome in outcomes.values())
    assert "nisa.dma_copy(dst=out[size(0)], src=t)" in outcomes["c.py"].source


def test_a_choice_that_does_not_help_is_tried_in_the_files_around_it_alone(monkeypatch):
    read, planned = [], module._planned
    monkeypatch.setattr(
        module, "_planned", lambda sources, *rest: (read.append(sorted(sources)), planned(sources, *rest))[1]
    )
    outcomes = rewrite_together(files("v = nl.no_such(t) if p else t"), Options(unsafe=True))
    assert "if p:" not in outcomes["a.py"].source and outcomes["a.py"].findings
    assert read == [["a.py", "b.py", "c.py", "common.py"], ["a.py", "b.py", "common.py"]]


@pytest.mark.parametrize(
    "statement",
    [
        "v = t if nl.no_such(n) else u",
        "v = u if p else t if nl.no_such(n) else u",
        "m = (n > 2) & n if p else n",
    ],
)
def test_what_is_refused_wherever_it_stands_is_not_tried_again(monkeypatch, statement):
    read, planned = [], module._planned
    monkeypatch.setattr(module, "_planned", lambda *given: (read.append(given), planned(*given))[1])
    outcome = rewrite(kernel(f"{statement}\nnl.store(out[0], t)"), Options(unsafe=True))
    assert outcome.findings and len(read) == 1


def tile(choice: random.Random) -> str:
    one, other = choice.choice("tuv"), choice.choice("tuv")
    forms = (
        one,
        f"nl.exp({one})",
        f"nl.add({one}, {other})",
        f"{one} * 2.0",
        f"helped({one}, {other}, {test(choice)})",
    )
    return choice.choice(forms)


def test(choice: random.Random) -> str:
    return choice.choice(("p", "q", "not p", "n > 2", "p and q", "n > 2 or q"))


test.__test__ = False  # type: ignore[attr-defined]  # it is no test


def chosen(choice: random.Random) -> str:
    more = chosen(choice) if choice.random() < 0.3 else tile(choice)
    return f"{tile(choice)} if {test(choice)} else {more}"


def statement(choice: random.Random, number: int) -> str:
    name = choice.choice("uv")
    kind = choice.randrange(5)
    if kind == 0:
        return f"nl.store(out[{number % 3}], {chosen(choice)})"
    if kind == 1:
        return f"{name} = nl.maximum({choice.choice('tuv')}, {chosen(choice)})"
    if kind == 2:
        return f"if {test(choice)}:\n    {name} = {chosen(choice)}"
    return f"{name} = {chosen(choice)}"


def program(seed: int) -> str:
    choice = random.Random(seed)
    body = ["v = helped(t, nl.tanh(t), p)", *(statement(choice, number) for number in range(choice.randint(1, 4)))]
    filled = [f"nl.store(out[{n}], t)" for n in range(3)]
    helper = (
        f"def helped(u, v, p, q=True, n=1):\n    t = u\n    return {chosen(choice).replace('helped', 'other')}\n\n\n"
    )
    helper = "def other(u, v, p):\n    return u if p else v\n\n\n" + helper
    return HEAD + helper + KERNEL.format(body=textwrap.indent("\n".join([*filled, *body]), "    "))


@pytest.mark.random
@pytest.mark.parametrize("seed", range(examples(40)))
def test_random_choices_compute_the_same(migrate, seed):
    choice = random.Random(-seed - 1)
    source = program(seed)
    if rewrite(source, Options(unsafe=True)).findings:
        return
    for _ in range(3):
        args = {"p": choice.random() < 0.5, "q": choice.random() < 0.5, "n": choice.choice((1, 3))}
        migration = migrate(source, {"x": TensorSpec((8, 8), "float32", "normal"), **args})
        assert migration.objection is None
        assert migration.trouble == (), source


def test_most_of_the_random_choices_are_rewritten():
    outcomes = [rewrite(program(seed), Options(unsafe=True)) for seed in range(40)]
    assert sum(not outcome.findings for outcome in outcomes) > 25
