"""``nki.language`` of NKI 0.3: every function of its table, against numpy, and what it refuses."""

from __future__ import annotations

import inspect
from math import erf

import numpy as np
import pytest
from nki_migrate.runtime.beta2.functions import FUNCTIONS
from nki_migrate.runtime.beta2.launch import execute, launch
from nki_migrate.runtime.beta2.modules import MODULES
from nki_migrate.runtime.errors import KernelError, NotModelled
from nki_migrate.runtime.spec import beta2
from nki_migrate.runtime.spec.hardware import TARGETS

nki, nl, nisa = MODULES["nki"], MODULES["nki.language"], MODULES["nki.isa"]
X = np.linspace(0.25, 3.25, 32, dtype=np.float32).reshape(4, 8)
Y = np.linspace(-1.5, 2.0, 32, dtype=np.float32).reshape(4, 8)
LEFT, RIGHT = np.arange(32, dtype=np.int32).reshape(4, 8), np.arange(32, dtype=np.int32).reshape(4, 8)[::-1] % 5


def run(function, *arrays, target="gen3", version="0.3"):
    """``function`` on tiles of ``arrays``: the tile that it gives back, as an array."""

    def kernel(**given):
        tile = function(*(nl.load(tensor) for tensor in given.values()))
        if tile.buffer == nl.psum:
            product, tile = tile, nl.ndarray(tile.shape, tile.dtype, nl.sbuf)
            nisa.tensor_copy(tile, product)
        out = nl.ndarray(tile.shape, tile.dtype, nl.shared_hbm)
        nl.store(out, tile)
        return out

    given = {f"a{i}": np.ascontiguousarray(array) for i, array in enumerate(arrays)}
    return execute(kernel, given, target=TARGETS[target], version=version).outputs[0]


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


BINARY = {
    "add": np.add,
    "divide": np.divide,
    "equal": np.equal,
    "fmod": np.fmod,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "mod": np.mod,
    "multiply": np.multiply,
    "not_equal": np.not_equal,
    "power": np.power,
    "subtract": np.subtract,
}
BITS = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
}
UNARY = {
    "abs": np.abs,
    "arctan": np.arctan,
    "ceil": np.ceil,
    "copy": np.copy,
    "cos": np.cos,
    "erf": np.vectorize(erf),
    "erf_dx": lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x),
    "exp": np.exp,
    "floor": np.floor,
    "gelu_apprx_sigmoid": lambda x: x * sigmoid(1.702 * x),
    "log": np.log,
    "logical_not": np.logical_not,
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "negative": np.negative,
    "reciprocal": np.reciprocal,
    "relu": lambda x: np.maximum(x, 0),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": sigmoid,
    "sign": np.sign,
    "silu": lambda x: x * sigmoid(x),
    "sin": np.sin,
    "softplus": lambda x: np.log1p(np.exp(x)),
    "sqrt": np.sqrt,
    "square": np.square,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}
