"""``nki-migrate cases suggest``: what the source says about arguments, and proposals that run."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest
from nki_migrate.cli import main
from nki_migrate.runtime.cases import TensorSpec, read_cases
from nki_migrate.suggest_calls import called_cases
from nki_migrate.suggest_docstrings import described, docstrings, documented_shapes
from nki_migrate.suggest_expressions import Unknown, evaluated
from nki_migrate.suggest_facts import Facts, facts_of, holds
from nki_migrate.suggest_objects import classes_of
from nki_migrate.suggest_proposals import proposed_cases

HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\nimport neuronxcc.nki.language as nl\n\n\n"


def facts(source: str) -> Facts:
    tree = ast.parse(source)
    definitions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return facts_of(tree, definitions[-1])


def test_unpacked_shapes_name_the_dimensions() -> None:
    found = facts("def k(x, y):\n    K, M = x.shape\n    K_, N = y.shape\n    _, z = x.shape\n    assert K == K_\n")
    assert found.shapes == {"x": ["K", "M"], "y": ["K_", "N"]}
    assert holds(found, {"K": 2, "K_": 2, "M": 1, "N": 1}, {}) and not holds(found, {"K": 2, "K_": 3}, {})


def test_indexed_shapes_and_subscripts_tell_ranks() -> None:
    found = facts("def k(x, y):\n    n = x.shape[2]\n    t = nl.load(y[0, 1])\n    assert x.shape[2] <= 128\n")
    assert found.shapes == {"x": ["x0", "x1", "x2"], "y": ["y0", "y1"]}
    assert not holds(found, {"x0": 1, "x1": 1, "x2": 129}, {})


def test_helpers_that_get_a_parameter_are_read() -> None:
    found = facts("def helper(a):\n    P, F = a.shape\n    assert P <= 128\n\ndef k(x):\n    return helper(x)\n")
    assert found.shapes == {"x": ["P", "F"]} and len(found.asserts) == 1


def test_a_docstring_gives_shapes() -> None:
    text = (
        "Kernel.\n\nArgs:\n    x: an input of shape (K, 512)\n    y (tensor): [128, N], transposed\n    other: (1, 2)\n"
    )
    assert documented_shapes([text], ["x", "y", "z"]) == {"x": ["K", 512], "y": [128, "N"]}


def test_a_docstring_gives_shapes_right_behind_names() -> None:
    text = "q [H, D], k and v: (H, D, S); `w`/`u` = [1, D], of rows (a, b). f(x), x.y [1, 2]"
    shapes = documented_shapes([text], ["q", "k", "v", "w", "u", "x", "y", "rows"])
    assert shapes == {
        "q": ["H", "D"],
        **{key: ["H", "D", "S"] for key in "kv"},
        **{key: [1, "D"] for key in "wu"},
        "rows": ["a", "b"],
    }


def test_comments_at_the_head_of_a_function_are_read_as_its_docstring() -> None:
    source = """\
def k(
    x,  # [B, H]
    y, z,  # z [B, 4]
    w,
):
    \"\"\"Of w.\"\"\"
    # w (H, 2)
    a = x.shape[0]  # y (1, 1) stands at the first statement
    b = 1  # z (7, 7) stands behind it
