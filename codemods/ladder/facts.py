"""What a rule may ask: names, kernel code and tensors of the files of one rung."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from nki_migrate.runtime.spec import beta2
from nki_migrate.runtime.spec.versions import Version

from ..syntax.call_text import CallText, by_name
from .program import Program
from .rung import Rung
from .tensors import Tensor, Tensors

Node = TypeVar("Node", bound=ast.AST)
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Facts:
    """One file at the version ``old``, on its way to ``new``; ``is_certain``: it is surely older than ``new``.

    ``is_migrated``: the rules from Beta 1 wrote it just now, and wrote no more than they know.
    """

    program: Program
    tensors: Tensors
    path: str
    old: Version
    new: Version
    is_certain: bool = True
    is_migrated: bool = False
    _answers: dict[tuple[Hashable, ast.AST], Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, question: Callable[[Facts, Node], Answer], node: Node) -> Answer:
        """The answer to a question about a node, found once. Nobody may change it."""
        if (question, node) not in self._answers:
            self._answers[question, node] = question(self, node)
        answer: Answer = self._answers[question, node]
        return answer

    @property
    def rung(self) -> Rung:
        return self.program.rungs[self.path]

    def qualified(self, node: ast.AST) -> str:
        """``nki.isa.dma_copy`` for what means it; empty for what is not NKI's."""
        return self.rung.qualified(node)

    def called(self, node: ast.AST) -> str:
        """The qualified name of what a call calls; empty for all else."""
        return self.qualified(node.func) if isinstance(node, ast.Call) else ""

    def spelled(self, at: ast.AST, name: str) -> str | None:
        """A qualified name as the file can write it at ``at``."""
        return self.rung.spelled(at, name)

    def tensor(self, node: ast.expr) -> Tensor:
        """What stands where only a tensor can."""
        return self.tensors.tensor(self.path, node)

    def type_of(self, node: ast.expr) -> str:
        """The data type of a tensor by its name, or as the function at hand spells it; empty if neither is known."""
        tensor = self.tensor(node)
        if tensor.dtype:
            return tensor.dtype
        own = self.rung.function(node)
        if tensor.calls:
            here = all(path == self.path and self.rung.function(call) is own for path, call in tensor.calls)
            return tensor.dtype_text if here else ""
        while isinstance(node, ast.Subscript):
            node = node.value
        if not isinstance(node, ast.Name) or any(not isinstance(use.ctx, ast.Load) for use in self.rung.uses(node)):
            return ""
        return f"{node.id}.dtype"

    def text_of(self, call: ast.Call) -> CallText | None:
        """The arguments of a call in its text."""
        return self.rung.text_of(call)

    def parameters(self, name: str) -> list[str]:
        """The parameters of a function of NKI in the order in which the old version binds them."""
        entry = beta2.symbol(name, self.old)
        return [p.name for p in entry.parameters or ()] if entry is not None else []

    def arguments(self, call: ast.Call) -> dict[str, ast.expr]:
        """The arguments of a call of NKI by the names of the old version's parameters; empty where they are hidden."""
        return by_name(call, self.parameters(self.called(call))) or {}

    def in_kernel_code(self, node: ast.AST) -> bool:
        return self.program.in_kernel_code(self.rung, node)
