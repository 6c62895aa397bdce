"""The rules of TileLang-Ascend: their examples, their goals, and that buffers stay where they were."""

import ast
import random
from dataclasses import replace

import pytest
from examples import examples
from first_rung import Options
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.codemods.ascend import GOALS, RULES, Settings, check, claims, rewrite_module
from nki_migrate.codemods.ascend.dialect import addresses, objections
from nki_migrate.codemods.ascend.registry import MODULES
from nki_migrate.runtime.spec.ascend_seed import SEED

HEAD = "import tilelang\nimport tilelang.language as T\n\n"
MAINLINE = HEAD.replace("tilelang.language", "tilelang.ascend.language")
EXAMPLES = [(module, *example) for module in MODULES for example in module.INVALID]
STILL = [(module, example) for module in MODULES for example in module.VALID]


def goal_of(module):
    return getattr(module, "GOALS", ("fork",))[0]


def options(goal):
    return Options(target=goal, unsafe=True)


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES)
def test_examples_come_out_as_written(rule, before, after):
    outcome = rewrite_module(HEAD + before, options(goal_of(rule)))
    assert outcome.source == (MAINLINE if rule.CODE == "ASC023" else HEAD) + after
    assert rule.CODE in outcome.applied
    again = rewrite_module(outcome.source, options(goal_of(rule)))
    assert again.source == outcome.source


@pytest.mark.parametrize(("rule", "text"), STILL)
def test_what_is_valid_stays(rule, text):
    assert rule.CODE not in rewrite_module(HEAD + text, options(goal_of(rule))).applied


@pytest.mark.parametrize("head", ["from tvm.script import tir as T\n", "import numpy as T\n", "T = object()\n"])
@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES)
def test_the_t_of_others_is_left_alone(head, rule, before, after):
    outcome = rewrite_module("import tilelang\n" + head + before, options(goal_of(rule)))
    assert outcome.source == "import tilelang\n" + head + before


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES)
def test_other_names_of_the_language_are_understood(rule, before, after):
    if rule.CODE == "ASC023":
        return
    head = "import tilelang\nfrom tilelang import language as lang\n\n"
    outcome = rewrite_module(head + before.replace("T.", "lang."), options(goal_of(rule)))
    assert outcome.source == head + after.replace("T.", "lang.")


KERNEL = """
@T.prim_func
def kernel(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, is_npu=True) as (cid, vid):
"""


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('x = T.alloc_buffer((8,), "float32", scope="local")', "ASC001"),
        ('x = T.alloc_buffer((8,), "float32")', "ASC001"),
        ('x = T.alloc_buffer((8,), "float32", scope=where)', "ASC001"),
        ('with T.allocate(dtype="float32", scope="shared") as x:\n            T.copy(A, x)', "ASC002"),
        ("y = [T.free(x)]", "ASC003"),
        ("ws = T.workspace(64)", "ASC006"),
        ("T.evaluate(x.assign(1.0))", "ASC007"),
        ('with T.stream("a") as s:\n            T.copy(A, B)', "ASC008"),
        ("stats = T.memory_stats()", "ASC009"),
        ('x = T.alloc_buffer("auto", "float32", scope="shared")', "ASC010"),
        ("try:\n            y = 1\n        except T.MemoryError:\n            y = 2", "ASC011"),
        ("y = T.is_aligned(0, alignment=32)", "ASC011"),
        ('T.copy(A, B, src_scope="cpu", dst_scope="npu")', "ASC011"),
        (
            'pool = T.memory_pool(max_size=4096, block_size=64, scope="shared")\n        for k in T.serial(3):\n'
            '            y = pool.allocate(shape=(8,), dtype="float32")\n            pool.free(y)',
            "ASC004",
        ),
    ],
)
def test_what_cannot_be_rewritten_stays_under_a_finding(line, code):
    source = HEAD + KERNEL + f"        {line}\n"
    outcome = rewrite_module(source)
    found = [finding for finding in outcome.findings if finding.code == code]
    assert found and all(finding.help for finding in found)
    assert outcome.source == source
    assert "internal" not in found[0].message


