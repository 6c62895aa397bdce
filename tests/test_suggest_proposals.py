"""What the source alone tells of the arguments of a kernel: shapes by asserts, texts, objects, docstrings."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import pytest
from nki_migrate.runtime.cases import Case, ObjectSpec
from nki_migrate.suggest_choices import choices
from nki_migrate.suggest_docstrings import docstrings, documented_kinds, documented_shapes
from nki_migrate.suggest_expressions import Unknown, evaluated
from nki_migrate.suggest_factories import factories
from nki_migrate.suggest_facts import facts_of, holds
from nki_migrate.suggest_proposals import proposed_cases


def parsed(source: str) -> tuple[ast.Module, ast.FunctionDef]:
    tree = ast.parse(source)
    return tree, [node for node in tree.body if isinstance(node, ast.FunctionDef)][-1]


def proposals(tmp_path: Path, source: str, count: int = 8) -> list[Case]:
    tree, kernel = parsed(source)
    return list(itertools.islice(proposed_cases(tmp_path / "k.py", tree, kernel), count))


def shapes(case: Case) -> dict[str, object]:
    return {name: getattr(value, "shape", value) for name, value in case.args.items()}


def test_shapes_that_asserts_say_are_computed(tmp_path: Path) -> None:
    source = """
def k(q, k, v, mask, out):
    b, d, n = q.shape
    assert tuple(k.shape) == (b, d, 2 * n)
    cache = (k.shape[0], k.shape[2], k.shape[1])
    assert v.shape == cache
    rows, columns = mask.shape[-2:]
    assert mask.shape == (b, n, rows, columns)
    assert columns % 384 == 0 and rows == 3
    assert out.shape == mask.shape
"""
    first = shapes(proposals(tmp_path, source)[0])
    b, d, n = first["q"]  # type: ignore[misc]  # a shape
    assert first["k"] == (b, d, 2 * n) and first["v"] == (b, 2 * n, d)
    assert first["mask"][:3] == (b, n, 3) and first["out"] == first["mask"]  # type: ignore[index]  # a shape


CONDITIONAL = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Config:
    tile: int = 1024
    turned: bool = False

def k(x, y, config=None):
    config = config or Config()
    n, m = x.shape
    if config.turned:
        assert y.shape == (m, n)
    else:
        assert y.shape == (n, m)
    if m % config.tile:
        raise ValueError("m")
    assert n == 64
"""


def test_asserts_hold_where_they_stand_and_objects_have_their_defaults(tmp_path: Path) -> None:
    found = proposals(tmp_path, CONDITIONAL)
    assert shapes(found[0]) == {"x": (64, 1024), "y": (64, 1024)}
    objects = [case.args["config"] for case in found if "config" in case.args]
    assert ObjectSpec("Config", {"turned": True}) in objects


def test_a_helper_of_one_expression_is_evaluated() -> None:
    tree, kernel = parsed(
        "def tiles(n, of=128):\n    'How many.'\n    return (n + of - 1) // of\n\n"
        "def k(x):\n    assert tiles(x.shape[0], of=128) == 3\n    assert not_known(x) == 3\n"
    )
    found = facts_of(tree, kernel)
    assert [size for size in (128, 256, 300, 384, 385) if holds(found, {"x0": size}, {})] == [300, 384]


def test_sizes_that_are_not_told_decide_nothing() -> None:
    tree, kernel = parsed("def k(x, y):\n    n, m = x.shape\n    assert y.shape == (m, n)\n    assert n == 2 * m\n")
    found = facts_of(tree, kernel)
    assert holds(found, {"n": 4}, {}) and holds(found, {"n": 4, "m": 2}, {}) and not holds(found, {"n": 4, "m": 4}, {})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-n + 3", 1),
        ("not n", False),
        ("n if n > 1 else m", 2),
        ("n > 5 and m", False),
        ("n == 2 or m", True),
        ("x.shape[-2:]", (4, 5)),
        ("x.shape[-1]", 5),
        ("mode in ('a', 'b')", True),
        ("mode is None", False),
        ("math.prod(x.shape[1:])", 20),
        ("n[0]", None),
        ("x.shape[n:m]", None),
    ],
)
def test_expressions_of_sizes(text: str, value: object) -> None:
    node, values = ast.parse(text, mode="eval").body, {"n": 2, "x.shape": (3, 4, 5), "mode": "a"}
    if value is None:
        with pytest.raises(Unknown):
            evaluated(node, values)
    else:
        assert evaluated(node, values) == value


