"""What the tool writes beside what people wrote: lines and instructions of kernels that are public on both sides.

    python tests/bench/author.py --samples DIR --examples DIR --later DIR --sdk DIR --library DIR [-v] [--only WORD]

Beta 1 are ``--samples``, aws-neuron/nki-samples at 0898a77, and ``--examples``, ``nki/examples`` of aws-neuron-sdk at
v2.26.1: rewritten here in a copy as a whole with ``--unsafe``, with one module of functions for each package, which is
the default. What people wrote are ``--later``, nki-samples after its kernels were migrated (varuntej07/aws-nki has it
whole; a fork of 2026-05-29 was used first), ``--sdk``, ``nki/examples`` of aws-neuron-sdk at 2.28 to 2.32, and
``--library``, aws-neuron/nki-library at 0759719. A pair of which a checkout is not given, or has no such file, is left
out. Nothing of a checkout is written to, and nothing of it is kept.

Lines are those that code stands on (no blank ones, comments, doc strings) after black has set both sides 120 columns
wide, of the kernel and of all functions that it reaches in its file and in files beside it: what a rewrite adds to a
file counts. Instructions are the calls in them of ``nisa``, and of the operations of ``nl`` that later versions have
again. The mean is geometric.
"""

from __future__ import annotations

import argparse
import ast
import io
import math
import sys
import tempfile
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import black
from nki_migrate.codemods import Options
from nki_migrate.codemods.render.support_module import NAME as SUPPORT
from nki_migrate.discover import found_files
from nki_migrate.rewriting import rewrite_reports
from nki_migrate.support_homes import with_homes, with_modules
from verified import _write

TUTORIALS = "src/nki_samples/tutorials/"
TEAM = "contributed/neuron-team-kernels/"
CORE = "src/nkilib_src/nkilib/core/"
MATMULS = "matrix_multiplication/matrix_multiplication_nki_kernels.py"
ATTENTION = "attention_fwd_performance/attention_kernels.py"
MAMBA = "fused_mamba/mamba_nki_kernels.py"
_STILL_CALLS = frozenset(
    "cdiv ds ndarray affine_range static_range sequential_range program_id num_programs par_dim".split()
)
_NO_INSTRUCTIONS = frozenset("engine dma_engine matmul_perf_mode dge_mode oob_mode reduce_cmd get_nc_version".split())


@dataclass(frozen=True)
class Pair:
    """A kernel before, and what people made of it: (checkout, file, kernel) of each."""

    before: tuple[str, str, str]
    theirs: tuple[str, str, str]


def _same(before: str, theirs: str, path: str, other: str, *kernels: str) -> tuple[Pair, ...]:
    return tuple(Pair((before, path, kernel), (theirs, other, kernel)) for kernel in kernels)


def _tutorial(path: str, *kernels: str) -> tuple[Pair, ...]:
    return _same("samples", "later", TUTORIALS + path, TUTORIALS + path, *kernels)


def _example(path: str, *kernels: str) -> tuple[Pair, ...]:
    return _same("examples", "sdk", path, path, *kernels)


PAIRS = (
    *_tutorial(MATMULS, "nki_matmul_basic_", "nki_matmul_tiled_", "nki_matmul_hoist_load_"),
    *_tutorial(MATMULS, "nki_matmul_block_free_dimension_", "nki_matmul_fully_optimized_"),
    *_tutorial("average_pool2d/average_pool2d_nki_kernels.py", "tensor_avgpool_kernel"),
    *_tutorial("transpose2d/transpose2d_nki_kernels.py", "tensor_transpose2D_kernel_"),
    *_tutorial(MAMBA, "mamba_v1", "mamba_v2", "mamba_v3"),
    *_tutorial("tensor_addition/tensor_addition_nki_kernels.py", "nki_tensor_add"),
    *_tutorial(ATTENTION, *(f"attn_fwd_v{version}" for version in range(1, 9)), "attn_fwd_v8a"),
    *_example("index-case-1.py", "tensor_split_kernel_"),
    *_example("index-case-3.py", "tensor_maxpool_kernel_"),
    *(pair for place in ("pass", "loop") for pair in _example(f"layout-{place}.py", "tensor_exp_kernel_")),
    *(
        pair
        for kind in ("baremetal", "jax", "torch")
        for pair in _example(f"getting_started_{kind}.py", "nki_tensor_add_kernel")
    ),
    *_same("samples", "library", TEAM + "RoPE.py", CORE + "embeddings/rope.py", "RoPE_sbuf", "RoPE"),
    *_same("samples", "library", TEAM + "cumsum.py", CORE + "cumsum/cumsum.py", "cumsum"),
    *_same(
        "samples",
        "library",
        "src/nki_samples/reference/rmsnorm_quant/rmsnorm_quant.py",
        CORE + "rmsnorm/rmsnorm_quant.py",
        "rmsnorm_quant_kernel",
    ),
)


@dataclass(frozen=True)
class Size:
    """Of a kernel and what it calls: lines of code, and instructions; and which functions are counted."""

    lines: int
    instructions: int
    functions: tuple[str, ...]


