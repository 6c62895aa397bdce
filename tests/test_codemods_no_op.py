"""Code that looks like what a rule rewrites, and is not: at least three pieces for each rule, with the reason.

A rule without its three pieces fails here, so a new rule cannot come without them.
"""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.codemods import RULES

IMPORTS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np
from neuronxcc.nki.language import par_dim
"""
LEAST = 3


def kernel(body: str, before: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"{IMPORTS}\n{before}\n\n@nki.jit\ndef kernel(x, n):\n{lines}    return x\n"


def host(code: str) -> str:
    return kernel("size = n + 1", code)


NO_OPS: dict[str, dict[str, str]] = {
    "NKI001": {
        "already the new namespace": "import nki\nimport nki.language as nl\n\n\n@nki.jit\ndef k(x):\n    return x\n",
        "the name in a string": "TEXT = 'import neuronxcc.nki.language as nl'\n",
        "another package of nearly that name": "import neuronxcc_tools.nki.language as nl\n\nx = nl.load(1)\n",
        "a module below a package of the user": "from mine.neuronxcc.nki import language as nl\n\nx = nl.load(1)\n",
        "a relative import": "from .neuronxcc.nki import language as nl\n\nx = nl.load(1)\n",
    },
    "NKI002": {
        "plain nki.jit on a kernel that nobody calls": kernel("size = n"),
        "jit of another library": host("import numba\n\n\n@numba.jit(mode='trace')\ndef fast(a):\n    return a"),
        "the module's own jit": host(
            "def jit(mode):\n    return mode\n\n\n@jit(mode='trace')\ndef f(a):\n    return a"
        ),
        "a decorator in a comment": host("# @nki.jit(mode='trace')\ndef f(a):\n    return a"),
    },
    "NKI003": {
        "a helper at module level": kernel("t = double(n)", "def double(a):\n    return 2 * a"),
        "a nested function of host code": host(
            "def outer(a):\n    def inner(b):\n        return a + b\n    return inner"
        ),
        "a method": host("class Sizes:\n    def total(self):\n        return 3"),
    },
    "NKI004": {
        "a loop that Beta 1 ran round by round": kernel("at = 0\nfor i in nl.static_range(4):\n    at += 1"),
        "names that every round binds anew": kernel("for i in nl.affine_range(4):\n    at = i * 2\n    at += 1"),
        "a loop of host code": host(
            "def count(a):\n    total = 0\n    for i in range(a):\n        total += i\n    return total"
        ),
        "while": kernel("at = 0\nwhile at < n:\n    at += 1"),
        "a loop over a tuple": kernel("at = 0\nfor size in (1, 2):\n    at += size"),
    },
    "NKI005": {
        "a numpy type in host code": host("EMPTY = np.zeros((3, 3), dtype=np.float32)"),
        "a type of nl": kernel("wide = nl.float32"),
        "an attribute of that name": kernel("wide = n.float32"),
        "the name in a string": kernel("wide = 'np.float32'"),
    },
    "NKI006": {
        "the token itself": kernel("op = nl.add"),
        "numpy in host code": host("def total(a):\n    return np.add(a, a)"),
        "a keyword of the user's own function": kernel("t = pick(op='max')", "def pick(op):\n    return op"),
    },
    "NKI007": {
        "a function of another module called baremetal": host("from mine import baremetal\n\nrun = baremetal(max)"),
        "a launch of the kernel itself": host("def run(x):\n    return kernel(x, 2)"),
        "a cast of the module's own": host("def static_cast(a, b):\n    return b(a)\n\n\ny = static_cast(1, int)"),
    },
    "NKI008": {
        "annotations of numbers and arrays": host("def f(a: int, b: np.ndarray) -> float:\n    return a"),
        "a class of the user's typing module": host("import mine.typing as nt\n\n\ndef f(a: nt.tensor):\n    return a"),
        "the name in a string": host("def f(a: 'nt.tensor'):\n    return a"),
    },
    "NKI009": {
        "a class of the host": host("class Shown:\n    rows = 1\n\n\nshown = Shown()"),
        "an enumeration": kernel(
            "size = Mode.fast.value", "from enum import Enum\n\n\nclass Mode(Enum):\n    fast = 1"
        ),
        "a class of another module": kernel("size = Shape(n).rows", "from mine import Shape"),
    },
    "NKI010": {
        "the partition comes first": kernel("t = nl.ndarray((par_dim(128), 4, 64), dtype=nl.float32, buffer=nl.sbuf)"),
        "no par_dim at all": kernel("t = nl.ndarray((128, 4, 64), dtype=nl.float32, buffer=nl.sbuf)"),
        "three dimensions in HBM": kernel("t = nl.ndarray((4, 128, 64), dtype=nl.float32, buffer=nl.shared_hbm)"),
        "a Python list": kernel("t = [1, 2]\nfirst = t[0]"),
    },
    "NKI011": {
        "automatic allocation": kernel("t = nl.ndarray((par_dim(128), 4), dtype=nl.float32, buffer=nl.sbuf)"),
        "auto_alloc": kernel("t = nl.ndarray((par_dim(128), 4), dtype=nl.float32, buffer=ncc.sbuf.auto_alloc())"),
        "the user's own mod_alloc": kernel(
            "t = mod_alloc(base_addr=0)", "def mod_alloc(base_addr):\n    return base_addr"
        ),
        "PSUM": kernel("t = nl.ndarray((par_dim(128), 4), dtype=nl.float32, buffer=ncc.psum.mod_alloc(base_bank=0))"),
    },
    "NKI012": {
        "automatic allocation": kernel("t = nl.ndarray((par_dim(128), 4), dtype=nl.float32, buffer=nl.psum)"),
        "auto_alloc": kernel("t = nl.ndarray((par_dim(128), 4), dtype=nl.float32, buffer=ncc.psum.auto_alloc())"),
        "the user's own psum object": kernel("t = n.psum.mod_alloc(base_bank=0)"),
        "SBUF": kernel("t = nl.ndarray((par_dim(128), 4), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=0))"),
    },
    "NKI013": {
        "mod_alloc": kernel(
            "t = nl.ndarray((par_dim(128), 4), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=0))"
        ),
        "the user's own alloc": kernel("t = alloc(n)", "def alloc(func):\n    return func"),
        "a function with the parameters of an address": kernel(
            "at = address(idx=(0,), pdim_size=128, fdim_size=4)",
            "def address(idx, pdim_size, fdim_size):\n    return pdim_size",
        ),
    },
    "NKI014": {
        "addresses are asked for": kernel(
            "t = nl.ndarray((par_dim(128), 4), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=0))"
        ),
        "automatic allocation": kernel("t = nl.ndarray((par_dim(128), 4), dtype=nl.float32, buffer=nl.sbuf)"),
        "PSUM": kernel("t = nl.ndarray((par_dim(128), 4), dtype=nl.float32, buffer=ncc.psum.mod_alloc(base_bank=0))"),
    },
    "NKI015": {
        "an object that hands out numbers": kernel(
            "size = shelf.put(n)", "class Shelf:\n    def put(self, n):\n        return n\n\n\nshelf = Shelf()"
        ),
        "a method of that name": kernel("size = n.allocate(3)"),
        "an allocator without an object": kernel(
            "t = nl.ndarray((par_dim(128), 4), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=0))"
        ),
    },
    "NKI016": {
        "a part for each core": kernel("part = x[nl.program_id(0) * n // nl.num_programs(0)]"),
        "the user's own program_id": kernel("row = program_id(1)", "def program_id(axis):\n    return axis"),
        "a subscript of host code": host("PICKED = [print, len][0]('nl.program_id(1)')"),
        "a number of cores": kernel("size = n") + "\n\nkernel[2](1, 2)\n",
    },
    "NKI020": {
        "the user's own load": kernel("t = load(n)", "def load(a):\n    return a"),
        "numpy in host code": host("def read(path):\n    return np.load(path)"),
        "a method called store": kernel("t = n.store(3)"),
    },
    "NKI021": {
        "a method of that name": kernel("t = n.activation(3)"),
        "a version, which is no instruction": kernel("new = nisa.get_nc_version() >= nisa.nc_version.gen3"),
        "an engine, which is no instruction": kernel("engine = nisa.vector_engine"),
    },
    "NKI022": {
        "arithmetic on sizes": kernel("size = 2 * n + n % 3 - n // 4"),
        "the name of an operator as a value": kernel("op = nl.multiply"),
        "the user's own add": kernel("size = add(n, 2)", "def add(a, b):\n    return a + b"),
        "a tensor of numpy in host code": host("def twice(a):\n    return np.exp(a) * 2"),
    },
    "NKI023": {
        "an integer that grows": kernel("size = 0\nsize += n"),
        "a sum in SBUF": kernel(
            "t = nl.ndarray((par_dim(128), 4), dtype=nl.float32, buffer=nl.sbuf)\nt[...] = 1.0\nt[...] += 1.0"
        ),
        "a list that grows": kernel("sizes = [1]\nsizes += [n]"),
    },
    "NKI024": {
        "an index into a list": kernel("sizes = [1, 2]\nfirst = sizes[0]"),
        "numpy's arange in host code": host("ROWS = np.arange(3)[:, None]"),
        "a slice of a tensor": kernel(
            "t = nl.ndarray((par_dim(128), 4), dtype=nl.float32, buffer=nl.sbuf)\nt[0:128, 0:2] = 1.0"
        ),
    },
    "NKI025": {
        "mask=None": kernel(
            "t = nl.ndarray((par_dim(128), 4), dtype=nl.float32, buffer=nl.sbuf)\n"
            "t[...] = nl.load(x[0:128, 0:4], mask=None)"
        ),
        "a keyword of the user's own function": kernel(
            "t = choose(n, mask=n < 3)", "def choose(a, mask):\n    return a"
        ),
        "a comparison of sizes": kernel("small = n < 4\nsize = 1\nif small:\n    size = 2"),
    },
    "NKI026": {
        "an identity of host code": host("EYE = np.identity(3)"),
        "the user's own shared_constant": kernel("t = shared_constant(n)", "def shared_constant(a):\n    return a"),
        "a constant of Python": kernel("eye = ((1, 0), (0, 1))"),
    },
    "NKI027": {
        "the user's own affine_select": kernel(
            "t = affine_select(pred=n < 3)", "def affine_select(pred):\n    return pred"
        ),
        "a method of that name": kernel("t = n.affine_select(3)"),
        "the predicate as a mask": kernel(
            "i_p = nl.arange(128)[:, None]\ni_f = nl.arange(4)[None, :]\n"
            "t = nl.ndarray((par_dim(128), 4), dtype=nl.float32, buffer=nl.sbuf)\n"
            "t[i_p, i_f] = nl.load(x[i_p, i_f], mask=i_p < 100)"
        ),
    },
    "NKI028": {
        "the user's own iota": kernel("t = iota(n)", "def iota(a):\n    return a"),
        "a method of that name": kernel("t = n.max8(3)"),
        "an instruction that makes its result": kernel(
            "t = nl.ndarray((par_dim(128), 4), dtype=nl.float32, buffer=nl.sbuf)\nt[...] = 1.0\nu = nisa.tensor_copy(t)"
        ),
    },
    "NKI029": {
        "a loop over a number": kernel("for i in range(n):\n    size = i"),
        "the user's own scalar": kernel("for i in range(scalar(n)):\n    size = i", "def scalar(a):\n    return a"),
        "a number made of a number": kernel("for i in range(int(n)):\n    size = i"),
    },
    "NKI030": {
        "the user's own floor": kernel("t = floor(n)", "def floor(a):\n    return a"),
        "a division of numbers": kernel("size = n // 3 + n % 3"),
        "a floor of a number": kernel("size = math.floor(n / 3)", "import math"),
    },
    "NKI031": {
        "the user's own all_reduce": kernel("size = all_reduce(n)", "def all_reduce(a):\n    return a"),
        "a method of that name": kernel("size = n.all_reduce(2)"),
        "the name of it in a string": kernel("text = 'nl.all_reduce(x)'"),
    },
    "NKI032": {
        "the user's own dropout": kernel("size = dropout(n)", "def dropout(a):\n    return a"),
        "a seed of numpy in host code": host("np.random.seed(0)"),
        "a rate that is called dropout": kernel("dropout = n"),
    },
    "NKI033": {
        "a parameter that no case shows": kernel("size = n"),
        "a name of that name": kernel("cases = n"),
        "the name of the file in a string": kernel("text = 'cases.toml'"),
    },
    "NKI034": {
        "the user's own expand_dims": kernel("size = expand_dims(n, 1)", "def expand_dims(a, b):\n    return a"),
        "an array of host code": host("SHAPE = np.zeros((2, 3)).ndim"),
        "a name of that name": kernel("ndim = n"),
    },
    "NKI035": {
        "a function in a loop that binds it alone": kernel("for i in range(n):\n        size = i"),
        "two functions of host code under one name": host(
            "if np.pi > 3:\n    def near(a):\n        return a\nelse:\n    def near(a):\n        return -a"
        ),
        "a parameter that is called like a name of the module": kernel("size = own(n)", "def own(x):\n    return x"),
    },
    "NKI036": {
        "a store to an output of its own": kernel(
            "out = nl.ndarray((128, 4), dtype=x.dtype, buffer=nl.shared_hbm)\nnl.store(out, 0)"
        ),
        "a function of the user's that is called store": kernel("size = store(x, n)", "def store(a, b):\n    return b"),
        "a name that stood for the parameter before": kernel(
            "out = x\nout = nl.ndarray((128, 4), dtype=nl.float32, buffer=nl.shared_hbm)\nnl.store(out, 0)"
        ),
    },
    "NKI037": {
        "the user's own softmax": kernel("size = softmax(n)", "def softmax(a):\n    return a"),
        "a variance of host code": host("SPREAD = np.var(np.zeros((2, 3)), axis=1)"),
        "a name of that name": kernel("rms_norm = n"),
    },
    "NKI090": {
        "a name in a comment": kernel("size = n  # nl.mean(x)"),
        "a name in a string": kernel("text = 'nl.mean(x)'"),
        "the user's own mean": kernel("size = mean(n)", "def mean(a):\n    return a"),
        "an attribute of the user's object": kernel("size = n.transpose"),
    },
    "NKI091": {
        "a comprehension of host code": host("SIZES = [a + 1 for a in (1, 2)]"),
        "try in host code": host(
            "def read(a):\n    try:\n        return int(a)\n    except ValueError:\n        return 0"
        ),
        "a lambda at module level": host("PICK = lambda a: a"),
        "an f-string without a format": kernel("text = f'{n} rows'"),
    },
}


@pytest.mark.parametrize("code", sorted(code for code in RULES if not code.startswith("NKV")))
def test_every_rule_has_its_no_ops(code):
    assert len(NO_OPS.get(code, {})) >= LEAST, f"write {LEAST} pieces of code that only look like {code}'s"


@pytest.mark.parametrize(("code", "reason"), [(code, reason) for code in sorted(NO_OPS) for reason in NO_OPS[code]])
def test_what_only_looks_like_it_is_left_alone(code, reason):
    assert code in RULES, "there is no such rule"
    outcome = rewrite(NO_OPS[code][reason])
    assert outcome.applied.get(code, 0) == 0
    assert [finding for finding in outcome.findings if finding.code == code] == []


@pytest.mark.parametrize("reason", sorted(NO_OPS["NKI001"]))
def test_a_module_without_beta_1_keeps_every_byte(reason):
    source = NO_OPS["NKI001"][reason]
    assert rewrite(source).source == source


HOST_CODE = sorted((c, r) for c, pieces in NO_OPS.items() for r, source in pieces.items() if "size = n + 1" in source)


@pytest.mark.parametrize(("code", "reason"), HOST_CODE)
def test_host_code_keeps_every_byte_when_the_kernel_below_is_rewritten(code, reason):
    source = NO_OPS[code][reason]
    host_code = source.partition("import par_dim\n")[2].partition("@nki.jit\ndef kernel")[0].strip()
    assert host_code
    assert host_code in rewrite(source).source