def test_each_row_of_the_seed_has_a_rule_or_stays():
    for row in SEED.values():
        assert row.code in RULES or row.becomes == "unchanged", row.name
        assert row.becomes or row.refused, row.name


def test_rules_have_documents():
    for code, rule in RULES.items():
        assert rule.code == code and rule.name and rule.summary.endswith(".") and rule.explanation


# --- pin and unpin ---------------------------------------------------------------------------------------------------

FACTORY = """
pass_configs = {
    tilelang.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: %s,
}


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs)
def make(M, block=64, dtype="float32"):
    @T.prim_func
    def main(A: T.Tensor((M, 64), dtype), B: T.Tensor((M, 64), dtype)):
        with T.Kernel(M // block, is_npu=True) as (cid, vid):
            with T.Scope("V"):
                a = T.alloc_ub((block, 64), dtype)  # input
                b = T.alloc_ub((block, 64), dtype)
                # both halves
                T.copy(A[cid * block, 0], a)
                T.tile.add(b, a, a)
                T.copy(b, B[cid * block, 0])

    return main


kernel = make(1024)
"""


@pytest.mark.parametrize("reuses", [True, False])
def test_pin_and_unpin_lose_nothing(reuses):
    source = HEAD + FACTORY % reuses
    pinned = rewrite_module(source, options("pinned"))
    assert pinned.findings == () and "T.annotate_address({a: 0, b: 16384})\n" in pinned.source
    assert addresses(source, Settings()) == addresses(pinned.source, Settings(mode="fixed"))
    assert rewrite_module(pinned.source, options("unpinned")).source == source
    assert rewrite_module(pinned.source, options("pinned")).source == pinned.source


def test_unpin_turns_planning_on_where_only_that_fits():
    tight = (FACTORY % False).replace(
        "                # both halves\n",
        "                c = T.alloc_ub((640, 64), dtype)\n"
        "                T.annotate_address({a: 0, b: 16384, c: 0})\n",
    ).replace("                T.copy(b, B[cid * block, 0])", "                T.copy(b, B[cid * block, 0])\n"
              "                T.tile.fill(c, 0.0)\n                T.copy(c, B)")  # fmt: skip
    outcome = rewrite_module(HEAD + tight.replace("MEMORY_PLANNING: False", "AUTO_SYNC: True"), options("unpinned"))
    assert outcome.findings == () and "TL_ASCEND_MEMORY_PLANNING: True" in outcome.source
    assert "annotate_address" not in outcome.source
    refused = rewrite_module(HEAD + tight, options("unpinned"))
    assert [f.code for f in refused.findings] == ["ASC021"] and "annotate_address" in refused.source


def test_a_kernel_with_a_problem_is_not_pinned():
    source = HEAD + (FACTORY % False).replace("block=64", "block=640")
    outcome = rewrite_module(source, options("pinned"))
    assert outcome.source == source
    assert [f.code for f in outcome.findings] == ["ASC020"] and "UB needs" in outcome.findings[0].message


# --- check -----------------------------------------------------------------------------------------------------------


def test_check_says_what_does_not_fit_and_what_is_not_real():
    source = HEAD + (FACTORY % False).replace("block=64", "block=640")
    assert [f.code for f in check(source, "x.py", "")] == ["ASC101"]
    assert [f.code for f in check(source, "x.py", "950")] == ["ASC101"]
    assert check(HEAD + FACTORY % False, "x.py", "") == []
    assert "ASC003" in [f.code for f in check(HEAD + KERNEL + "        T.free(A)\n", "x.py", "")]
    unknown = (HEAD + FACTORY % False).replace("kernel = make(1024)", "").replace("block=64", "block")
    assert [f.code for f in check(unknown, "x.py", "")] == ["ASC106"]
    told = Options(planning=(("given", {"block": 64}),))
    assert check(unknown, "x.py", "", told) == []