"""
    tree = described(source.encode(), "k.py")
    (kernel,) = tree.body
    found = documented_shapes(docstrings(tree, kernel), ["x", "y", "z", "w"])
    assert found == {"x": ["B", "H"], "z": ["B", 4], "w": ["H", 2], "y": [1, 1]}
    assert [node.lineno for node in kernel.body] == [6, 8, 9]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("K % 128 == 0", True),
        ("nl.tile_size.pmax", 128),
        ("1 < K // 2 <= 64", True),
        ("x.shape[0] == K and not_known", None),
        ("len(x.shape) == 2", True),
        ("K / 0", None),
        ("K // 0", None),
    ],
)
def test_asserts_are_decided_as_far_as_the_source_tells(text: str, value: object) -> None:
    values = {"K": 128, "x.shape": (128, 4)}
    node = ast.parse(text, mode="eval").body
    if value is None:
        with pytest.raises(Unknown):
            evaluated(node, values)
    else:
        assert evaluated(node, values) == value


def test_proposals_satisfy_the_asserts(tmp_path: Path) -> None:
    source = "def k(x, w, eps):\n    B, K, M = x.shape\n    assert M % 512 == 0\n    assert K == 64\n    w.dtype\n"
    tree = ast.parse(source)
    first = next(proposed_cases(tmp_path / "k.py", tree, tree.body[0]))  # type: ignore[arg-type]
    assert first.args["x"] == TensorSpec((2, 64, 512), "float32", "normal")
    assert first.args["eps"] == 1e-5 and len(first.args["w"].shape) == 2


def test_the_loops_of_the_first_proposal_run_twice_where_sizes_are_equal_that_are_asserted_to_be(
    tmp_path: Path,
) -> None:
    source = (
        "def k(image, weights):\n"
        "    N, channels, height, width = image.shape\n"
        "    out_channels, channels_, filter_height, filter_width = weights.shape\n"
        "    assert channels == channels_ and channels % 256 == out_channels % 128 == 0\n"
        "    rows = height - filter_height + 1\n"
        "    for n in nl.affine_range(math.ceil(rows / 4)):\n"
        "        nl.load(image[0, 0, n])\n"
    )
    tree = ast.parse(source)
    case = next(proposed_cases(tmp_path / "k.py", tree, tree.body[0]))  # type: ignore[arg-type]
    image, weights = case.args["image"], case.args["weights"]
    assert isinstance(image, TensorSpec) and isinstance(weights, TensorSpec)
    assert image.shape[1] == weights.shape[1] and image.shape[1] % 256 == weights.shape[0] % 128 == 0
    assert (image.shape[2] - weights.shape[2] + 1) / 4 > 1


def test_sizes_that_asserts_chain_have_one_name() -> None:
    found = facts("def k(x, y):\n    a, b = x.shape\n    c, d = y.shape\n    assert a == c == d and b == a\n")
    assert len({found.same().get(name, name) for name in "abcd"}) == 1


@pytest.mark.parametrize(("least", "holding"), [(0, [1, 2, 4]), (1, [2, 4]), (2, [4])])
def test_how_often_loops_run_is_asked_of_sizes(least: int, holding: list[int]) -> None:
    found = facts("def k(x):\n    a = x.shape[0]\n    for i in range(a // 2):\n        x[i]\n").with_loops(least)
    assert [size for size in (1, 2, 4) if holds(found, {"x0": size}, {})] == holding


def test_calls_beside_the_kernel_give_cases(tmp_path: Path) -> None:
    (tmp_path / "test_k.py").write_text(
        "import numpy as np\nfrom k import k\n\ndef test():\n    x = np.random.rand(128, 64).astype(np.float16)\n"
        "    k[2](x, y=np.zeros((4, 3), dtype=np.int32), scale=2.0, sizes=(3, 4))\n    k(unknown)\n"
    )
    tree = ast.parse("def k(x, y, scale, sizes):\n    pass\n")
    (case,) = called_cases(tmp_path / "k.py", tree, tree.body[0])  # type: ignore[arg-type]
    assert case.grid == (2,) and case.args["scale"] == 2.0 and case.args["sizes"] == (3, 4)
    assert case.args["x"] == TensorSpec((128, 64), "float16", "normal")
    assert case.args["y"] == TensorSpec((4, 3), "int32", "integers")


def test_what_is_beside_the_kernel_and_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a_deep.py").write_text("x = " + "-" * 20_000 + "1\n")
    (tmp_path / "a_loop.py").symlink_to("a_loop.py")
    os.mkfifo(tmp_path / "a_pipe.py")
    (tmp_path / "test_k.py").write_text("import numpy as np\nfrom k import k\nk(np.zeros((128, 64)))\n")
    tree = ast.parse("from a_deep import A\nfrom a_pipe import B\ndef k(x):\n    pass\n")
    kernel = tree.body[-1]
    assert isinstance(kernel, ast.FunctionDef)
    (case,) = called_cases(tmp_path / "k.py", tree, kernel)
    assert case.args["x"] == TensorSpec((128, 64), "float32", "normal")
    assert not classes_of(tmp_path / "k.py", tree)


def suggest(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["cases", "suggest", "--jobs", "2", *arguments])
    return int(end.value.code or 0), *capsys.readouterr()


def test_what_is_printed_is_a_file_of_cases_that_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = """@nki.jit
def matmul(lhsT, rhs):
    K, M = lhsT.shape
    K_, N = rhs.shape
    assert K == K_ and K <= nl.tile_size.pmax
    assert N % 512 == 0
    out = nl.ndarray((M, N), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    nl.store(out[:, 0:512], value=nisa.nc_matmul(nl.load(lhsT), nl.load(rhs[:, 0:512])))
    return out
"""
    (tmp_path / "k.py").write_text(HEAD + body)
    code, out, err = suggest(capsys, str(tmp_path / "k.py"))
    (tmp_path / "cases.toml").write_text(out)
    cases = read_cases(tmp_path / "cases.toml")
    assert (code, cases.bad) == (0, ()) and err.startswith(f"matmul: {len(cases.cases)} cases of ")
    assert [case.name for case in cases.cases] == [f"suggested {n} (k.py)" for n in range(1, len(cases.cases) + 1)]
    assert all(case.args["rhs"].shape[1] % 512 == 0 for case in cases.cases)


def test_files_with_a_kernel_of_one_name_share_a_file_of_cases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = """@nki.jit
def copied(x):
    P, F = x.shape
    assert P == 128
    out = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x))
    return out
"""
    printed = ""
    for name in ("old.py", "new.py"):
        (tmp_path / name).write_text(HEAD + body)
        code, out, err = suggest(capsys, str(tmp_path / name))
        assert code == 0 and "proposals" in err
        printed += out
    (tmp_path / "cases.toml").write_text(printed)
    cases = read_cases(tmp_path / "cases.toml")
    assert len(cases.cases) >= 4 and cases.bad == ()


def test_a_kernel_for_which_nothing_runs_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.py").write_text(
        HEAD + "@nki.jit\ndef never(x):\n    P, F = x.shape\n    assert P == 128 and F == 512\n"
        "    raise ValueError('never')\n"
    )
    code, out, err = suggest(capsys, str(tmp_path / "k.py"), "--seconds", "4")
    assert (code, out) == (1, "") and "never: no case of" in err and "ValueError: never" in err
    assert "ended at k.py:10 (`raise ValueError('never')`)" in err


def test_nothing_is_executed_where_that_is_forbidden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.py").write_text(HEAD)
    assert suggest(capsys, str(tmp_path / "k.py"), "--no-execute")[0] == 2
    assert "has no kernel" in suggest(capsys, str(tmp_path / "k.py"))[2]
