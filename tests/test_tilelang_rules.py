"""The rules of TileLang: their examples, that what they leave has a finding, and that no rule touches other bytes."""

from __future__ import annotations

import ast
from types import ModuleType

import pytest
from first_rung import Options
from nki_migrate.codemods.tilelang import RULES, check, rewrite_module
from nki_migrate.codemods.tilelang.registry import MODULES, VERSION_MATRIX

HEAD = "import tilelang.language as T\n\n"
EXAMPLES = [(module, *example) for module in MODULES for example in module.INVALID]
STILL = [(module, example) for module in MODULES for example in module.VALID]
IMPORTS = (
    "import tilelang.language as T\n",
    "from tilelang import language as T\n",
    "import tilelang.cuda.language as T\n",
    "try:\n    import tilelang.language as T\nexcept ImportError:\n    from tilelang import language as T\n",
)
FOREIGN = (
    "from tvm.script import tir as T\n",
    "from tvm.script import tirx as T\n",
    "import numpy as T\n",
    "T = object()\n",
    "from .tilelang import language as T\n",
)


def rewritten(text: str) -> str:
    return rewrite_module(text).source


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES)
def test_examples_come_out_as_written(rule: ModuleType, before: str, after: str) -> None:
    outcome = rewrite_module(HEAD + before)
    assert outcome.source == HEAD + after
    assert rule.CODE in outcome.applied
    assert rewritten(outcome.source) == outcome.source


@pytest.mark.parametrize(("rule", "text"), STILL)
def test_what_is_valid_stays(rule: ModuleType, text: str) -> None:
    assert rule.CODE not in rewrite_module(HEAD + text).applied


@pytest.mark.parametrize("head", IMPORTS)
@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES)
def test_any_alias_of_the_language_is_understood(head: str, rule: ModuleType, before: str, after: str) -> None:
    assert rewritten(head + before) == head + after


@pytest.mark.parametrize("head", FOREIGN)
@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES)
def test_the_t_of_others_is_left_alone(head: str, rule: ModuleType, before: str, after: str) -> None:
    outcome = rewrite_module(head + before)
    assert (outcome.source, outcome.findings) == (head + before, ())


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES)
def test_the_language_by_its_full_name(rule: ModuleType, before: str, after: str) -> None:
    head = "import tilelang as tl\n"
    full = [text.replace("T.", "tl.language.") for text in (before, after)]
    assert rewritten(head + full[0]) == head + full[1]


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES)
def test_a_parameter_called_t_is_no_language(rule: ModuleType, before: str, after: str) -> None:
    text = HEAD + "def outer(T):\n" + "".join(f"    {line}\n" for line in before.split("\n"))
    if "def k(a" in before or "def m(a" in before:
        return  # an annotation of an inner function sees the parameter of the outer one, too
    assert rewritten(text) == text


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES)
def test_nothing_is_rewritten_for_a_version_that_lacks_the_new_form(rule: ModuleType, before: str, after: str) -> None:
    outcome = rewrite_module(HEAD + before, Options(target="0.1.3"))
    assert outcome.source == HEAD + before


