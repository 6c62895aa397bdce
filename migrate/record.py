"""``nki-migrate record``: run a command on the emulator, keep its launches of kernels as cases."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from nki_migrate.runtime.cases import (
    Case,
    CaseError,
    DtypeSpec,
    MemberSpec,
    NoneSpec,
    ObjectSpec,
    TensorSpec,
    read_cases,
)
from nki_migrate.runtime.recording import DIRECTORY, KEEP_DATA
from nki_migrate.runtime.spec.hardware import DEFAULT_TARGET

from . import emulate
from .case_text import add_cases
from .errors import InputError
from .output import plural


@dataclass(frozen=True)
class Refused:
    """A launch that no case can say."""

    kernel: str
    reason: str


def run(command: Sequence[str], out: str, *, keep_data: bool = False) -> int:
    """Run ``command``, add its launches to the cases at ``out``, return the command's exit code.

    Raises :class:`InputError` when the command cannot be run, ``out`` is no file of cases, or nothing was launched.
    """
    path = Path(out)
    known = _known(path)
    with tempfile.TemporaryDirectory(prefix="nki-migrate-") as directory:
        options = {DIRECTORY: directory, **({KEEP_DATA: "1"} if keep_data else {})}
        code = emulate.run(command, options=options)
        launches = [json.loads(file.read_text()) for file in sorted(Path(directory).glob("*.json"))]
        if not launches:
            raise InputError(f"no kernel was launched by {command[0]} (exit code {code}): nothing was recorded")
        new, refused = kept(launches, Path(directory), path, known)
    for item in sorted(refused, key=lambda item: (item.kernel, item.reason)):
        click.echo(f"not recorded: kernel '{item.kernel}': {item.reason}", err=True)
    counts = f"{plural(len(launches), 'launch')[:-1] + 'es' if len(launches) != 1 else '1 launch'}"
    click.echo(f"{out}: {plural(len(new), 'new case')} of {counts}", err=True)
    return code


def kept(
    launches: Iterable[dict[str, Any]], data: Path, path: Path, known: Sequence[Case] = ()
) -> tuple[list[Case], set[Refused]]:
    """Add launches, as the emulator wrote them into the directory ``data``, to the cases at ``path``: the new ones, and
    what no case can say. ``known`` are those that the file has.
    """
    found = list(_cases(launches, path, data))
    cases = [item for item in found if isinstance(item, Case)]
    new = list(_named(_without_repetitions(cases, known), known))
    add_cases(path, [_with_kept_data(case, path) for case in new])
    return new, {item for item in found if isinstance(item, Refused)}


def _known(path: Path) -> tuple[Case, ...]:
    if not path.exists():
        if not path.parent.is_dir():
            raise InputError(f"--out {path}: there is no directory {path.parent}")
        if not os.access(path.parent, os.W_OK):
            raise InputError(f"--out {path}: cannot write to the directory {path.parent}")
        return ()
    try:
        return read_cases(path).cases
    except CaseError as error:
        raise InputError(f"--out: {error}") from None


def _cases(launches: Iterable[dict[str, Any]], path: Path, data: Path) -> Iterator[Case | Refused]:
    for launch in launches:
        if not launch["kernel"]:
            reason = "it is a kernel only where it is launched: decorate it with nki.jit in its module"
            yield Refused(launch["function"], f"{launch['file']}: {reason}")
            continue
        try:
            args = {name: _argument(name, value, data) for name, value in launch["args"].items()}
        except CaseError as problem:
            yield Refused(launch["kernel"], str(problem))
            continue
        hardware = launch["hardware"] if launch["hardware"] != DEFAULT_TARGET else None
        yield Case(
            launch["kernel"], "", str(path), 0, tuple(launch["grid"]), hardware, args=args, source=launch["file"]
        )


def _argument(name: str, value: Any, data: Path) -> Any:
    if isinstance(value, list):
        return [_argument(f"{name}_{number}", item, data) for number, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if "unsupported" in value:
        raise CaseError(f"argument '{name}' is a {value['unsupported']}, which a case cannot say")
    if "none" in value:
        return NoneSpec()
    if "tuple" in value:
        return tuple(_argument(name, value["tuple"], data))
    if "member" in value:
        return MemberSpec(value["member"])
    if "object" in value:
        made = {key: _argument(f"{name}_{key}", item, data) for key, item in value["args"].items()}
        return ObjectSpec(value["object"], made)
    if "shape" not in value:
        return DtypeSpec(value["dtype"])
    fill = value.get("fill", "zeros")
    if fill.endswith(".npy"):
        fill = str(data / fill)
    shape = tuple(value["shape"])
    return TensorSpec(shape, value["dtype"], fill, value.get("low"), value.get("high"), value.get("output", False))


# --- repetitions and names -------------------------------------------------------------------------------------------


def _without_repetitions(cases: Iterable[Case], known: Iterable[Case]) -> list[Case]:
    seen = {_content(case) for case in known}
    fresh = []
    for case in cases:
        if _content(case) not in seen:
            seen.add(_content(case))
            fresh.append(case)
    return fresh


def _content(case: Case) -> str:
    """All that a run depends on. Kept data are known by the name of their file, the digest of their content."""
    source = os.path.realpath(case.source) if case.source else ""
    text = repr((case.kernel, source, case.grid, case.hardware, case.seed, dict(case.args)))
    return re.sub(r"'[^']*[/\\](\w+\.npy)'", r"'\1'", text)


def _named(cases: Iterable[Case], known: Iterable[Case]) -> Iterator[Case]:
    taken = {(case.kernel, case.name) for case in known}
    for case in cases:
        number = 1
        while (case.kernel, f"recorded {number}") in taken:
            number += 1
        taken.add((case.kernel, f"recorded {number}"))
        yield replace(case, name=f"recorded {number}")


# --- writing ---------------------------------------------------------------------------------------------------------


def _with_kept_data(case: Case, path: Path) -> Case:
    """The case with the data that it keeps in a directory beside ``path``."""
    return replace(case, args={name: _moved(value, path.with_suffix(".data")) for name, value in case.args.items()})


def _moved(value: Any, directory: Path) -> Any:
    if isinstance(value, ObjectSpec):
        return replace(value, args={name: _moved(item, directory) for name, item in value.args.items()})
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(item, directory) for item in value)
    if not isinstance(value, TensorSpec) or not value.fill.endswith(".npy"):
        return value
    target = directory / Path(value.fill).name
    directory.mkdir(exist_ok=True)
    if not target.exists():
        shutil.copyfile(value.fill, target)
    return replace(value, fill=str(target.absolute()))
