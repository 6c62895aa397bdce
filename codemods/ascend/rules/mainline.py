"""ASC023 mainline: a kernel of the fork is written for the Ascend dialect of ``tilelang`` 0.1.15.

Why: ``tilelang`` has an Ascend 950 dialect of its own, ``tilelang.ascend.language``, with other names: ``alloc_shared``
(UB), ``alloc_l1``, ``alloc_l0a``, ``alloc_l0b``, ``alloc_l0c``, ``T.Kernel(n)`` without vector cores,
``T.gemm(..., clear_accum=)`` of operands in L1 whose second is transposed, ``T.Parallel`` inside of ``T.SimdVF()``.

Review: names and arguments are those of the dialect; its schedule, its sizes (``--hardware 950``) and its instructions
are another generation's. A file is rewritten as a whole or not at all: each call that the dialect has no counterpart
for (``T.tile.*``, flags, barriers, ``T.annotate_address``, the number of the vector core) is a finding. Written for
``--to ascend==mainline`` with ``--unsafe`` only.

Source: ``tilelang/ascend/language`` of the 0.1.15 wheel, which lowers the goldens.
"""

from __future__ import annotations

import ast

from nki_migrate.runtime.spec.ascend import LOOPS

from ...syntax.drafts import Draft, Edit
from ..module import AscendModule

CODE = "ASC023"
APPLICABILITY = "review"
GOALS = ("mainline",)
GOLDENS = ("ascend_mainline",)
VALID = ("x = 1",)
INVALID = (
    (
        "@T.prim_func\ndef k(A: T.Tensor((16, 16), 'float16')):\n"
        "    with T.Kernel(4, is_npu=True) as (cid, _):\n        a = T.alloc_L1((16, 16), 'float16')\n"
        "        c = T.alloc_L0C((16, 16), 'float32')\n        with T.Scope('C'):\n            T.copy(A, a)\n"
        "            T.gemm_v0(a, a, c, transpose_B=True, init=True)\n",
        "@T.prim_func\ndef k(A: T.Tensor((16, 16), 'float16')):\n"
        "    with T.Kernel(4) as cid:\n        a = T.alloc_l1((16, 16), 'float16')\n"
        "        c = T.alloc_l0c((16, 16), 'float32')\n        T.copy(A, a)\n"
        "        T.gemm(a, a, c, transpose_B=True, clear_accum=True)\n",
    ),
)
_NAMES = {
    "alloc_ub": "alloc_shared",
    "alloc_L1": "alloc_l1",
    "alloc_L0A": "alloc_l0a",
    "alloc_L0B": "alloc_l0b",
    "alloc_L0C": "alloc_l0c",
}
_SAME = ("prim_func", "Tensor", "copy", "ceildiv", "symbolic", "dynamic", "float32", "float16", "max", "min", *LOOPS)
_HELP = "write it by hand: the dialect has SimtVF and SimdVF blocks, dual_copy, and schedules that it makes itself"


def rewrite(module: AscendModule) -> None:
    """Rewrite the file, or say what keeps it from being rewritten."""
    if not any(module.kernels) or any(True for _ in module.calls("alloc_l1", "alloc_l0c")):
        return
    left = [*_unknown(module), *_inferred(module)]
    edits: list[Edit] = []
    if not left:
        for part in (
            *(_imports(module), _names(module), _kernels(module), _matmuls(module), _scopes(module), _loops(module)),
        ):
            if isinstance(part, tuple):
                left.append(part)
            else:
                edits += part
    for node, text in left:
        module.leave(node, CODE, text, _HELP)
    if left or not edits:
        return
    if module.options.unsafe:
        module.commit(Draft(CODE, module.kernels[0].kernel.function, edits))
    else:
        text = "the file can be written for the Ascend dialect of tilelang 0.1.15, whose hardware is another"
        module.leave(module.kernels[0].kernel.function, CODE, text, "--unsafe writes it", "review")


_Problem = tuple[ast.AST, str]


def _unknown(module: AscendModule) -> list[_Problem]:
    """Calls that the dialect has no counterpart for, as far as this rule knows it."""
    found: list[_Problem] = []
    for node in module.nodes:
        name = module.member(node.func) if isinstance(node, ast.Call) else None
        if name is not None and name not in (*_NAMES, *_SAME, "Kernel", "Scope", "gemm_v0"):
            found.append((node, f"T.{name}, for which the Ascend dialect has no counterpart that is known here"))
    return found


def _inferred(module: AscendModule) -> list[_Problem]:
    return [(c, f"T.{name}: which memory it means is not written") for c, name in module.calls("alloc_fragment")]