SHAPED = {
    "sum": (lambda x: nl.sum(x, axis=1), X.sum(axis=1, keepdims=True)),
    "max": (lambda x: nl.max(x, 1, keepdims=True), X.max(axis=1, keepdims=True)),
    "min": (lambda x: nl.min(x, axis=[1]), X.min(axis=1, keepdims=True)),
    "prod": (lambda x: nl.prod(x, -1), X.prod(axis=1, keepdims=True)),
    "all": (lambda x: nl.all(nl.greater(x, 1.0), 1), (X > 1).all(axis=1, keepdims=True)),
    "mean": (lambda x: nl.mean(x, axis=1), X.mean(axis=1, keepdims=True)),
    "var": (lambda x: nl.var(x, axis=1), X.var(axis=1, keepdims=True)),
    "softmax": (lambda x: nl.softmax(x, axis=1), np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)),
    "rms_norm": (
        lambda x: nl.rms_norm(x, nl.full((4, 8), 2.0, nl.float32), axis=1, n=8, epsilon=0.5),
        X / np.sqrt((X * X).sum(axis=1, keepdims=True) / 8 + 0.5) * 2,
    ),
    "where": (lambda x: nl.where(nl.greater(x, 1.0), x, 0.0), np.where(X > 1, X, 0)),
    "transpose": (nl.transpose, X.T),
    "matmul": (lambda x: nl.matmul(x, x, transpose_x=True), X.T @ X),
    "broadcast_to": (lambda x: nl.broadcast_to(nl.max(x, 1), (4, 3)), np.repeat(X.max(axis=1, keepdims=True), 3, 1)),
    "expand_dims": (lambda x: nl.expand_dims(x, 1), X[:, None, :]),
    "gather_flattened": (lambda x: nl.gather_flattened(x, nl.full((4, 2), 3, nl.uint32)), X[:, [3, 3]]),
    "full": (lambda x: nl.full((4, 2), 1.5, nl.bfloat16), np.full((4, 2), 1.5)),
    "ones": (lambda x: nl.ones((4, 2), nl.int32), np.ones((4, 2))),
    "zeros_like": (nl.zeros_like, np.zeros((4, 8))),
    "empty_like": (lambda x: nl.add(nl.zeros_like(x), nl.empty_like(x).shape[1]), np.full((4, 8), 8)),
    "dropout": (lambda x: nl.dropout(x, 0.0), X),
    "load": (lambda x: x, X),
    "load_transpose2d": (lambda x: nl.add(x, 0.0), X),
    "store": (lambda x: x, X),
    "is_hbm": (lambda x: nl.full((1, 1), int(nl.is_hbm(nl.shared_hbm)), nl.int32), np.ones((1, 1))),
    "is_sbuf": (lambda x: nl.full((1, 1), int(nl.is_sbuf(x.buffer)), nl.int32), np.ones((1, 1))),
    "is_psum": (lambda x: nl.full((1, 1), int(nl.is_psum(x.buffer)), nl.int32), np.zeros((1, 1))),
    "is_on_chip": (lambda x: nl.full((1, 1), int(nl.is_on_chip(nl.psum)), nl.int32), np.ones((1, 1))),
}
ELSEWHERE = {"gelu", "gelu_dx", "gelu_apprx_tanh", "gelu_apprx_sigmoid_dx", "silu_dx", "invert", "rand", "random_seed"}


def test_every_function_of_the_table_is_there_and_tested():
    """Names that 0.3 has as functions and 0.2 has not; all take the parameters of the table."""
    new = {
        name.removeprefix("nki.language.")
        for name, entry in beta2.table("0.3").items()
        if name.startswith("nki.language.") and entry.kind == "function"
        if name not in beta2.SYMBOLS or not beta2.SYMBOLS[name].is_callable
    }
    assert new == FUNCTIONS.keys()
    assert new == BINARY.keys() | BITS.keys() | UNARY.keys() | SHAPED.keys() | ELSEWHERE


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_take_the_parameters_of_the_table(name):
    entry = beta2.symbol(f"nki.language.{name}", "0.3")
    assert list(inspect.signature(FUNCTIONS[name]).parameters) == [p.name for p in entry.parameters]


