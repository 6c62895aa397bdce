"""Cases as TOML: what ``read_cases`` reads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nki_migrate.runtime.cases import Case, DtypeSpec, MemberSpec, NoneSpec, ObjectSpec, TensorSpec


def add_cases(path: Path, cases: Sequence[Case]) -> None:
    """Add cases to the file at ``path``, which stays as it was where that fails."""
    if not cases:
        return
    texts = [case_toml(case, path.parent.absolute()) for case in cases]
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if before and not before.endswith("\n\n"):
        before += "\n" if before.endswith("\n") else "\n\n"
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(before + "\n".join(texts), encoding="utf-8")
    temporary.replace(path)


def case_toml(case: Case, directory: Path) -> str:
    """One ``[[case]]`` for a file of cases in ``directory``."""
    made = [] if case.make is None else ["[case.make]", *_arguments(case.make, directory), ""]
    args = ["[case.args]", *_arguments(case.args, directory), ""]
    return "\n".join(["[[case]]", *_lines(case, directory), "", *made, *args])


def _lines(case: Case, directory: Path) -> Iterator[str]:
    yield f"kernel = {_text(case.kernel)}"
    if case.source:
        yield f"file = {_text(_relative(case.source, directory))}"
    yield f"name = {_text(case.name)}"
    if case.grid:
        yield f"grid = {list(case.grid)}"
    if case.hardware:
        yield f"hardware = {_text(case.hardware)}"
    if case.target:
        yield f"target = {_text(case.target)}"
    if case.seed:
        yield f"seed = {case.seed}"
    if case.ulps:
        yield f"ulps = {case.ulps}"
    if case.abridged:
        loops = list(case.abridged) if isinstance(case.abridged, tuple) else case.abridged
        yield f"abridged = {'true' if loops == 1 else loops}"
    if case.reference:
        yield f"reference = {_text(case.reference)}"
        yield f"rtol = {case.rtol!r}"
        yield f"atol = {case.atol!r}"


def _arguments(given: Mapping[str, Any], directory: Path) -> Iterator[str]:
    for name, value in given.items():
        yield f"{name if name.isascii() and name.isidentifier() else _text(name)} = {_value(value, directory)}"


def _value(value: Any, directory: Path) -> str:
    if isinstance(value, TensorSpec):
        return _tensor(value, directory)
    if isinstance(value, DtypeSpec):
        return f"{{dtype = {_text(value.dtype)}}}"
    if isinstance(value, NoneSpec):
        return "{none = true}"
    if isinstance(value, MemberSpec):
        return f"{{member = {_text(value.name)}}}"
    if isinstance(value, ObjectSpec):
        given = ", ".join(f"{name} = {_value(item, directory)}" for name, item in value.args.items())
        return f"{{object = {_text(value.name)}{f', args = {{{given}}}' if given else ''}}}"
    if isinstance(value, tuple):
        return f"{{tuple = {_value(list(value), directory)}}}"
    if isinstance(value, list):
        return f"[{', '.join(_value(item, directory) for item in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    return _text(value) if isinstance(value, str) else repr(value)


def _tensor(tensor: TensorSpec, directory: Path) -> str:
    fill = _relative(tensor.fill, directory) if tensor.fill.endswith(".npy") else tensor.fill
    facts = [f"shape = {list(tensor.shape)}", f"dtype = {_text(tensor.dtype)}"]
    if tensor.output:
        facts.append("output = true")
    if not tensor.output or fill != "zeros":
        facts.append(f"fill = {_text(fill)}")
    facts += [f"{key} = {bound!r}" for key, bound in (("low", tensor.low), ("high", tensor.high)) if bound is not None]
    return f"{{{', '.join(facts)}}}"


def _relative(path: str, directory: Path) -> str:
    return Path(os.path.relpath(path, directory)).as_posix()


def _text(value: str) -> str:
    """A TOML basic string: JSON's is one, but for the delete character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
