"""The border of kernel code: what has no evidence of being kernel code stays byte for byte."""

from __future__ import annotations

import ast
import random
import textwrap

import pytest
from first_rung import Options, rewrite, rewrite_together
from nki_migrate.codemods.project.kernel_code import kernel_code
from nki_migrate.guard import objection
from unmarked import unmarked

HEAD = """\
import functools
import logging
from dataclasses import dataclass
from typing import Optional

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import torch
from neuronxcc.nki._private_kernels.mlp import ActFnType
from neuronxcc.nki.language import nc

logger = logging.getLogger(__name__)


@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.exp(nl.load(x)))
    return out


"""
EXPRESSIONS = (
    "x.to(torch.int32)",
    "torch.zeros(4, 8, dtype=x.dtype, device=x.device)",
    "k(x)",
    "[t.view(-1) for t in rest if t is not None]",
    "{name: getattr(x, name) for name in ('shape', 'dtype')}",
    "x.shape[0] * 2 if flag else len(rest)",
    "{torch.float32: nl.float32, torch.bfloat16: nl.bfloat16}",
    "nl.tile_size.pmax",
    "(nc(2),)",
    "lambda t: t + 1",
    "f'{x.shape[0]:.2f} of {flag!r}'",
    "x[..., :-1] @ x.T",
    "sorted(set(rest), key=str)",
    "not (flag is None or x is not y)",
    "(y := x.reshape(-1))",
    "functools.reduce(torch.add, rest)",
    "min(x.shape) + max(1, 2, 3)",
)
PARAMETERS = ("", ": torch.Tensor", ': "torch.Tensor"', ": ActFnType", ": Optional[ActFnType]")


class Host:
    """Host functions and classes of random shapes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def expression(self) -> str:
        return self.random.choice(EXPRESSIONS)

    def block(self, depth: int) -> str:
        lines = [self.statement(depth) for _ in range(self.random.randint(1, 3))]
        return "\n".join(lines)

    def inside(self, depth: int) -> str:
        return textwrap.indent(self.block(depth + 1), "    ")

    def statement(self, depth: int) -> str:
        simple = [
            lambda: f"y = {self.expression()}",
            lambda: f"z: ActFnType = {self.expression()}",
            lambda: f"raise RuntimeError({self.expression()})",
            lambda: f"assert flag, {self.expression()}",
            lambda: f"logger.warning(\n        {self.expression()}  # said once\n)",
            lambda: "del y",
            lambda: "global logger",
            lambda: "x.data[0] = 1",
            lambda: "x += 1 ; y  =  x",
            lambda: f"return {self.expression()}",
        ]
        compound = [
            lambda: f"try:\n{self.inside(depth)}\nexcept (ValueError, KeyError) as e:\n    raise OSError from e",
            lambda: f"try:\n{self.inside(depth)}\nfinally:\n{self.inside(depth)}",
            lambda: f"with torch.no_grad() as g, open('f'):\n{self.inside(depth)}",
            lambda: f"for i, t in enumerate(rest):\n{self.inside(depth)}\nelse:\n    pass",
            lambda: f"while x.numel() > 4:\n{self.inside(depth)}\n    break",
            lambda: f"if flag is None:\n{self.inside(depth)}\nelif isinstance(x, torch.Tensor):\n{self.inside(depth)}",
            lambda: self.function(f"inner_{depth}", depth + 1),
        ]
        return self.random.choice(simple if depth > 2 or self.random.random() < 0.6 else compound)()

    def function(self, name: str, depth: int = 0, first: str = "") -> str:
        decorator = self.random.choice(["", "", "@torch.no_grad()\n", "@functools.lru_cache(maxsize=None)\n"])
        kind = self.random.choice(["def", "def", "def", "async def"]) if not first else "def"
        types = [self.random.choice(PARAMETERS) for _ in range(2)]
        given = f"{first}x{types[0]}, flag{types[1]} = None, *rest, y=(1, ), **options"
        returned = self.random.choice(["", " -> torch.Tensor", " -> Optional[ActFnType]", " -> 'ActFnType'"])
        head = f"{decorator}{kind} {name}({given}){returned}:"
        note = self.random.choice(["", '    """Host code."""\n', "    # host code, kept  \n"])
        return f"{head}\n{note}{self.inside(depth)}"

    def definition(self, name: str) -> str:
        if self.random.random() < 0.7:
            return self.function(name)
        head = self.random.choice(["class {}(torch.nn.Module):", "@dataclass\nclass {}:", "class {}(Exception):"])
        fields = "    mode: ActFnType = None\n    size : int=4"
        return (
            f"{head.format(name.title())}\n{fields}\n\n{textwrap.indent(self.function('forward', 0, 'self, '), '    ')}"
        )

    def text(self) -> str:
        return "\n\n\n".join(self.definition(f"host_{n}") for n in range(self.random.randint(1, 4))) + "\n"


def module(seed: int) -> str:
    host = Host(seed).text()
    try:
        compile(HEAD + host, "module", "exec", dont_inherit=True)
    except SyntaxError:
        return ""  # ``global`` behind a use, ``return`` of a value in an async generator
    return host


SEEDS = [seed for seed in range(90) if module(seed)]


def test_most_seeds_give_a_module():
    assert len(SEEDS) > 45


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_host_code_beside_a_kernel_keeps_its_bytes(seed, unsafe):
    host = module(seed)
    outcome = rewrite(HEAD + host, Options(unsafe=unsafe))
    assert unmarked(outcome.source).endswith("    return out\n\n\n" + host), outcome.source
    assert "nisa.dma_copy" in outcome.source  # the kernel is rewritten


@pytest.mark.parametrize("seed", SEEDS[:12])
def test_what_is_left_of_beta_1_in_host_code_has_a_finding(seed):
    source = HEAD + module(seed)
    options = Options()
    outcome = rewrite(source, options)
    assert objection(source, outcome, options, "module.py", rewrite) is None


EVIDENCE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from torch_neuronx import nki_call


def sizes(x):
    return x.shape[0] * 2


def helper(x):
    return nl.exp(x)


@nki.jit
def k(x):
    helper(nl.load(x[0 : sizes(x)]))
    return x


def given(a):
    return a


def run(x, dtype=nl.float32):
    if x is None:
        raise ValueError(dtype)
    return nki_call(given, k(x), nl.nc(2))


def made(n):
    @nki.jit
    def inner(x):
        return nl.load(x)

    return inner
"""