def main(argv: Sequence[str]) -> int:
    """Rewrite, count, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for checkout in ("samples", "examples", "later", "sdk", "library"):
        parser.add_argument(f"--{checkout}", type=Path, metavar="DIR")
    parser.add_argument("--only", default="", help="pairs with this word in their file or kernel")
    parser.add_argument("-v", "--verbose", action="store_true", help="also name the functions that are counted")
    options = parser.parse_args(argv)
    places = {name: place for name, place in vars(options).items() if isinstance(place, Path)}
    pairs = [
        pair
        for pair in PAIRS
        if options.only in " ".join(pair.before) and all(_is_there(places, side) for side in (pair.before, pair.theirs))
    ]
    with tempfile.TemporaryDirectory() as scratch:
        for name in {pair.before[0] for pair in pairs}:
            _rewritten(places[name], Path(scratch, name))
        rows = [(pair, _size(Path(scratch), pair.before), _size_of(places, pair.theirs)) for pair in pairs]
    print("\n".join(_table(rows, options.verbose)))
    return 0


def _is_there(places: dict[str, Path], kernel: tuple[str, str, str]) -> bool:
    return kernel[0] in places and (places[kernel[0]] / kernel[1]).exists()


def _rewritten(checkout: Path, target: Path) -> None:
    """Write to ``target`` what the tool makes of a checkout as a whole."""
    checkout = checkout.resolve()
    files = list(found_files([str(checkout)]))
    options = with_homes(Options(unsafe=True), files)
    reports = with_modules(list(rewrite_reports(files, options, jobs=2)), options.target)
    _write(reports, checkout, target)


def _size_of(places: dict[str, Path], kernel: tuple[str, str, str]) -> Size:
    return size(places[kernel[0]] / kernel[1], kernel[2])


def _size(scratch: Path, kernel: tuple[str, str, str]) -> Size:
    return size(scratch / kernel[0] / kernel[1], kernel[2])


def size(path: Path, kernel: str) -> Size:
    """The size of the function ``kernel`` of the file ``path``, and of all that it reaches in files beside it."""
    reached = list(_reached(path, kernel))
    lines = sum(len(_code_lines(file, function)) for file, function in reached)
    instructions = sum(_instructions(function) for _, function in reached)
    return Size(lines, instructions, tuple(function.name for _, function in reached))


def _reached(path: Path, kernel: str) -> Iterator[tuple[Path, ast.FunctionDef | ast.ClassDef]]:
    """The definition of ``kernel``, and those of what it names, each once."""
    waiting, seen = [(path, kernel)], set()
    while waiting:
        file, name = waiting.pop(0)
        definitions, imported = _module(file)
        if name in imported:
            waiting.append((imported[name], name))
        if name not in definitions or (file, name) in seen:
            continue
        seen.add((file, name))
        definition = definitions[name]
        yield file, definition
        waiting.extend((file, node.id) for node in ast.walk(definition) if isinstance(node, ast.Name))


@cache
def _module(path: Path) -> tuple[dict[str, ast.FunctionDef | ast.ClassDef], dict[str, Path]]:
    """What a file defines at its top level, and the files beside it that names are imported from."""
    tree = ast.parse(_text(path))
    definitions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    imported = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith(("nki.", "neuronxcc")):
            home = _home(path, node.module.split(".")[-1])
            if home is not None:
                imported.update({alias.name: home for alias in node.names})
    return definitions, imported


def _home(path: Path, module: str) -> Path | None:
    """The file of a module beside ``path``, or of the functions that the rewrite adds to a folder around it."""
    folders = path.parents if module == SUPPORT else path.parents[:1]
    return next((file for folder in folders if (file := folder / f"{module}.py").exists()), None)


@cache
def _text(path: Path) -> str:
    return black.format_str(path.read_text(), mode=black.Mode(line_length=120, magic_trailing_comma=False))


@cache
def _lines_with_code(path: Path) -> frozenset[int]:
    """The lines of a file on which something else than comments and strings that are statements stands."""
    text = _text(path)
    documentation = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = (token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in skipped)
    code = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    return frozenset(code - documentation)


def _code_lines(path: Path, definition: ast.FunctionDef | ast.ClassDef) -> set[int]:
    return {line for line in _lines_with_code(path) if definition.lineno <= line <= (definition.end_lineno or 0)}


def _instructions(definition: ast.AST) -> int:
    """The calls of instructions: those of the module ``nisa``, and operations of ``nl``."""
    calls = (node.func for node in ast.walk(definition) if isinstance(node, ast.Call))
    named = [(ast.unparse(call.value), call.attr) for call in calls if isinstance(call, ast.Attribute)]
    isa = sum(1 for module, name in named if module in ("nisa", "nki.isa") and name not in _NO_INSTRUCTIONS)
    return isa + sum(1 for module, name in named if module == "nl" and name not in _STILL_CALLS)


def _table(rows: Sequence[tuple[Pair, Size, Size]], verbose: bool) -> Iterator[str]:
    """A line for each pair, the worst one first, and the means."""
    yield f"{'kernel':<62} {'lines':>12} {'ratio':>6}   {'instructions':>12} {'ratio':>6}"
    for pair, ours, theirs in sorted(rows, key=lambda row: -row[1].lines / row[2].lines):
        name = f"{Path(pair.before[1]).name} {pair.before[2]}"
        instructions = ours.instructions / max(theirs.instructions, 1)
        yield (
            f"{name:<62} {ours.lines:>4} :{theirs.lines:>5}  {ours.lines / theirs.lines:>6.2f}"
            f"   {ours.instructions:>4} :{theirs.instructions:>5}  {instructions:>6.2f}"
        )
        if verbose:
            yield f"    ours: {', '.join(ours.functions)}\n    theirs: {', '.join(theirs.functions)}"
    lines = _mean(ours.lines / theirs.lines for _, ours, theirs in rows)
    calls = _mean(ours.instructions / theirs.instructions for _, ours, theirs in rows if theirs.instructions)
    yield f"{len(rows)} pairs, geometric mean: lines {lines:.2f}, instructions {calls:.2f}"


def _mean(ratios: Iterable[float]) -> float:
    """The geometric mean; 1 of nothing."""
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logarithms) / max(len(logarithms), 1))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