def _imports(module: AscendModule) -> list[Edit] | _Problem:
    edits = []
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "tilelang.language" and alias.asname:
                    edits.append(module.replace(alias, f"tilelang.ascend.language as {alias.asname}"))
        elif isinstance(node, ast.ImportFrom) and node.module == "tilelang" and not node.level:
            if any(alias.name == "language" for alias in node.names):
                if len(node.names) > 1:
                    return node, "the language is imported together with other names"
                name = node.names[0].asname or "language"
                edits.append(module.replace(node, f"from tilelang.ascend import language as {name}"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tilelang.language"):
            return node, "names are imported from the language one by one"
    return edits


def _names(module: AscendModule) -> list[Edit] | _Problem:
    edits = []
    for call, name in module.calls(*_NAMES):
        if not isinstance(call.func, ast.Attribute):
            return call, f"{name} is used without the name of the language"
        edits.append(module.replace(call.func, f"{module.prefix(call.func)}{_NAMES[name]}"))
    return edits


def _kernels(module: AscendModule) -> list[Edit] | _Problem:
    edits = []
    for _, item, call, _ in module.withs("Kernel"):
        target = item.optional_vars
        others = [k for k in call.keywords if k.arg != "is_npu"]
        if others or len(call.args) != 1:
            return call, "T.Kernel with other arguments than the number of blocks"
        if isinstance(target, ast.Tuple):
            names = [n.id for n in target.elts if isinstance(n, ast.Name)]
            read = module.in_kernel(call)
            inside = ast.walk(read.kernel.function) if read else iter(())
            used = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
            if len(names) != 2 or names[1] in used:
                return call, "the number of the vector core is used: the dialect has dual_copy for that"
            start = module.text.rfind("(", 0, module.start(target.elts[0]))
            begin = (
                min(module.start(target), start) if module.text[module.start(target)] != "(" else module.start(target)
            )
            edits.append(Edit(begin, module.end(target), names[0]))
        edits.append(module.replace(call, f"{module.segment(call.func)}({module.segment(call.args[0])})"))
    return edits


def _matmuls(module: AscendModule) -> list[Edit] | _Problem:
    edits = []
    for call, _ in module.calls("gemm_v0"):
        if len(call.args) != 3 or not isinstance(call.func, ast.Attribute):
            return call, "T.gemm_v0 with its options by position"
        given = {keyword.arg: module.constant(keyword.value) for keyword in call.keywords}
        if given.get("transpose_B") is not True or given.get("transpose_A", False) is not False:
            return call, "T.gemm of the dialect takes operands in L1 with transpose_B=True only"
        edits.append(module.replace(call.func, f"{module.prefix(call.func)}gemm"))
        for keyword in call.keywords:
            if keyword.arg == "init":
                start = module.start(keyword)
                edits.append(Edit(start, start + len("init"), "clear_accum"))
    return edits


def _loops(module: AscendModule) -> list[Edit] | _Problem:
    """Element-wise loops, each in a block of vector instructions."""
    edits: list[Edit] = []
    for call, _ in module.calls("Parallel"):
        loop = module.parents[call]
        if not isinstance(loop, ast.For) or not module.stands_alone(loop.body[0]):
            return call, "T.Parallel in a form that is not followed"
        inner = (n for s in loop.body for n in ast.walk(s))
        if any(isinstance(n, ast.Call) and module.member(n.func) is not None for n in inner):
            return call, "a T.Parallel that calls something: which vector instructions have it is not known here"
        moved = 0
        above = module.parents[loop]
        while not isinstance(above, ast.FunctionDef):
            if isinstance(above, ast.With) and any(s is above for s, *_ in module.withs("Scope")):
                moved += len(module.indent(above.body[0])) - len(module.indent(above))
            above = module.parents[above]
        indent = module.indent(loop)[moved:]
        name = module.language_name(loop, "SimdVF")
        edits.append(module.inserted(module.start(loop), f"with {name}():\n{indent}    "))
        at = module.text.find("\n", module.start(loop)) + 1
        while 0 < at < module.end(loop):
            line_end = module.text.find("\n", at)
            line = module.text[at : line_end if line_end >= 0 else len(module.text)]
            if line.strip():
                edits.append(module.inserted(at + len(line) - len(line.lstrip()), "    "))
            at = line_end + 1 if line_end >= 0 else len(module.text)
    return edits


def _scopes(module: AscendModule) -> list[Edit] | _Problem:
    edits: list[Edit] = []
    for statement, item, call, _ in module.withs("Scope"):
        moved = module.unwrapped(statement, "") if len(statement.items) == 1 and not item.optional_vars else None
        if moved is None:
            return call, "the body of a T.Scope cannot be moved"
        edits += moved
    return edits
