"""The command line. What a command needs is imported when it runs: ``--help`` must not wait for parsers and numpy."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource
from nki_migrate.runtime.spec.versions import NAMES, OLDEST

from .errors import InputError
from .surfaces import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .reports import Report

DONE, LEFT, FAILED, INTERRUPTED, UNREAD = 0, 1, 2, 130, 141
"""The last two are what a shell says of a program that SIGINT or SIGPIPE ended."""

_EPILOG = "Exit codes: 0 nothing left to do, 1 changes or findings, 2 could not do its work."


def main(argv: list[str] | None = None) -> NoReturn:
    """Run one command and exit. An error is one line on stderr and exit code 2, never a traceback."""
    try:
        code = cli.main(args=argv, prog_name="nki-migrate", standalone_mode=False)
    except click.Abort:
        code = _complain("interrupted", INTERRUPTED)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "nki-migrate"
        code = _complain(f"{error.format_message()} Try '{command} --help'.")
    except (click.ClickException, InputError) as error:
        code = _complain(error.format_message() if isinstance(error, click.ClickException) else str(error))
    except SystemExit:  # click raises it for a closed pipe only, with a code that would mean findings
        code = UNREAD
    except OSError as error:
        where = os.fsdecode(error.filename) if error.filename is not None else "cannot write the output"
        code = _complain(f"{where}: {error.strerror or error}")
    except Exception as error:
        if _is_interrupt(error):
            code = _complain("interrupted", INTERRUPTED)
        elif os.environ.get("NKI_MIGRATE_TRACEBACK"):
            raise
        else:
            what = f"{type(error).__name__}: {error}"
            code = _complain(f"internal error: {what} (please report it; NKI_MIGRATE_TRACEBACK=1 shows where)")
    sys.exit(code or DONE)


def _is_interrupt(error: BaseException | None) -> bool:
    """Is it, or did it come from, a KeyboardInterrupt? (Python wraps one that arrives while it makes a class.)"""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _complain(text: str, code: int = FAILED) -> int:
    click.echo(f"nki-migrate: error: {' '.join(text.split())}", err=True)
    return code


@click.group(invoke_without_command=True, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="nki-migrate", prog_name="nki-migrate")
@click.pass_context
def cli(context: click.Context) -> int | None:
    """Migrate AWS Neuron NKI Beta 1 kernels (neuronxcc.nki) to Beta 2 (nki).

    And prove, on an emulator, that nothing moved and no number changed.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(FAILED)
    return None


def _output_format(*formats: str) -> Callable[[Any], Any]:
    return click.option("--output-format", type=click.Choice(formats), default=formats[0], show_default=True)


_CASES = click.option(
    "--cases", metavar="FILE", help="How to run the kernels.  [default: cases.toml beside the kernel]"
)


_MODULES = click.option(
    "--module",
    "modules",
    multiple=True,
    metavar="OLD=NEW",
    help="A module of neuronxcc that Beta 2 does not have, and the one to import from instead; repeatable.",
)


def _planning(command: Callable[..., Any]) -> Callable[..., Any]:
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


def _planned(
    files: Iterable[Any], hardware: str | None, mode: str | None, planner: str | None, given: tuple[str, ...]
) -> tuple[tuple[str, Any], ...]:
    """What the options of TileLang-Ascend say; an error where no file is of it."""
    from . import languages, module_option

    values = {"target": hardware, "mode": mode, "planner": planner, "given": module_option.told_values(given) or None}
    options = {"target": "--hardware", "given": "--set"}
    asked = {name: value for name, value in values.items() if value is not None}
    languages.require("ascend", files, [options.get(name, f"--{name}") for name in asked])
    return tuple(asked.items())


_ASCEND = ("910b", "950")
"""The generations of NPUs that kernels of TileLang-Ascend are planned for."""


_REPORT = click.option(
    "--report", metavar="FILE.html", help="Also write a page with everything: diffs, maps, findings."
)