LEFT = {
    "var with two values": ('v = T.alloc_var("int32", 1, init=2)', "TLG001", 1),
    "var whose arguments are elsewhere": ("v = T.alloc_var(*args)", "TLG001", 1),
    "descriptor of an unknown kind": ("d = T.alloc_descriptor(kind)", "TLG002", 1),
    "descriptor with a scope": ('d = T.alloc_descriptor("uint64", scope="local.descriptor")', "TLG002", 1),
    "buffer that is a view": ('b = T.Buffer((8,), "int8", data=a.data)', "TLG003", 1),
    "barrier by number without its list": ("def k():\n    T.mbarrier_arrive(T.get_mbarrier(0))", "TLG005", 2),
    "barrier operation of a number": ("def k():\n    T.mbarrier_arrive(0)", "TLG005", 2),
    "two lists of barriers": (
        "def k():\n    T.create_list_of_mbarrier(1)\n    T.create_list_of_mbarrier(2)",
        "TLG005",
        (2, 3),
    ),
    "local that is indexed otherwise, too": (
        'def k():\n    x = T.alloc_local((8,), "int8")\n    for i in T.Parallel(8):\n        x[i + 1] = 0',
        "TLG006",
        4,
    ),
    "sum that begins with one": (
        'def k():\n    acc = T.alloc_reducer((8,), "float32", "sum")\n    T.fill(acc, 1)\n'
        "    for i in T.Parallel(8):\n        acc[i] += 1.0\n    T.finalize_reducer(acc)",
        "TLG008",
        3,
    ),
    "reducer that is read before it is finalized": (
        'def k():\n    acc = T.alloc_reducer((8,), "float32", "sum")\n    T.clear(acc)\n'
        "    for i in T.Parallel(8):\n        acc[i] += 1.0\n    T.copy(acc, b)\n    T.finalize_reducer(acc)",
        "TLG008",
        6,
    ),
    "reducer that is never finalized": (
        'def k():\n    acc = T.alloc_reducer((8,), "float32", "sum")\n    T.clear(acc)',
        "TLG008",
        2,
    ),
    "reducer that is changed outside of a parallel loop": (
        'def k():\n    acc = T.alloc_reducer((8,), "float32", "sum")\n    T.clear(acc)\n    acc[0] += 1\n'
        "    T.finalize_reducer(acc)",
        "TLG008",
        4,
    ),
    "reducer that another operation changes": (
        'def k():\n    acc = T.alloc_reducer((8,), "float32", "max")\n    T.fill(acc, T.min_value("float32"))\n'
        "    for i in T.Parallel(8):\n        acc[i] += 1.0\n    T.finalize_reducer(acc)",
        "TLG008",
        5,
    ),
    "reducer that one branch closes": (
        'def k():\n    acc = T.alloc_reducer((8,), "float32", "sum")\n    T.clear(acc)\n'
        "    if n:\n        T.finalize_reducer(acc)",
        "TLG008",
        4,
    ),
    "reducer that a helper gets": (
        'def k():\n    acc = T.alloc_reducer((8,), "float32", "sum")\n    T.clear(acc)\n    T.finalize_reducer(acc)\n'
        "    helper(acc)",
        "TLG008",
        5,
    ),
    "name that is gone": ("T.gemm_v2(a, b, c)", "TLG009", 1),
    "barrier of no arrivals": ("b = T.alloc_barrier(0)", "TLG009", 1),
    "kernel on the CPU": ("def k():\n    with T.Kernel(1, is_cpu=True) as i:\n        pass", "TLG009", 2),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_has_a_finding_where_it_stands(name: str) -> None:
    text, code, line = LEFT[name]
    lines = line if isinstance(line, tuple) else (line,)
    outcome = rewrite_module(HEAD + text)
    assert outcome.source == HEAD + text
    assert [(finding.code, finding.line - 2) for finding in outcome.findings] == [(code, each) for each in lines]


def test_a_language_that_may_be_another_module_is_a_finding() -> None:
    head = "try:\n    import tilelang.language as T\nexcept ImportError:\n    import numpy as T\n"
    outcome = rewrite_module(head + 'v = T.alloc_var("int32", 1)')
    assert outcome.source == head + 'v = T.alloc_var("int32", 1)'
    assert [finding.code for finding in outcome.findings] == ["TLG009"]


def test_all_rules_in_one_function_keep_comments_and_layout() -> None:
    before = HEAD + (
        "@T.prim_func\n"
        "def k(a: T.Buffer((8, 8), 'float32'),   # in\n"
        "      b: T.Tensor((8,), 'float32')):  # out: é\n"
        "\twith T.Kernel(1) as bx :\n"
        "\t\tx = T.alloc_local((1,), 'float32') # one\n"
        "\t\ty = T.alloc_local([8], 'float32')\n"
        "\t\tacc = T.alloc_reducer((8,), 'float32', 'max', replication='all')   # é\n"
        "\t\tT.fill(acc, -1.0)\n"
        "\t\tx[0] = 1 # é\n"
        "\t\tfor i, j in T.Parallel(8, 8):\n"
        "\t\t\tacc[i] = T.max(a[i, j] * x[0], acc[i])\n"
        "\t\tT.finalize_reducer( acc )\n"
        "\t\tfor i in T.Parallel(8): y[i] = acc[i]\n"
    )
    assert rewritten(before) == (
        HEAD + "@T.prim_func\n"
        "def k(a: T.Tensor((8, 8), 'float32'),   # in\n"
        "      b: T.Tensor((8,), 'float32')):  # out: é\n"
        "\twith T.Kernel(1) as bx :\n"
        "\t\tx = T.alloc_var('float32') # one\n"
        "\t\ty = T.alloc_fragment([8], 'float32')\n"
        "\t\tacc = T.alloc_reducer((8,), 'float32', 'max')   # é\n"
        "\t\tacc_result = T.alloc_fragment((8,), 'float32')\n"
        "\t\tT.reducer_init(acc, -1.0)\n"
        "\t\tx = 1 # é\n"
        "\t\tfor i, j in T.Parallel(8, 8):\n"
        "\t\t\tT.reducer_update(acc[i], a[i, j] * x)\n"
        "\t\tT.finalize_reducer( acc, acc_result )\n"
        "\t\tfor i in T.Parallel(8): y[i] = acc_result[i]\n"
    )


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("128", "[128]"),
        ("[128, 64]", "[128, 64]"),
        ("[128] * n", "[128] * n"),
        ("counts", "counts"),
        ("*counts", "[*counts]"),
        ("128, 64", "[128, 64]"),
    ],
)
def test_the_counts_of_a_list_of_barriers(given: str, made: str) -> None:
    text = f"def f(n):\n    counts = [128, 64] * n\n\n    def k():\n        T.create_list_of_mbarrier({given})\n"
    wanted = text.replace(f"T.create_list_of_mbarrier({given})", f"mbars = T.alloc_barrier({made})")
    assert rewritten(HEAD + text) == HEAD + wanted