def test_a_docstring_gives_shapes_of_expressions_and_points_to_another() -> None:
    tree, kernel = parsed(
        "def long(hidden, out):\n    '''Rows.\n\n    hidden: of shape [B, S, H]\n    out: of shape [B, S, H + 4]\n"
        "    '''\n\ndef k(hidden, out):\n    '''See the docstring of long.'''\n"
    )
    found = facts_of(tree, kernel).resolved({})
    values = found.values({"B": 2, "S": 128, "H": 60}, {})
    assert values["out.shape"] == (2, 128, 64) and found.symbols(["hidden", "out"], [], {}) == ["B", "H", "S"]
    assert documented_shapes(["x: it (see below, and there), not a shape"], ["x"]) == {}


def test_a_docstring_gives_shapes_below_the_name() -> None:
    text = "q : Tensor\n    The query, of shape [B, H, S]\nk : Tensor\n    The key.\n\n    (B, S)\nReturns (a, b)"
    assert documented_shapes([text], ["q", "k"]) == {"q": ["B", "H", "S"]}


def test_values_that_the_code_compares_with() -> None:
    tree, kernel = parsed(
        "def inner(x, order):\n    return x if order == [1, 0] else None\n\n"
        "def k(x, mode, order, kind: Literal['p', 'q'], act, eps):\n"
        "    '''act: A string, one of \"relu\" or \"gelu\".\n    eps: A positive float.\n    '''\n"
        "    assert mode in ['fast', 'exact']\n    if mode == 'slow':\n        inner(x, order)\n"
    )
    assert choices(tree, kernel) == {
        "mode": ["fast", "exact", "slow"],
        "order": [(1, 0)],
        "kind": ["p", "q"],
        "act": ["relu", "gelu"],
    }
    assert documented_kinds(docstrings(tree, kernel), ["eps", "act"]) == {"eps": 1.0}


def test_the_first_text_is_given_and_then_the_others(tmp_path: Path) -> None:
    source = "def k(x, mode):\n    assert mode in ('fast', 'exact')\n    n, m = x.shape\n"
    assert [case.args["mode"] for case in proposals(tmp_path, source, 2)] == ["fast", "exact"]


def test_sizes_that_differ_are_proposed_behind_those_that_are_equal(tmp_path: Path) -> None:
    """An error names a size: where two dimensions have it, nothing tells which one is meant."""
    found = [shapes(case)["x"] for case in proposals(tmp_path, "def k(x):\n    n, m = x.shape\n", 4)]
    assert found[0] == (128, 128) and all(n != m for n, m in found[1:4])  # type: ignore[misc]  # shapes


def test_names_of_dimensions_are_known_where_parts_are_taken_first(tmp_path: Path) -> None:
    source = (
        "def k(image):\n    part = image[0, 0]\n    n, channels, height, width = image.shape\n    assert height > 3\n"
    )
    tree, kernel = parsed(source)
    assert facts_of(tree, kernel).shapes == {"image": ["n", "channels", "height", "width"]}
    assert shapes(proposals(tmp_path, source)[0])["image"][2:] == (8, 8)  # type: ignore[index]  # a shape


def test_of_two_shapes_that_are_one_the_longer_tells(tmp_path: Path) -> None:
    source = "def k(x, y):\n    assert x.shape == y.shape\n    n = x.shape[2]\n    y[0, 1]\n"
    first = shapes(proposals(tmp_path, source)[0])
    assert first["x"] == first["y"] and len(first["x"]) == 3  # type: ignore[arg-type]  # a shape


def test_a_flag_that_an_assert_wants_otherwise_than_by_default_is_given(tmp_path: Path) -> None:
    source = "def k(x, flag=True, other=True):\n    assert flag == False\n    n, m = x.shape\n"
    first = proposals(tmp_path, source)[0]
    assert first.args["flag"] is False and "other" not in first.args


