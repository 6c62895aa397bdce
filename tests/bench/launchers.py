"""Kernels that launch the functions of a checkout that are none by themselves: Beta 1 source, made from a launch.

A kernel of the old style writes its outputs into parameters, which no kernel of Beta 2 can. So a kernel is put beside
the function's file that makes the outputs, calls the function and returns them; it is migrated together with the
function. A function that returns its outputs, and is a kernel only where a program makes it one, gets its decorator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_HEAD = '''"""Kernels that call functions of {stem}.py as they were launched."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from {stem} import {names}
'''
START = "_at_start"
"""Behind the name of an output: the parameter with what is in it before the kernel runs."""


@dataclass
class Launchers:
    """The kernels to put beside each file, by the file's path."""

    texts: dict[Path, dict[str, str]] = field(default_factory=dict)
    imported: dict[Path, set[str]] = field(default_factory=dict)
    decorated: dict[Path, set[str]] = field(default_factory=dict)

    def launched(self, launch: dict[str, Any]) -> dict[str, Any]:
        """A launch as the emulator recorded it, of a kernel that can be launched in both versions."""
        outputs = {name: value for name, value in launch["args"].items() if _is_output(value)}
        if launch["kernel"] and not outputs:
            return launch
        path = Path(launch["file"])
        if not outputs:
            self.decorated.setdefault(path, set()).add(launch["function"])
            return {**launch, "kernel": launch["function"]}
        known = self.texts.setdefault(path, {})
        body = _body(launch, outputs)
        name = next(
            (name for name, text in known.items() if text == body), f"{launch['function']}_launch_{len(known) + 1}"
        )
        known[name] = body
        self.imported.setdefault(path, set()).update([launch["function"], *_classes(launch["args"])])
        given = {key: value for key, value in launch["args"].items() if key not in outputs}
        if not launch["grid"]:
            given |= {key + START: _zeros(value) for key, value in outputs.items()}
        return {**launch, "kernel": name, "args": given, "file": str(beside(path))}

    def write(self) -> None:
        """Put each file of kernels beside the file whose functions they call, and decorators on functions."""
        for path, kernels in self.texts.items():
            text = _HEAD.format(stem=path.stem, names=", ".join(sorted(self.imported[path])))
            for name, body in kernels.items():
                text += "\n\n@nki.jit\n" + body.replace("def kernel(", f"def {name}(", 1)
            beside(path).write_text(text)
        for path, functions in self.decorated.items():
            lines = "import neuronxcc.nki as nki\n\n\n@nki.jit\ndef "
            text = re.sub(rf"^def (?={'|'.join(functions)}\b)", lines, path.read_text(), flags=re.MULTILINE)
            path.write_text(text)


def beside(path: Path) -> Path:
    """The file of kernels that call the functions of ``path``."""
    return path.with_name(f"launch_{path.name}")


def _is_output(value: Any) -> bool:
    return isinstance(value, dict) and bool(value.get("output"))


def _zeros(output: dict[str, Any]) -> dict[str, Any]:
    return {"shape": output["shape"], "dtype": output["dtype"], "fill": "zeros"}


def _body(launch: dict[str, Any], outputs: dict[str, Any]) -> str:
    """The kernel, called ``kernel``. Where several programs run, none of them may clear what others have written."""
    whole = not launch["grid"]
    names = [name for name in launch["args"] if name not in outputs] + [key + START for key in outputs if whole]
    lines = [f"def kernel({', '.join(names)}):"]
    for name, value in outputs.items():
        lines.append(
            f"    {name} = nl.ndarray({tuple(value['shape'])}, dtype=nl.{value['dtype']}, buffer=nl.shared_hbm)"
        )
        if whole:
            lines.append(f"    nisa.dma_copy(dst={name}, src={name}{START})")
    call = f"{launch['function']}({', '.join(f'{name}={name}' for name in launch['args'])})"
    return "\n".join([*lines, f"    {call}", f"    return {', '.join(outputs)}"]) + "\n"


def _classes(values: Any) -> Iterator[str]:
    """The names that the kernel's module has for the classes of arguments."""
    if isinstance(values, list):
        for value in values:
            yield from _classes(value)
    elif isinstance(values, dict):
        for key in ("member", "object"):
            name = values.get(key)
            if isinstance(name, str) and ":" not in name:
                yield name.partition(".")[0]
        for value in values.values():
            yield from _classes(value)
