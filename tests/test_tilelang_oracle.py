"""What the real compiler answered (``tests/tilelang_oracle``), and what ours says: offsets, rules, versions, numbers.

The recorded answers are compared always. Where the wheel is installed (the extra ``tilelang``), some are asked again.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from nki_migrate.codemods.tilelang import check
from nki_migrate.golden import GOLDENS
from nki_migrate.runtime.spec.tilelang import canonical, has, position
from nki_migrate.runtime.tilelang.arena import total
from nki_migrate.runtime.tilelang.layout import ARENA, layout
from nki_migrate.runtime.tilelang.machine import Machine
from nki_migrate.runtime.tilelang.modules import MODULES
from nki_migrate.runtime.tilelang.tracing import trace

ORACLE = Path(__file__).parent / "tilelang_oracle"
HEAD = "import tilelang.language as T\n\n"
LEAST = 300
"""Generated kernels whose offsets the compiler must have been asked for."""


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"oracle_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


kernels = _module(ORACLE / "kernels.py")


def recorded(what: str) -> dict[str, dict[str, Any]]:
    """The recorded answers, by the version of the wheel."""
    found = {}
    for path in sorted(ORACLE.glob(f"{what}_*.json")):
        content = json.loads(path.read_text())
        assert len(content["wheel"]["record_sha256"]) == 64
        found[content["wheel"]["version"]] = content
    return found


@pytest.fixture
def emulated(tmp_path: Path) -> Iterator[Any]:
    """Loads the kernel of a source while the emulator stands in for ``tilelang``."""
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "tilelang"}
    for name in before:
        del sys.modules[name]
    sys.modules.update(MODULES)
    count = 0

    def load(source: str) -> Any:
        nonlocal count
        count += 1
        path = tmp_path / f"kernel_{count}.py"
        path.write_text(source)
        return trace(_module(path).kernel.func)

    yield load
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.modules.update(before)


def ours(kernel: Any, answer: dict[str, Any]) -> tuple[dict[str, int], int]:
    """The offsets and the total that our plan gives, spelled as the compiler's."""
    plan = layout(kernel, answer["architecture"], reuse=answer["reuse"]).plan
    placed = {alloc.name: alloc.addr for alloc in plan.of(ARENA) if alloc.addr is not None}
    alone = len(placed) == 1  # the compiler merges from two buffers on, and names no offset of one
    return ({} if alone else placed), total(plan, ARENA)


@pytest.mark.parametrize("name", sorted(path.name for path in ORACLE.glob("offsets_*.json")))
def test_offsets_are_the_compiler_s(name: str, emulated: Any) -> None:
    content = json.loads((ORACLE / name).read_text())
    lowered, wrong = 0, []
    for answer in content["answers"]:
        source = kernels.source_of(answer["seed"])
        assert hashlib.sha256(source.encode()).hexdigest()[:16] == answer["source"], "the generator has changed"
        if "error" in answer:
            assert "ThreadSync" in answer["error"]  # the compiler's own limit: nothing to compare with
            continue
        lowered += 1
        if ours(emulated(source), answer) != (answer["offsets"], answer["total"]):
            wrong.append((answer["seed"], answer["reuse"]))
    assert lowered >= 0.95 * len(content["answers"])
    assert wrong == [], f"{len(wrong)} of {lowered}"


def test_enough_kernels_were_asked_for() -> None:
    answers = recorded("offsets")["0.1.15"]["answers"]
    assert len({answer["seed"] for answer in answers if "error" not in answer}) >= LEAST


# --- rules -----------------------------------------------------------------------------------------------------------

SAME_SOURCE = {
    "tilelang_descriptor": "0.1.15",
    "tilelang_dynamic": "0.1.15",
    "tilelang_element": "0.1.15",
    "tilelang_matmul": "0.1.15",
    "tilelang_reducer": "0.1.15",
    "tilelang_tensor": "0.1.15",
    "tilelang_var": "0.1.15",
}
"""Goldens whose before and after one version takes both, and makes the same source of but for names."""


def _answers(version: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["golden"], each["side"]): each for each in recorded("rules")[version]["answers"]}


@pytest.mark.parametrize("name", SAME_SOURCE)
def test_before_and_after_give_the_same_source(name: str) -> None:
    answers = _answers(SAME_SOURCE[name])
    assert answers[name, "before"]["source"] == answers[name, "after"]["source"]


def test_barriers_of_a_list_are_those_of_a_buffer() -> None:
    before = _answers("0.1.7.post3")["tilelang_barrier", "before"]["barriers"]
    assert before == _answers("0.1.8")["tilelang_barrier", "after"]["barriers"]
    assert before.count("init(128)") == 2 and before.count("arrive") == 2