def test_numbers_are_sizes_that_the_asserts_allow(tmp_path: Path) -> None:
    source = "def k(x, tile, heads):\n    n, m = x.shape\n    assert n == tile and m % heads == 0 and heads > 2\n"
    for found in proposals(tmp_path, source, 3):
        n, m = found.args["x"].shape
        assert found.args["tile"] == n and m % found.args["heads"] == 0 and found.args["heads"] > 2


@pytest.mark.parametrize(
    ("launch", "grid"),
    [
        ("k[nl.nc(cores)](x, 4, cores)", (2, 2)),
        ("k[rows, cores](x, tile=4, cores=cores)", (2, 2)),
        ("k[nl.nc(2)](x, 4, 2)", (2, 2)),
        ("other[nl.nc(cores)](x, 4, cores)", (2, 2)),
    ],
)
def test_a_launch_hands_over_the_extent_of_its_grid(tmp_path: Path, launch: str, grid: tuple[int, ...]) -> None:
    source = f"""
def run(x, rows, cores):
    return {launch}

def k(x, tile, cores=1):
    n, m = x.shape
    core = nl.program_id(0) + nl.program_id(1)
    assert n == 64 * cores
"""
    told = "(cores)" in launch or "cores=cores" in launch
    is_handed = told and not launch.startswith("other")
    for found in proposals(tmp_path, source, 3):
        assert found.args.get("cores") == (2 if is_handed else None)
        assert found.args["x"].shape[0] == (128 if is_handed else 64)
    assert proposals(tmp_path, source, 1)[0].grid == grid


def test_a_name_of_the_module_is_not_that_of_the_kernel(tmp_path: Path) -> None:
    source = "n = 4096\nm = 64\n\ndef k(x):\n    n, _ = x.shape\n    assert n == 4 * m\n"
    assert shapes(proposals(tmp_path, source)[0])["x"][0] == 256  # type: ignore[index]  # a shape


def test_a_number_that_no_size_depends_on_is_a_small_one(tmp_path: Path) -> None:
    source = "def k(x, window: int):\n    n, m = x.shape\n    w = window\n    rows = n - w\n"
    assert proposals(tmp_path, source)[0].args["window"] == 2


def test_what_the_source_says_of_sizes_may_contradict_itself(tmp_path: Path) -> None:
    source = "def k(x, y):\n    a, b, c, d = x.shape\n    assert y.shape == unknown(x)\n    assert a * 3 == a\n"
    assert shapes(proposals(tmp_path, source)[0])["x"] == (2, 2, 2, 2)


COMPUTED = '''
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def make(length, block):
    """A kernel for one length."""
    PADDED = ((length + block - 1) // block) * block
    COUNT = PADDED // block

    @nki.jit
    def kernel(x):
        """x: (PADDED, 64)"""
        out = nl.ndarray((PADDED, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(COUNT):
            nl.store(out[i * block : (i + 1) * block, :], nl.load(x[i * block : (i + 1) * block, :]))
        return out

    return kernel
'''


def test_sizes_that_are_computed_from_numbers_are_no_symbols() -> None:
    tree = ast.parse(COMPUTED)
    factory = factories(tree)["make"]
    first = factory.parted(next(proposed_cases(Path("k.py"), tree, factory.whole)))
    assert first.make is not None
    length, block = first.make["length"], first.make["block"]
    assert first.args["x"].shape == (-(-length // block) * block, 64) and length > block


@pytest.mark.parametrize(
    ("body", "ranks"),
    [
        ("n = y.shape[0]\nt = nl.load(y)", [2, 1]),
        ("n = y.shape[0]\nassert len(y.shape) == 1\nt = nl.load(y)", [1]),
        ("assert y.shape == (8,)\nn = y.shape[0]\nt = nl.load(y)", [1]),
        ("n = y.shape[0]\nt = nl.load(y[0:n])", [1]),
        ("n = y.shape[1]\nt = nl.load(y)", [2]),
    ],
)
def test_a_tensor_of_which_a_tile_is_loaded_whole_has_two_dimensions_first(
    tmp_path: Path, body: str, ranks: list[int]
) -> None:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    source = f"def k(x, y):\n    m = x.shape[1]\n{lines}    assert x.shape[1] == 64\n"
    found = [len(case.args["y"].shape) for case in proposals(tmp_path, source)]
    assert list(dict.fromkeys(found)) == ranks