def test_a_result_that_is_added_elsewhere_is_read() -> None:
    before = (
        "def k():\n    acc = T.alloc_reducer((8,), 'int32', replication='all')\n    T.clear(acc)\n"
        "    for i in T.Parallel(8):\n        acc[0] += a[i]\n    T.finalize_reducer(acc)\n"
        "    T.atomic_add(total[0], acc[0])\n"
    )
    assert "T.atomic_add(total[0], acc_result[0])" in rewritten(HEAD + before)
    left = rewrite_module(HEAD + before.replace("total[0], acc[0]", "acc[0], total[0]"))
    assert [finding.code for finding in left.findings] == ["TLG008"]


def test_an_epoch_in_a_loop() -> None:
    before = (
        "def k():\n"
        "    acc = T.alloc_reducer((8,), 'float32', 'sum', replication='all')\n"
        "    for t in T.serial(4):\n"
        "        T.fill(acc, 0)\n"
        "        for i in T.Parallel(8):\n"
        "            if i < t:\n"
        "                acc[i] -= a[t, i] + 1\n"
        "        T.finalize_reducer(acc)\n"
        "        T.copy(acc, b[t, :])\n"
    )
    after = rewritten(HEAD + before)
    assert "T.reducer_update(acc[i], -(a[t, i] + 1))" in after and "T.copy(acc_result, b[t, :])" in after
    assert not rewrite_module(HEAD + before).findings


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES)
def test_check_passes_what_rewrite_writes(rule: ModuleType, before: str, after: str) -> None:
    assert check(HEAD + after, "f.py", "0.1.15") == []


def test_check_finds_what_the_newest_version_refuses() -> None:
    assert [finding.code for finding in check(HEAD + EXAMPLES[0][1], "f.py", "")] == ["TLG001"]
    assert check(HEAD + 'v = T.alloc_var("int32", 1)', "f.py", "") == []


def test_every_rule_has_documents_and_every_change_a_rule() -> None:
    assert all(rule.summary and "Source:" in rule.explanation for rule in RULES.values())
    assert {code for _, _, code in VERSION_MATRIX} == set(RULES)
    for module in MODULES:
        for text in (*module.VALID, *(part for example in module.INVALID for part in example)):
            ast.parse(text)


@pytest.mark.parametrize(
    ("op", "dtype", "start", "written"),
    [
        ("min", "T.int32", "T.max_value(T.int32)", ""),
        ("min", "'int64'", "T.max_value(T.int64)", ""),
        ("max", "T.uint8", "T.min_value('uint8')", ""),
        ("max", "T.float32", "-T.infinity(T.float32)", ""),
        ("min", "T.float16", "T.infinity('float16')", ""),
        ("min", "T.float32", "T.max_value(T.float32)", ", T.max_value(T.float32)"),
        ("min", "T.int64", "T.max_value(T.int32)", ", T.max_value(T.int32)"),
        ("max", "T.int32", "T.max_value(T.int32)", ", T.max_value(T.int32)"),
        ("max", "T.float32", "T.infinity(T.float32)", ", T.infinity(T.float32)"),
        ("max", "T.int32", "-T.min_value(T.int32)", ", -T.min_value(T.int32)"),
        ("min", "dtype", "T.max_value(dtype)", ", T.max_value(dtype)"),
    ],
)
def test_a_reducer_that_begins_with_its_identity_is_told_no_value(
    op: str, dtype: str, start: str, written: str
) -> None:
    body = (
        f"def k(a, b, dtype):\n    acc = T.alloc_reducer((1,), {dtype}, '{op}', replication='all')\n"
        f"    T.fill(acc, {start})\n    for i in T.Parallel(8):\n        acc[0] = T.{op}(acc[0], a[i])\n"
        "    T.finalize_reducer(acc)\n    T.copy(acc, b)\n"
    )
    assert f"T.reducer_init(acc{written})\n" in rewritten(HEAD + body)