@pytest.mark.parametrize("name", sorted(BINARY))
def test_binary_functions(name):
    expected = BINARY[name](X.astype(np.float64), Y.astype(np.float64)).astype(np.float32)
    if name != "power":
        np.testing.assert_allclose(run(getattr(nl, name), X, Y), expected, rtol=1e-6)
    scalar = BINARY[name](X.astype(np.float64), 2.0).astype(np.float32)
    np.testing.assert_allclose(run(lambda x: getattr(nl, name)(x, 2.0), X), scalar, rtol=1e-6)
    reverse = BINARY[name](2.0, X.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(run(lambda x: getattr(nl, name)(2.0, x), X), reverse, rtol=1e-6)


@pytest.mark.parametrize("name", sorted(BITS))
def test_functions_on_bits(name):
    assert np.array_equal(run(getattr(nl, name), LEFT, RIGHT), BITS[name](LEFT, RIGHT))
    assert np.array_equal(run(lambda x: getattr(nl, name)(x, 3), LEFT), BITS[name](LEFT, 3))
    assert np.array_equal(run(nl.invert, LEFT), ~LEFT)
    with pytest.raises(KernelError, match="bitvec operators need integer tensors"):
        run(getattr(nl, name), X, Y)


@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary_functions(name):
    expected = np.asarray(UNARY[name](X.astype(np.float64))).astype(np.float32)
    np.testing.assert_allclose(run(getattr(nl, name), X), expected, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("name", sorted(SHAPED))
def test_reductions_movement_and_creation(name):
    function, expected = SHAPED[name]
    found = run(function, X)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.astype(np.float32), expected.astype(np.float32), rtol=2e-6, atol=1e-6)


def test_types_are_those_of_the_tiles_unless_dtype_says_otherwise():
    half = X.astype(np.float16)
    assert run(lambda x: nl.add(x, 1.0), half).dtype == np.float16
    assert run(nl.add, half, X).dtype == np.float32
    assert run(lambda x: nl.less(x, 1.0, dtype=nl.uint8), X).dtype == np.uint8
    assert run(lambda x: nl.sum(x, 1, dtype=nl.float32), half).dtype == np.float32


def test_a_matrix_is_loaded_transposed():
    def kernel(x):
        tile = nl.load_transpose2d(x)
        out = nl.ndarray(tile.shape, tile.dtype, nl.shared_hbm)
        nl.store(out, value=tile)
        return out

    assert np.array_equal(execute(kernel, {"x": X}, version="0.3").outputs[0], X.T)


def test_a_seed_repeats_the_random_numbers():
    def pair(x):
        seed = nl.full((1, 1), 42, nl.int32)
        nl.random_seed(seed)
        first = nl.rand((4, 8), nl.float32)
        nl.random_seed(seed)
        return nl.subtract(first, nl.rand((4, 8), nl.float32))

    assert not run(pair, X).any()
    uniform = run(lambda x: nl.rand((4, 8), nl.float32), X)
    assert len(np.unique(uniform)) > 16 and uniform.min() >= 0 and uniform.max() < 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: nl.add(x, nl.max(x, 1)), "nothing is broadcast"),
        (lambda x: nl.add(1.0, 2.0), "one of x and y must be a tile"),
        (lambda x: nl.matmul(x, x), "without transpose_x=True"),
        (lambda x: nl.sum(x, axis=0), "must be the last free dimensions"),
        (lambda x: nl.broadcast_to(x, (4, 16)), "has no broadcast"),
        (lambda x: nl.expand_dims(x, 0), "the first dimension is the partition dimension"),
        (lambda x: nl.load(X), "expecting tensor access, got 'ndarray'"),
        (lambda x: nl.add(x, 1.0, mask=1), "unexpected keyword argument 'mask'"),
        (lambda x: nl.store(nl.ndarray((8, 4), nl.float32, nl.shared_hbm), nl.transpose(x)), "is in PSUM"),
        (lambda x: nl.cos(), "argument 'x' not"),
    ],
)
def test_what_the_functions_refuse(function, message):
    with pytest.raises((KernelError, NotModelled), match=message):
        run(function, X)


def test_the_first_generation_can_transpose_before_a_product():
    square = X[:, :4]
    np.testing.assert_allclose(run(lambda x: nl.matmul(x, x), square, target="gen2"), square @ square, rtol=1e-6)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_beta_2_has_none_of_them(name):
    with pytest.raises(KernelError, match=f"unimplemented API nki.language.{name}$|is an operator token"):
        execute(lambda x: getattr(nl, name)(x), {"x": X}, version="0.2")


def test_names_of_0_3_that_are_no_functions(monkeypatch):
    assert nl.MemoryRegion.shared_hbm.value == "shared_hbm" and nl.NkiTensor.__name__ == "NkiTensor"
    assert nisa.dma_engine.gpsimd_dma.value == 2 and nisa.dma_engine.name == "dma"
    assert issubclass(nisa.NkiValidationError, Exception) and nisa.VirtualRegister.__name__ == "Register"
    monkeypatch.setenv("NKI_MIGRATE_TARGET", "0.2")
    with pytest.raises(NotImplementedError, match=r"nki\.simulate is of NKI 0\.3"):
        nki.simulate(doubled)
    monkeypatch.setenv("NKI_MIGRATE_TARGET", "0.3")
    assert np.array_equal(nki.simulate(nki.jit(doubled))(X), 2 * X)
    assert np.array_equal(nki.simulate(doubled)(X), 2 * X)


def doubled(x):
    tile = nl.multiply(nl.load(x), 2.0)
    out = nl.ndarray(tile.shape, tile.dtype, nl.shared_hbm)
    nl.store(out, tile)
    return out


def test_the_front_end_of_0_3_takes_them():
    assert np.array_equal(launch(doubled, {"x": X}, version="0.3").outputs[0], 2 * X)