def test_every_golden_after_is_taken_by_the_newest_version() -> None:
    answers = _answers("0.1.15")
    names = {name for name, golden in GOLDENS.items() if golden.language == "tilelang"}
    assert {name for name, side in answers if side == "after"} == names
    assert [each for each in answers.values() if each["side"] == "after" and "error" in each] == []


def test_what_the_newest_version_refuses_is_what_the_rules_say() -> None:
    answers = _answers("0.1.15")
    assert "create_list_of_mbarrier" in answers["tilelang_barrier", "before"]["error"]
    assert "indexed by T.Parallel" in answers["tilelang_parallel_local", "before"]["error"]
    assert "source" in _answers("0.1.13")["tilelang_parallel_local", "before"]


# --- versions --------------------------------------------------------------------------------------------------------

FORMS = {
    "alloc_var(d, scope, init=1)": ('v = T.alloc_var("int32", "local.var", init=1)', "TLG001"),
    "alloc_var(d)": ('v = T.alloc_var("int32")', "TLG001"),
    "alloc_var(d, 1, scope)": ('v = T.alloc_var("int32", 1, "local.var")', "TLG001"),
    "alloc_barrier(0)": ("b = T.alloc_barrier(0)", "TLG009"),
    "alloc_barrier(128)": ("b = T.alloc_barrier(128)", "TLG009"),
    "create_list_of_mbarrier(128)": ("def k():\n    T.create_list_of_mbarrier(128)", "TLG005"),
    "alloc_cluster_barrier(1)": ("b = T.alloc_cluster_barrier(1)", "TLG009"),
    "alloc_global((4,), d)": ('g = T.alloc_global((4,), "int32")', "TLG009"),
    "alloc_local indexed by T.Parallel": (
        'def k():\n    x = T.alloc_local((8,), "int8")\n    for i in T.Parallel(8):\n        x[i] = 0',
        "TLG006",
    ),
}


@pytest.mark.parametrize("version", ["0.1.9", "0.1.13", "0.1.15"])
@pytest.mark.parametrize("form", FORMS)
def test_check_refuses_what_each_version_refuses(version: str, form: str) -> None:
    answer = next(each for each in recorded("matrix")[version]["answers"] if each["form"] == form)
    text, code = FORMS[form]
    assert ([finding.code for finding in check(HEAD + text, "f.py", version)] == [code]) is ("error" in answer)


@pytest.mark.parametrize("version", ["0.1.9", "0.1.13", "0.1.15"])
def test_what_each_version_makes_of_the_other_forms(version: str) -> None:
    answers = {each["form"]: each for each in recorded("matrix")[version]["answers"]}
    new = position(version) >= position("0.1.14")
    assert answers["alloc_reducer(op)"]["scope"] == ("local.reducer" if new else "local.fragment")
    assert answers["alloc_reducer(replication=)"]["scope"] == "local.fragment"
    assert answers["alloc_descriptor(type)"]["scope"] == "local.descriptor.uint64"
    assert has("get_mbarrier", canonical(version)) is False
    assert all(
        "taken" in answers[form] for form in answers if form.startswith("alloc_var") and "scope, init" not in form
    )


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_numbers_are_those_of_the_compiler_s_cpu_target(emulated: Any) -> None:
    answers = recorded("numbers")["0.1.15"]["answers"]
    answers = [answer for answer in answers if "error" not in answer]  # what gcc does not compile has no numbers
    assert len(answers) >= 20
    wrong = []
    for answer in answers:
        kernel = emulated(kernels.numbers_of(answer["seed"]))
        floats, integers = kernels.inputs_of(answer["seed"])
        arrays = {
            "A": np.array(floats, np.float32).reshape(4, 64),
            "B": np.zeros((4, 64), np.float32),
            "C": np.array(integers, np.int32).reshape(4, 64),
        }
        machine = Machine(kernel, arrays, {})
        for block in range(4):
            machine.run_block((block,))
        digests = [hashlib.sha256(each.tobytes()).hexdigest()[:16] for each in arrays.values()]
        if digests != answer.get("digests"):
            wrong.append((answer["seed"], digests, answer))
    assert wrong == []


# --- live ------------------------------------------------------------------------------------------------------------

if importlib.util.find_spec("tilelang") is not None:

    @pytest.mark.parametrize(("what", "key"), [("matrix", "form"), ("offsets", "seed")])
    def test_the_installed_wheel_answers_as_recorded(what: str, key: str, tmp_path: Path) -> None:
        target = tmp_path / "answers.json"
        command = [sys.executable, str(ORACLE / "record.py"), what, str(target), *(["20"] if what == "offsets" else [])]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        live = json.loads(target.read_text())
        known = recorded(what)[live["wheel"]["version"]]
        by_key = [each for each in known["answers"] if what == "matrix" or each[key] < 20]
        assert live["answers"] == by_key
