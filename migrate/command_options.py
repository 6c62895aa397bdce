"""Options that several commands have, and what must hold of them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from nki_migrate.runtime.spec.versions import RANGE, versions_of

from .errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

NO_EXECUTE = "NKI_MIGRATE_NO_EXECUTE"


def output_format(*formats: str) -> Callable[[Any], Any]:
    return click.option(
        "--output-format",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="The form of the results on stdout.",
    )


CASES = click.option("--cases", metavar="FILE", help="How to run the kernels.  [default: cases.toml beside the kernel]")


MODULES = click.option(
    "--module",
    "modules",
    multiple=True,
    metavar="OLD=NEW",
    help="A module of neuronxcc that Beta 2 does not have, and the one to import from instead; repeatable.",
)


class VersionRange(click.ParamType[str]):
    """A version of NKI, or the oldest and the newest of several: ``0.3..0.6``."""

    name = "range"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            versions_of(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return value

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return f"VERSION[{RANGE}VERSION]"


def range_of(text: str) -> tuple[str, str]:
    """``target`` and ``oldest`` of a rewrite for a version, or a range of them (``oldest`` is empty for one)."""
    found = versions_of(text)
    oldest, newest = found[0].name, found[-1].name
    return newest, "" if oldest == newest else oldest


def planning(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of TileLang-Ascend: how memory is planned."""
    options = (
        click.option("--mode", type=click.Choice(["auto", "linear", "reuse", "fixed", "pool"]),
                     help="TileLang-Ascend: how buffers get addresses.  [default: auto, what the kernel asks for]"),
        click.option("--planner", type=click.Choice(["base", "loop-aware", "scope-exit"]),
                     help="TileLang-Ascend: which of upstream's lifetimes --mode reuse takes.  [default: scope-exit]"),
        click.option("--set", "given", multiple=True, metavar="NAME=VALUE",
                     help="TileLang-Ascend: the value of a name that sizes are made of; repeatable."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def planned(
    files: Iterable[Any], hardware: str | None, mode: str | None, planner: str | None, given: tuple[str, ...]
) -> tuple[tuple[str, Any], ...]:
    """What the options of TileLang-Ascend say; an error where no file is of it."""
    from . import languages, module_option

    values = {"target": hardware, "mode": mode, "planner": planner, "given": module_option.told_values(given) or None}
    options = {"target": "--hardware", "given": "--set"}
    asked = {name: value for name, value in values.items() if value is not None}
    languages.require("ascend", files, [options.get(name, f"--{name}") for name in asked])
    return tuple(asked.items())


ASCEND = ("910b", "950")
"""The generations of NPUs that kernels of TileLang-Ascend are planned for."""


class Machines(click.ParamType[str]):
    """``local``, or the scheduler of a Dask cluster: ``dask://HOST:PORT``."""

    name = "machines"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value != "local" and not re.fullmatch(r"dask://(\[[^\]\s]+\]|[^\s:/\[\]]+):\d{1,5}", value):
            self.fail(f"{value!r} is neither local nor dask://HOST:PORT.", param, ctx)
        return value

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "local|dask://HOST:PORT"


EXECUTOR = click.option(
    "--executor",
    type=Machines(),
    default="local",
    show_default=True,
    help="What does the work: processes here, or the workers of a Dask cluster (extra cluster).",
)


def _writable(context: click.Context, parameter: click.Parameter, file: str | None) -> str | None:
    """The file of a report. Raises ``InputError`` before any work is done where it could not be written after it."""
    if file is not None:
        directory = os.path.dirname(file) or os.curdir
        if os.path.isdir(file):
            raise InputError(f"{file}: cannot write the report: it is a directory: name a file")
        if not os.path.isdir(directory):
            raise InputError(f"{file}: cannot write the report: there is no directory {directory}: make it first")
        if not os.access(file if os.path.exists(file) else directory, os.W_OK):
            raise InputError(f"{file}: cannot write the report: permission denied")
    return file


REPORT = click.option(
    "--report",
    metavar="FILE.html",
    callback=_writable,
    help="Also write a page with everything: diffs, maps, findings.",
)


JOBS = click.option(
    "-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="Processes.  [default: one for each core]"
)


def execution(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of commands that run kernels."""
    options = (
        JOBS,
        click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", default=300.0,
                     show_default=True,
                     help="The longest that one run of a kernel may take; its waiting for a processor does not count."),
        click.option("--memory", type=click.IntRange(min=64), metavar="MIB", default=8192, show_default=True,
                     help="The most address space that one run of a kernel may take."),
        click.option("--no-cache", is_flag=True, help="Use no results of earlier runs, and keep none."),
        click.option("--cache-dir", metavar="DIR", envvar="NKI_MIGRATE_CACHE_DIR",
                     help="Where verdicts are kept.  [default: $XDG_CACHE_HOME/nki-migrate or ~/.cache/nki-migrate]"),
        click.option("--no-execute", is_flag=True, envvar=NO_EXECUTE,
                     help="Run none of your code: whatever needs it is undecided."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def told(*names: str) -> list[str]:
    """Those of the options ``--NAME`` that the command line has."""
    context = click.get_current_context()
    fields = {option: parameter.name or "" for parameter in context.command.params for option in parameter.opts}
    options = [f"--{name}" for name in names]
    return [each for each in options if context.get_parameter_source(fields[each]) is ParameterSource.COMMANDLINE]


def is_forbidden(environment: Mapping[str, str]) -> bool:
    """Does the environment forbid to run code of the user's?"""
    return environment.get(NO_EXECUTE, "").lower() not in ("", "0", "false", "no", "off")


def must_be_allowed(command: str) -> None:
    """Raise a usage error where the environment forbids what ``command`` is for."""
    if is_forbidden(os.environ):
        raise click.UsageError(f"{command} runs code of yours, which {NO_EXECUTE} forbids.")
