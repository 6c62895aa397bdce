"""Plans for an Ascend 950 against those that the tilelang 0.1.15 wheel printed (recorded; no wheel is needed).

Without reuse the addresses must be the wheel's. With reuse the wheel packs otherwise than the fork does, so its plan is
judged: no two buffers share bytes while both may hold values.
"""

import ast
import hashlib
import json
from dataclasses import replace
from pathlib import Path

from nki_migrate.golden import GOLDENS
from nki_migrate.runtime.ascend.plans import planned, verified
from nki_migrate.runtime.ascend.plans.names import Names
from nki_migrate.runtime.ascend.plans.sources import kernels_of

RECORD = json.loads((Path(__file__).parent / "ascend_oracle" / "plans.json").read_text())


def program_of(source):
    tree = ast.parse(source)
    names = Names.of(tree)
    (kernel,) = kernels_of(tree, names)
    return kernel.program(names)


def test_the_record_is_of_the_wheel_and_of_many_kernels():
    assert RECORD["wheel"]["version"] == "0.1.15" and len(RECORD["wheel"]["record_sha256"]) == 64
    assert len(RECORD["kernels"]) >= 100 and RECORD["refused"] == {}


def test_linear_addresses_are_those_of_the_wheel():
    different = []
    for kernel in RECORD["kernels"]:
        program = program_of(kernel["source"])
        used = {touch.buffer for entry in program.entries for touch in entry.touches}
        made = planned(replace(program, buffers=tuple(b for b in program.buffers if b.name in used)), "950", "linear")
        ours = {alloc.name: [alloc.addr, alloc.bytes] for alloc in made.plan.allocs}
        if ours != kernel["linear"]:
            different.append((kernel["seed"], ours, kernel["linear"]))
    assert different == []


def test_reusing_plans_of_the_wheel_are_accepted():
    shared = 0
    for kernel in RECORD["kernels"]:
        program = program_of(kernel["source"])
        plan = planned(program, "950", "linear").plan
        scope = program.buffers[0].space
        placed = plan.placed(scope, {name: place[0] for name, place in kernel["reuse"].items()})
        problems = [problem for problem in verified(program, placed, "950") if problem.kind == "overlap"]
        assert problems == [], (kernel["seed"], problems)
        top = max(at + size for at, size in kernel["reuse"].values())
        shared += top < max(at + size for at, size in kernel["linear"].values())
    assert shared > 20


def test_the_converted_vector_add_and_matmul_are_lowered_by_the_wheel():
    golden = GOLDENS["ascend_mainline"]
    assert hashlib.sha256(golden.after_path.read_bytes()).hexdigest() == RECORD["golden"]["sha256"]
    assert all(length > 1000 for length in RECORD["golden"]["lowered"].values())
    assert set(RECORD["golden"]["lowered"]) == {"product", "vector_add"}