@cli.command(epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--write", is_flag=True, help="Change the files (from standard input: print the new source).")
@click.option("--check", is_flag=True, help="No diff; exit with 1 if anything would change or is unresolved.")
@click.option(
    "--select", multiple=True, metavar="CODES", help="Only these rules: codes, their beginnings, or names, with commas."
)
@click.option("--ignore", multiple=True, metavar="CODES", help="Not these rules.")
@click.option("--unsafe", is_flag=True, help="Also apply rewrites that a person should review.")
@click.option("--allocation", type=click.Choice(["address", "sbuf-manager"]), default="address", show_default=True)
@click.option("--blocks", type=click.Choice(["auto", "list", "fold", "loop"]), default="auto", show_default=True)
@click.option(
    "--target", type=click.Choice(NAMES), default=OLDEST.name, show_default=True, help="The NKI version to write for."
)
@click.option(
    "--from",
    "source",
    metavar="[NAME==]VERSION",
    help="The language and version of the files.  [default: found by evidence]",
)
@click.option("--to", "wanted", metavar="NAME==VERSION", help="The language and version to write for.")
@click.option("--hardware", type=click.Choice(_ASCEND), help="TileLang-Ascend: the target.  [default: 910b]")
@_planning
@_MODULES
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes.  [default: one for each core]")
@click.option("--no-cache", is_flag=True, help="Rewrite everything, also what did not change; keep nothing.")
@click.option("--verify", is_flag=True, help="With --write: only files all of whose kernels verify (by their cases).")
@click.option(
    "--cases",
    metavar="FILE",
    help="Run the old kernels by these cases, too, for what the source does not tell; with --verify, verify by them.",
)
@click.option("-v", "--verbose", is_flag=True, help="Also say what was chosen for each tensor, and why.")
@_REPORT
@_output_format(*FORMATS)
def rewrite(
    paths: tuple[str, ...],
    write: bool,
    check: bool,
    verbose: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    modules: tuple[str, ...],
    jobs: int | None,
    verify: bool,
    no_cache: bool,
    cases: str | None,
    report: str | None,
    output_format: str,
    source: str | None,
    wanted: str | None,
    hardware: str | None,
    mode: str | None,
    planner: str | None,
    given: tuple[str, ...],
    **choices: Any,
) -> int:
    """Rewrite Beta 1 source to Beta 2.

    A dry run: the unified diff goes to stdout, the findings and a summary to stderr. PATH is a file, a directory
    (without what .gitignore excludes), or - for standard input. With --verbose stderr also says what the blocks and
    addresses of each tensor became (JSON always does).
    """
    if write and check:
        raise click.UsageError("--write and --check exclude each other.")
    if write and output_format != "text" and "-" in paths:
        raise click.UsageError(
            f"--write prints the source of -, which leaves no place for --output-format {output_format}."
        )
    if verify and (not write or "-" in paths):
        raise click.UsageError("--verify belongs to --write, and to files: verify --migrate verifies without writing.")
    if cases is not None and "-" in paths:
        raise click.UsageError("--cases runs kernels: it belongs to files, not to -.")
    from dataclasses import replace

    from nki_migrate.codemods import Options

    from . import languages
    from .discover import found_files
    from .kept_reports import cached_reports
    from .module_option import told_modules
    from .rewriting import word_of

    options = Options(
        select=_codes("--select", select), ignore=_codes("--ignore", ignore), modules=told_modules(modules), **choices
    )
    files = found_files(paths)
    language, version, goal = languages.asked(source, wanted)
    told = [option for option, text in (("--from", source), ("--to", wanted)) if text is not None]
    languages.require(language, files, told)
    languages.refuse(_told("allocation", "blocks", "module", "unsafe"), files, language)
    planning = _planned(files, hardware, mode, planner, given)
    options = replace(options, language=language, source=version, target=goal or options.target, planning=planning)
    if cases is not None:
        from .observing import with_observed

        _must_be_allowed("rewrite --cases")
        options = with_observed(options, files, cases, jobs, must_run=not verify)
    proof = None
    if verify:
        from .verify_command import verified_rewrite

        reports, proof = verified_rewrite(files, options, jobs, cases)
    else:
        reports = cached_reports(files, options, jobs or _cores(), keep=not no_cache)
    interrupted = False
    if write:
        from .store import stored

        reports, interrupted = stored(reports)
    _print_rewrite(reports, write, check, output_format, verbose, word_of(options))
    if report is not None:
        from .surfaces import write_report

        write_report(report, "rewrite", reports, proof, written=write)
    if interrupted:
        raise KeyboardInterrupt
    return _exit_code(reports, changes_are_done=write)


def _told(*names: str) -> list[str]:
    """Those of the options ``--NAME`` that the command line has."""
    context = click.get_current_context()
    fields = {option: parameter.name or "" for parameter in context.command.params for option in parameter.opts}
    options = [f"--{name}" for name in names]
    return [each for each in options if context.get_parameter_source(fields[each]) is ParameterSource.COMMANDLINE]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _codes(option: str, values: tuple[str, ...]) -> frozenset[str]:
    """The codes of an option that is repeatable and takes commas: codes, their beginnings, or names of rules.

    An unknown one is an error that suggests others.
    """
    if not values:
        return frozenset()  # without all rules, which take a while to import
    from nki_migrate.codemods import RULES

    codes: set[str] = set()
    for word in (word.strip() for value in values for word in value.split(",")):
        named = {code for code, rule in RULES.items() if rule.name == word.lower()}
        if not named and not (word and any(code.startswith(word.upper()) for code in RULES)):
            known = [*RULES, *(rule.name for rule in RULES.values())]
            close = _suggestion(word.upper() if word[-1:].isdigit() else word.lower(), known)
            raise click.UsageError(f"{option}: no rule has the code or name {word!r}{close}")
        codes |= named or {word.upper()}
    return frozenset(codes)


def _suggestion(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(sorted(close))}?" if close else " (see nki-migrate rules)."


def _print_rewrite(
    reports: list[Report], write: bool, check: bool, output_format: str, verbose: bool, word: bytes
) -> None:
    from . import output
    from .discover import STDIN
    from .patch import unified_diff

    if output_format != "text":
        _print_for_machines(output_format, "rewrite", reports, changes_are_done=write)
        return
    for report in reports:
        if write and report.path == STDIN:
            click.echo(b"" if report.status == "failed" else report.after, nl=False)
        elif report.status == "changed" and not write and not check:
            output.print_diff(unified_diff(report.path, report.before, report.after))
    for report in reports:
        if report.status == "changed" and (write or check) and report.path != STDIN:
            click.echo(f"{output.shown(report.path)}: {'rewritten' if write else 'would change'}", err=True)
    if verbose:
        output.print_lines((line for report in reports for line in output.decision_lines(report)), err=True)
    _print_lines(reports, word, err=True)
    click.echo(output.rewrite_summary(reports, conditional=not write), err=True)


def _print_for_machines(output_format: str, command: str, reports: list[Report], *, changes_are_done: bool) -> None:
    from . import output
    from .surfaces import reports_as

    text = reports_as(output_format, command, reports, changes_are_done=changes_are_done)
    summary = (
        output.check_summary(reports)
        if command == "check"
        else output.rewrite_summary(reports, conditional=not changes_are_done)
    )
    output.print_for_machines(output_format, text, summary)


def _print_lines(reports: list[Report], word: bytes, err: bool) -> None:
    """Findings, assumptions, and the files that were skipped (unless they do not concern the command) or failed."""
    from . import output
    from .reports import not_concerned

    output.print_lines((line for report in reports for line in output.finding_lines(report)), err=err)
    output.print_lines((line for report in reports for line in output.assumption_lines(report)), err=err)
    output.print_lines(output.status_lines(reports, silent=not_concerned(word)), err=True)


def _exit_code(reports: list[Report], changes_are_done: bool) -> int:
    if any(report.status == "failed" for report in reports):
        return FAILED
    if any(not report.is_done or (report.status == "changed" and not changes_are_done) for report in reports):
        return LEFT
    return DONE


def _must_be_allowed(command: str) -> None:
    """Raise a usage error where the environment forbids what ``command`` is for."""
    from .verify_command import NO_EXECUTE, is_forbidden

    if is_forbidden(os.environ):
        raise click.UsageError(f"{command} runs code of yours, which {NO_EXECUTE} forbids.")


def _execution(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of commands that run kernels."""
    options = (
        click.option("--jobs", type=click.IntRange(min=1), metavar="N",
                     help="Processes.  [default: one for each core]"),
        click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", default=300.0,
                     show_default=True, help="For one run of a kernel."),
        click.option("--memory", type=click.IntRange(min=64), metavar="MIB", default=8192, show_default=True,
                     help="Address space of one run of a kernel."),
        click.option("--no-cache", is_flag=True, help="Run everything, also what ran before; keep nothing."),
        click.option("--cache-dir", metavar="DIR", envvar="NKI_MIGRATE_CACHE_DIR",
                     help="Where verdicts are kept.  [default: $XDG_CACHE_HOME/nki-migrate or ~/.cache/nki-migrate]"),
        click.option("--no-execute", is_flag=True, envvar="NKI_MIGRATE_NO_EXECUTE",
                     help="Run no code of the user's: whatever needs it is undecided."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@cli.command(epilog="Exit codes: 0 all equal, 1 something differs, 2 something is undecided or in error.")
@click.argument("paths", nargs=-1, required=True, metavar="BEFORE AFTER | PATH...")
@click.option("--migrate", is_flag=True, help="Rewrite PATH... in memory and verify that; no file is changed.")
@click.option("--base", metavar="REV", help="Compare PATH... as it was at a git revision with the working tree.")
@_CASES
@click.option("--kernel", "kernels", multiple=True, metavar="NAME", help="Only this kernel; repeatable.")
@click.option(
    "--level",
    type=click.Choice(["layout", "operands", "numbers"]),
    default="numbers",
    show_default=True,
    help="How far to compare: each level includes those before it.",
)
@click.option(
    "--hardware",
    type=click.Choice(["gen2", "gen3", "gen4", *_ASCEND]),
    help="Whatever the cases say.  [default: what the case says, else gen3]",
)
@click.option(
    "--search",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Then look for other cases at which they disagree.",
)
@click.option(
    "--ulps",
    type=click.IntRange(min=0),
    metavar="N",
    help="A division may be a reciprocal and a multiplication, and outputs computed from one N units in the last place "
    "apart.  [default: what --unsafe declares]",
)
@click.option("--strict", is_flag=True, help="Conditions that no case shows both sides of make a kernel undecided.")
@click.option("--fail-fast", is_flag=True, help="Run nothing more behind the first case that is not equal.")
@click.option("--tiles", is_flag=True, help="Show which new tile stands for which old one.")
@click.option("--unsafe", is_flag=True, help="With --migrate: as for rewrite.")
@click.option("--allocation", type=click.Choice(["address", "sbuf-manager"]), help="With --migrate: as for rewrite.")
@click.option("--blocks", type=click.Choice(["auto", "list", "fold", "loop"]), help="With --migrate: as for rewrite.")
@click.option(
    "--target",
    type=click.Choice(NAMES),
    help="The NKI version of AFTER; with --migrate: as for rewrite.  [default: what cases say and the files show]",
)
@_MODULES
@_execution
@_REPORT
@_output_format(*FORMATS)
def verify(paths: tuple[str, ...], output_format: str, tiles: bool, modules: tuple[str, ...], **choices: Any) -> int:
    """Compare two versions of kernels on the emulator: layout, operands and numbers.

    BEFORE and AFTER are two files or two directories. With --migrate or --base, each PATH is a file or a directory.
    """
    from . import verify_command
    from .module_option import told_modules

    asked = verify_command.Asked(paths=paths, modules=told_modules(modules), **choices)
    return verify_command.run(asked, output_format, tiles=tiles)


@cli.command(epilog="Exit codes: 0 legal, 1 findings, 2 could not do its work.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--target", type=click.Choice(NAMES), default=OLDEST.name, show_default=True, help="The NKI version to judge by."
)
@click.option("--hardware", type=click.Choice(_ASCEND), help="TileLang-Ascend: the target.  [default: 910b]")
@_planning
@_REPORT
@_output_format(*FORMATS)
def check(
    paths: tuple[str, ...],
    target: str,
    report: str | None,
    output_format: str,
    hardware: str | None,
    mode: str | None,
    planner: str | None,
    given: tuple[str, ...],
) -> int:
    """Is this source legal Beta 2? (Static: nothing is run.) Kernels of TileLang-Ascend: does their memory fit?"""
    from nki_migrate.codemods import Options

    from . import output
    from .checking import WORD, check_reports
    from .discover import found_files

    files = found_files(paths)
    options = Options(planning=_planned(files, hardware, mode, planner, given))
    reports = check_reports(files, target, options)
    if output_format != "text":
        _print_for_machines(output_format, "check", reports, changes_are_done=True)
    else:
        _print_lines(reports, WORD, err=False)
        click.echo(output.check_summary(reports), err=True)
    if report is not None:
        from .surfaces import write_report

        write_report(report, "check", reports)
    return _exit_code(reports, changes_are_done=True)


@cli.command()
@click.argument("kernel", metavar="FILE::KERNEL")
@_CASES
@click.option("--case", metavar="NAME", help="Which of the kernel's cases.  [default: the first]")
@click.option("--strict", is_flag=True, help="Exit with 1 if the run has hazards, or the plan problems.")
@click.option("--target", type=click.Choice(_ASCEND), help="TileLang-Ascend: what to plan for.  [default: 910b]")
@click.option("--arch", metavar="NAME", help="TileLang: the architecture, such as sm_90a.  [default: sm_80]")
@_planning
@_output_format("text", "json", "svg")
def layout(
    kernel: str,
    cases: str | None,
    case: str | None,
    strict: bool,
    output_format: str,
    target: str | None,
    arch: str | None,
    mode: str | None,
    planner: str | None,
    given: tuple[str, ...],
) -> int:
    """Print the address of every tile of one run of a kernel, and its hazards.

    The memory of kernels of TileLang-Ascend is planned from their source, unless --cases or --case asks for a run.
    """
    file, separator, name = kernel.rpartition("::")
    if not separator or not file or not name:
        raise click.UsageError(f"{kernel!r} names no kernel: write FILE::KERNEL, such as kernels/matmul.py::matmul.")
    from . import languages
    from .discover import Found

    language = languages.language_at(file)
    wishes = {"--target": target, "--mode": mode, "--planner": planner, "--set": given or None}
    asked = [option for option, value in wishes.items() if value is not None]
    languages.require("ascend", [Found(file)], asked)
    languages.require("tilelang", [Found(file)], [] if arch is None else ["--arch"])
    if language == "ascend" and cases is None and case is None:
        from . import memory_plan, module_option

        values = module_option.told_values(given)
        default = memory_plan.Wish()
        wish = memory_plan.Wish(target or default.target, mode or default.mode, planner or default.planner, values)
        return memory_plan.run(file, name, wish, output_format, strict)
    if asked:
        raise click.UsageError(f"{', '.join(asked)}: a run of a case takes the hardware of the case.")
    _must_be_allowed("layout")
    from . import layout as module

    return module.run(file, name, cases, case, output_format, strict, language, arch)


@cli.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--precision",
    type=click.Choice(["engine", "simulator"]),
    help="engine: round at every write, as the hardware does. simulator: keep bf16 and fp8 tiles in fp32, as the "
    "documented simulator did.  [default: simulator for mode='simulation' and nki.simulate_kernel, else engine]",
)
@click.option("--target", type=click.Choice(NAMES), help="The NKI version that kernels of nki run as.  [default: 0.2]")
@click.option(
    "--strict",
    is_flag=True,
    help="Raise err_leading_dimension_of_tensor_must_be_partition for block dimensions, which 2.26 documents as "
    "deprecated and its own kernels use.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
def emulate(command: tuple[str, ...], precision: str | None, target: str | None, strict: bool) -> int:
    """Run COMMAND with neuronxcc, nki and nkilib provided by the emulator. Its exit code is COMMAND's."""
    _must_be_allowed("emulate")
    from . import emulate as module

    options = {"NKI_MIGRATE_TARGET": target} if target else {}
    return module.run(command, precision, options | ({"NKI_MIGRATE_STRICT": "1"} if strict else {}))


@cli.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--out", required=True, metavar="FILE", help="Cases are added to it; those that it has stay.")
@click.option("--data", is_flag=True, help="Keep the numbers of every tensor, not only of integers and masks.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
def record(command: tuple[str, ...], out: str, data: bool) -> int:
    """Run COMMAND on the emulator and keep each launch of a kernel as a case. Its exit code is COMMAND's."""
    _must_be_allowed("record")
    from . import record as module

    return module.run(command, out, keep_data=data)


@cli.group(no_args_is_help=False)
def cases() -> None:
    """Work on cases: how to run kernels."""


@cases.command(epilog="Exit codes: 0 each kernel has a case that runs, 1 some has none, 2 could not do its work.")
@click.argument("file", metavar="FILE")
@click.option("--kernel", "kernels", multiple=True, metavar="NAME", help="Only this kernel; repeatable.")
@click.option(
    "--seconds", type=click.FloatRange(min=1), default=20.0, show_default=True, help="For all kernels of the file."
)
@_execution
def suggest(
    file: str, kernels: tuple[str, ...], seconds: float, jobs: int | None, timeout: float, memory: int, **choices: Any
) -> int:
    """Propose cases for FILE from asserts, documented shapes and call sites; print those that run, as TOML."""
    if choices["no_execute"]:
        raise click.UsageError("cases suggest runs kernels, which --no-execute forbids.")
    from . import suggest as module
    from .judging import Limits

    return module.run(file, kernels, module.Budget(seconds, Limits(timeout, memory << 20)), jobs)


@cli.command()
@_output_format("text", "json")
def rules(output_format: str) -> None:
    """List the rules."""
    from .explain import rules_json, rules_rows, rules_table
    from .output import is_terminal

    if output_format == "json":
        click.echo(rules_json())
    elif is_terminal():
        from . import terminal

        terminal.print_table(rules_rows())
    else:
        click.echo(rules_table())


@cli.command()
@_output_format("text", "json")
def versions(output_format: str) -> None:
    """List the versions of NKI: their SDK releases, what each changed, and the rule of rewrite that does it."""
    from .version_table import versions_json, versions_text

    click.echo(versions_json() if output_format == "json" else versions_text())


@cli.command()
@click.argument("code")
def explain(code: str) -> None:
    """Explain CODE: what a rule rewrites and why, or what a finding of `check` means, with an example.

    The name of a rule does, too; where rules of several versions share a name, all of them are explained.

    `explain comparison` lists what verify does not compare, and why.
    """
    from .explain import codes_of, explanation, known_codes
    from .output import is_terminal

    text = "\n\n".join(filter(None, map(explanation, codes_of(code))))
    if not text:
        raise click.UsageError(f"unknown code {code!r}{_suggestion(code.upper(), known_codes())}")
    if is_terminal():
        from . import terminal

        terminal.print_explanation(text)
    else:
        click.echo(text)
