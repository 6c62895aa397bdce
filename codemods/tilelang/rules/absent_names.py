"""TLG009 absent-names: a name that the target version does not have.

Why: names come and go: ``T.gemm_v1`` and ``T.gemm_v2`` went with 0.1.9, ``T.block`` with 0.1.10,
``T.Kernel(is_cpu=True)`` with 0.1.12, and an arrival count below 1 is an error since 0.1.14. No rule writes these;
they are only reported.

Source: ``dir(tilelang.language)`` of the wheels 0.1.7.post3, 0.1.8, 0.1.9, 0.1.13, 0.1.14 and 0.1.15.
"""

from __future__ import annotations

import ast

from nki_migrate.runtime.spec.tilelang import has, position

from ..module import Module

CODE = "TLG009"
SINCE = "0.1.3"
APPLICABILITY = "manual"
GOLDENS = ()
VALID = ("T.gemm(a, b, c)",)
INVALID = ()
_INSTEAD = {
    "gemm_v1": "T.gemm",
    "gemm_v2": "T.gemm",
    "block": "T.sblock",
    "block_attr": "T.sblock_attr",
    "create_list_of_mbarrier": "T.alloc_barrier",
    "get_mbarrier": "a buffer of T.alloc_barrier",
}


def rewrite(module: Module) -> None:
    """Report what the target version lacks, and what the source version may have had."""
    edited = {node for draft in module.drafts for edit in draft.edits for node in _within(module, edit.start, edit.end)}
    left = {finding.line for finding in module.findings}
    for node in module.nodes:
        if not isinstance(node, (ast.Attribute, ast.Name)) or not isinstance(node.ctx, ast.Load):
            continue
        if isinstance(module.parents.get(node), ast.Attribute) and module.member(module.parents[node]) is not None:
            continue
        name = module.member(node)
        if name is None or node in edited or node.lineno in left:
            if name is None and module.is_doubtful(node) and isinstance(node, ast.Attribute):
                module.leave(node, CODE, f"'{module.segment(node)}' may be TileLang's or another module's",
                             "give the two modules names of their own")  # fmt: skip
            continue
        first = name.split(".")[0]
        if has(first, module.target_version) is False:
            instead = _INSTEAD.get(first)
            module.leave(node, CODE, f"TileLang {module.target_version} has no T.{first}",
                         f"use {instead}" if instead else "see the release notes of the versions between")  # fmt: skip
    _calls(module)


def _calls(module: Module) -> None:
    if module.target >= position("0.1.12"):
        for call, _ in module.calls("Kernel"):
            if any(each.arg == "is_cpu" for each in call.keywords):
                module.leave(call, CODE, "T.Kernel has no parameter 'is_cpu' since 0.1.12",
                             "import tilelang.cpu.language as T")  # fmt: skip
    if module.target >= position("0.1.14"):
        for call, name in module.calls("alloc_barrier", "alloc_cluster_barrier"):
            counts = call.args[0] if call.args else call.keywords[0].value if call.keywords else None
            listed = counts.elts if isinstance(counts, (ast.List, ast.Tuple)) else [counts] if counts else []
            for each in listed:
                value = module.constant(each)
                if isinstance(value, int) and value < 1:
                    module.leave(call, CODE, f"{name} of {value} arrivals: a barrier counts at least 1",
                                 "give the number of threads that arrive")  # fmt: skip


def _within(module: Module, start: int, end: int) -> set[ast.AST]:
    return {
        node
        for node in module.nodes
        if isinstance(node, (ast.Attribute, ast.Name)) and start <= module.start(node) and module.end(node) <= end
    }
