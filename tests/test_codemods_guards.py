"""Kernels in a condition or a ``try`` of their module: rewritten like those at its top, imports beside theirs."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest
from first_rung import rewrite
from nki_migrate.codemods.syntax.module_level import module_definitions, where_installed
from nki_migrate.judging import Limits
from nki_migrate.runtime.pool import pool
from nki_migrate.suggest import Budget, suggestions

IMPORTS = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n"
KERNEL = """\
@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    rows, columns = x.shape
    for i in nl.affine_range(rows // 128):
        tile = nl.load(x[i * 128 : (i + 1) * 128, 0:columns])
        nl.store(out[i * 128 : (i + 1) * 128, 0:columns], value=nl.multiply(tile, 2.0))
    return out
"""


def _in(text: str) -> str:
    return textwrap.indent(text, "    ")


TRY = f"try:\n{_in(IMPORTS)}    HAVE = True\nexcept ImportError:\n"
GUARDS = {
    "a flag": f"{TRY}    HAVE = False\n\nif HAVE:\n\n{_in(KERNEL)}",
    "names that are None": f"{TRY}    nki = nl = None\n\nif nki is not None:\n\n{_in(KERNEL)}",
    "imports in the condition": f"from flags import HAVE\n\nif HAVE:\n{_in(IMPORTS)}\n{_in(KERNEL)}",
    "the kernel in the try": f"try:\n{_in(IMPORTS)}\n{_in(KERNEL)}except ImportError:\n    pass\n",
    "another function in its place": f"{TRY}    HAVE = False\n\nif HAVE:\n\n{_in(KERNEL)}\nelse:\n\n"
    "    def k(x):\n        raise RuntimeError('no NKI')\n",
}


@pytest.mark.parametrize("name", GUARDS)
def test_a_guarded_kernel_is_rewritten_as_one_at_the_top(name):
    outcome = rewrite(GUARDS[name])
    plain = rewrite(IMPORTS + KERNEL).source
    body = ast.unparse(module_definitions(ast.parse(plain))["k"])
    assert outcome.findings == ()
    assert ast.unparse(module_definitions(ast.parse(outcome.source))["k"]) == body


@pytest.mark.parametrize("name", GUARDS)
def test_the_module_can_still_be_imported_without_nki(name):
    top = ast.parse(rewrite(GUARDS[name]).source).body
    assert not any("nki" in ast.unparse(s) for s in top if isinstance(s, ast.Import | ast.ImportFrom))


def test_an_import_of_a_script_is_none_of_the_module():
    source = f"{IMPORTS}\n\n{KERNEL}\n\nif __name__ == '__main__':\n    import neuronxcc.nki.isa as nisa\n"
    assert "import nki.isa as nisa" in rewrite(source).source.partition("@nki.jit")[0]


def test_one_of_two_kernels_in_conditions_is_meant_by_no_name():
    tree = ast.parse(f"if FAST:\n\n{_in(KERNEL)}\nelse:\n\n{_in(KERNEL)}")
    assert module_definitions(tree) == {}


def test_a_module_is_read_as_it_is_where_nki_is_installed():
    tree = where_installed(ast.parse(GUARDS["another function in its place"]))
    assert [s.name for s in tree.body if isinstance(s, ast.FunctionDef)] == ["k"]


@pytest.mark.parametrize("name", ["a flag", "another function in its place"])
def test_a_guarded_kernel_has_cases_and_its_guard_no_other_side(name, tmp_path: Path):
    assert _suggested(tmp_path, GUARDS[name]) == ("k", True, ())


def test_a_kernel_that_is_decorated_by_hand_has_cases(tmp_path: Path):
    plain = KERNEL.replace("@nki.jit\n", "").replace("def k", "def _k")
    assert _suggested(tmp_path, f"{IMPORTS}\n\n{plain}\n\nk = nki.jit(_k)\n") == ("k", True, ())


def _suggested(directory: Path, text: str) -> tuple[str, bool, tuple[str, ...]]:
    file = directory / "kernels.py"
    file.write_text(text)
    with pool(1) as workers:
        (found,) = suggestions(workers, str(file), (), Budget(10.0, Limits(30.0, 4 << 30)))
    return found.kernel, bool(found.cases), found.unseen


HELD = f"{IMPORTS}\n\nclass Layer:\n\n{_in(KERNEL)}\n    @nki.jit\n    def own(self, x):\n        return x\n"


def test_a_kernel_that_a_class_holds_has_cases_by_both_names(tmp_path: Path):
    assert _suggested(tmp_path, HELD) == ("Layer.k", True, ())


OPTIONAL = f"""{IMPORTS}

def moved(tile, sink=None):
    have_sink = sink is not None
    if have_sink:
        tile = nl.add(tile, sink)
    return tile


@nki.jit
def k(x, sinks=None):
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    sink = None
    if sinks is not None:
        sink = nl.load(sinks[0:128, 0:1], dtype=nl.float32)
    tile = nl.load(x[0:128, 0:64], dtype=nl.float32)
    nl.store(out, value=moved(tile, sink=sink))
    return out
"""


def test_whether_a_tile_is_there_is_no_mask():
    assert rewrite(OPTIONAL).findings == ()


MASKED = f"""{IMPORTS}

def warmed(tile):
    return nl.exp(tile)


@nki.jit
def k(x):
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    p, f = nl.arange(128)[:, None], nl.arange(columns)[None, :]
    for i in nl.affine_range((rows + 127) // 128):
        tile = nl.load(x[i * 128 + p, f], mask=i * 128 + p < rows)
        warm = warmed(tile)
        nl.store(out[i * 128 + p, f], value=warm, mask=i * 128 + p < rows)
    return out
"""


def test_a_mask_cuts_what_a_function_gave_where_that_has_the_size_of_its_vector():
    outcome = rewrite(MASKED)
    assert outcome.findings == ()
    assert "assert warm.shape[0] == 128" in outcome.source
    assert "warm[0:p_size, :]" in outcome.source