def test_which_files_are_ours():
    assert claims((HEAD + FACTORY % False).encode())
    assert claims((HEAD + KERNEL + "        T.free(A)\n").encode())
    assert not claims(b"import tilelang.language as T\n\nx = T.alloc_shared((8,), 'float32')\n")
    assert not claims(b"import neuronxcc\nalloc_ub = 1\n")
    assert not claims(b"import tilelang\nfrom tvm.script import tir as T\nx = T.alloc_buffer((8,), 'float32')\n")


def test_the_guard_objects_to_a_buffer_that_moved():
    source = HEAD + FACTORY % False
    moved = source.replace("a = T.alloc_ub((block, 64), dtype)", "a = T.alloc_ub((block, 32), dtype)")
    outcome = rewrite_module(source)
    said = list(objections(source, replace(outcome, source=moved), Options()))
    assert said and "'a' of 'make' is at ('UB', 0, 16384) before and at ('UB', 0, 8192) after" in said[0]


# --- generated kernels of the seed -----------------------------------------------------------------------------------


def seed_kernel(seed):
    """A random kernel of the seed's API, and the goals that it can be written for."""
    rng = random.Random(seed)
    lines = ["pool = T.memory_pool(max_size=32768, block_size=512, scope='shared')"] if rng.random() < 0.5 else []
    live, pooled, number = [], [], 0
    for _ in range(rng.randint(2, 9)):
        number += 1
        name, size = f"b{number}", rng.choice([8, 64, 100, 1000])
        kind = rng.random()
        if kind < 0.35:
            align = rng.choice(["", ", alignment=256", ", alignment=32"])
            lines.append(f"{name} = T.alloc_buffer(({size},), 'float32', scope='shared'{align})")
            live.append(name)
        elif kind < 0.6 and lines and lines[0].startswith("pool"):
            lines.append(f"{name} = pool.allocate(shape=({size},), dtype='float32')")
            pooled.append(name)
        elif kind < 0.75:
            lines.append(f"with T.allocate(({size},), dtype='float32', scope='shared') as {name}:  # scoped")
            lines.append(f"    T.tile.fill({name}, {number}.0)")
            lines.append("    # the end")
            continue
        elif live and kind < 0.85:
            freed = live.pop(rng.randrange(len(live)))
            lines.append(f"T.free({freed})  # done")
            continue
        elif pooled:
            lines.append(f"pool.free({pooled.pop(rng.randrange(len(pooled)))})")
            continue
        else:
            continue
        lines.append(f"T.tile.fill({name}, {number}.0)")
        if rng.random() < 0.4:
            lines.append(f"with T.stream('s'):\n    T.copy({name}[0:8], A)")
        if rng.random() < 0.3:
            lines.append(f"view_{name} = T.buffer_alias({name}, ({size},))\nT.evaluate(view_{name}[0].assign(1.0))")
    lines += [f"pool.free({name})" for name in pooled]
    body = "\n".join(f"    {part}" for line in [*lines, "T.memory_stats()"] for part in line.split("\n"))
    return f"{HEAD}\n@T.prim_func\ndef kernel(A: T.Tensor((8,), 'float32')):\n{body}\n    x = 1\n"


@pytest.mark.random
@settings(max_examples=examples(38), deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(("fork", "pinned", "unpinned")), st.sampled_from(("auto", "reuse")))
def test_generated_kernels_keep_their_addresses_and_comments(seed, goal, mode):
    source = seed_kernel(seed)
    asked = Options(target=goal, planning=(("mode", mode),))
    outcome = rewrite_module(source, asked)
    ast.parse(outcome.source)
    assert list(objections(source, outcome, asked)) == []
    assert outcome.source.count("#") == source.count("#")
    assert rewrite_module(outcome.source, asked).source == outcome.source
    left = [name for name in ("memory_pool", "pool.", "T.free", "T.allocate", "alloc_buffer", "buffer_alias", "stream")
            if name in outcome.source]  # fmt: skip
    assert left == [] or outcome.findings
    assert set(GOALS) >= {goal}