def test_the_evidence_of_each_function():
    found = kernel_code({"a.py": ast.parse(EVIDENCE)})
    kinds = {function.name: (evidence.kind, evidence.line) for function, evidence in found.evidence.items()}
    assert kinds == {
        "k": ("decorated", 14),
        "helper": ("traced", 11),
        "sizes": ("called", 16),
        "given": ("launched", 27),
        "inner": ("decorated", 31),
    }


def test_the_evidence_may_stand_in_another_file():
    texts = {
        "src/a.py": "def size(n):\n    return n\n\n\ndef other(n):\n    return n\n",
        "src/b.py": "from a import size\nimport neuronxcc.nki as nki\n\n\n@nki.jit\ndef k(x):\n    return size(x)\n",
    }
    found = kernel_code({path: ast.parse(text) for path, text in texts.items()})
    assert {function.name for function in found.evidence} == {"k", "size"}
    assert [e.path for f, e in found.evidence.items() if f.name == "size"] == ["src/b.py"]


def test_a_kernel_of_beta_2_is_no_kernel_code():
    source = "import nki\nimport nki.language as nl\n\n\n@nki.jit\ndef k(x):\n    return nl.load(x)\n"
    assert kernel_code({"a.py": ast.parse(source)}).evidence == {}


MIGRATED = """\
import nki
import nki.language as nl


@nki.jit
def done(x):
    return x


def launch(x, n):
    grid = (n, 2)
    return done[n](x), done[grid](x), done[2](x)
"""
IMPORTING = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from done import done, launch


@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.exp(nl.load(x)))
    return out


def both(x, n):
    return done[n](k(x)), launch(x, n)
"""


@pytest.mark.parametrize("unsafe", [False, True])
def test_a_kernel_of_beta_2_and_its_launches_stay(unsafe):
    outcomes = rewrite_together({"done.py": MIGRATED, "old.py": IMPORTING}, Options(unsafe=unsafe))
    assert outcomes["done.py"].source == MIGRATED and outcomes["done.py"].findings == ()
    assert outcomes["old.py"].source.endswith("    return done[n](k(x)), launch(x, n)\n")
    assert "nisa.dma_copy" in outcomes["old.py"].source


KERNEL = """\
@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.exp(nl.load(x)))
    return out
"""
OLD = ("import neuronxcc.nki as nki", "import neuronxcc.nki.language as nl")
NEW = ("import nki", "import nki.language as nl")
BY_NAME = 'nki = importlib.import_module("{}nki"); nl = importlib.import_module("{}nki.language")'


def branches(first, second):
    """Modules that import one namespace where they can, and else the other."""

    def block(lines):
        return "".join(f"    {line}\n" for line in lines)

    yield f"try:\n{block(first)}except ImportError:\n{block(second)}"
    yield f"try:\n{block([*first, 'HAVE = True'])}except ImportError:\n    HAVE = False\nif not HAVE:\n{block(second)}"
    yield f"try:\n    import x\nexcept ImportError:\n{block(first)}else:\n{block(second)}"
    yield f"if version('neuronx-cc') >= '2.20':\n{block(first)}else:\n{block(second)}"
    yield f"HAVE_NKI = find_spec('nki') is not None\nif HAVE_NKI:\n{block(first)}else:\n{block(second)}"
    yield f"def load():\n{block(first)}    return nki, nl\n\n\nif FLAG:\n    nki, nl = load()\nelse:\n{block(second)}"


BOTH = [text for pair in ((NEW, OLD), (OLD, NEW)) for text in branches(*pair)]
BOTH += [
    text for name in ("", "neuronxcc.") for text in branches([BY_NAME.format(name, name)], OLD if not name else NEW)
]
BOTH += branches([BY_NAME.format("", "")], [BY_NAME.format("neuronxcc.", "neuronxcc.")])


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("head", BOTH)
def test_a_module_of_both_namespaces_has_one_finding_and_stays(head, unsafe):
    source = f"{head}\n\n{KERNEL}"
    outcome = rewrite(source, Options(unsafe=unsafe))
    assert outcome.source == source
    assert [(f.code, f.applicability) for f in outcome.findings] == [("NKI001", "manual")]
    assert "both namespaces" in outcome.findings[0].message
    assert objection(source, outcome, Options(unsafe=unsafe), "module.py", rewrite) is None


def test_what_serves_both_is_told_from_what_is_half_migrated():
    halves = "\n".join([NEW[1], OLD[0], "", "", KERNEL])
    assert "half migrated" in rewrite(halves).findings[0].message
    assert "serves both" in rewrite(f"{BOTH[0]}\n\n{KERNEL}").findings[0].message


def test_the_graph_compiler_and_beta_2_are_not_both():
    source = "import neuronxcc\nimport nki\n\n\ndef f():\n    return neuronxcc.__version__\n"
    assert rewrite(source).source == source and rewrite(source).findings == ()
