"""The command line. What a command needs is imported when it runs: ``--help`` must not wait for parsers and numpy."""

from __future__ import annotations

import io
import os
import sys
from typing import Any, NoReturn

import click
from nki_migrate.codemods import Options
from nki_migrate.codemods.model import PluginError
from nki_migrate.runtime.spec.versions import DEFAULT, NAMES
from nki_migrate.runtime.worker_start import one_thread_loaded

from . import command_options, languages, output
from . import emulate as emulation
from .assess_cli import assess
from .checking import WORD, check_reports
from .configuration import ALLOCATIONS, BLOCKS, CONFIGURATION, Configuration, configuration, shown_values
from .discover import Found, found_files
from .errors import InputError
from .exit_codes import DONE, FAILED, INTERRUPTED, MEANING, UNREAD, exit_code
from .ignores import without_codes
from .module_option import told_modules
from .rewrite_cli import rewrite
from .rule_codes import require_known
from .rules_cli import explain, rules, test_rules, versions
from .surfaces import FORMATS, print_reports, write_report
from .undo import undo


def main(argv: list[str] | None = None) -> NoReturn:
    """Run one command and exit. An error is one line on stderr and exit code 2, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal's encoding does not have is no reason to end
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(args=argv, prog_name="nki-migrate", standalone_mode=False, obj=argv)
    except click.Abort:
        code = _complain("interrupted", INTERRUPTED)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "nki-migrate"
        message = error.format_message()
        stop = "" if message.endswith((".", "?", "!")) else "."
        code = _complain(f"{message}{stop} Try '{command} --help'.")
    except (click.ClickException, InputError, PluginError) as error:
        code = _complain(error.format_message() if isinstance(error, click.ClickException) else str(error))
    except (
        SystemExit
    ) as done:  # of click: completion is done, or a pipe was closed, with a code that would mean findings
        code = UNREAD if done.code else DONE
    except OSError as error:
        code = _complain(f"{_place(error)}: {error.strerror or error}")
    except Exception as error:
        if _is_interrupt(error):
            code = _complain("interrupted", INTERRUPTED)
        elif os.environ.get("NKI_MIGRATE_TRACEBACK"):
            raise
        else:
            what = f"{type(error).__name__}: {error}"
            code = _complain(f"internal error: {what} (please report it; NKI_MIGRATE_TRACEBACK=1 shows where)")
    sys.exit(code or DONE)


def _place(error: OSError) -> str:
    """What an error of the system's is about."""
    if error.filename is not None:
        return os.fsdecode(error.filename)
    try:
        os.getcwd()
    except OSError:
        return "the working directory"
    return "cannot write the output"


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


_OUTSIDE = ("rules", "versions", "explain", "test-rules", "emulate", "record", "cases", "undo")
"""Commands that read no configuration."""


def _defaults(found: Configuration) -> dict[str, dict[str, object]]:
    """What the configuration says for the options of each command."""
    values = found.values
    choices = {key: values[key] for key in ("select", "ignore", "allocation", "blocks", "target") if key in values}
    support = {"support": values["support"]} if "support" in values else {}
    target = {"target": values["target"]} if "target" in values else {}
    cases: dict[str, object] = {} if found.cases is None else {"cases": found.cases}
    return {"rewrite": choices | support, "assess": choices | cases, "check": target, "verify": cases, "layout": cases}


@click.group(invoke_without_command=True, epilog=MEANING, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="nki-migrate", prog_name="nki-migrate")
@click.pass_context
def cli(context: click.Context) -> int | None:
    """Migrate AWS Neuron NKI Beta 1 kernels (neuronxcc.nki), and those of any later version, to the newest nki.

    And prove, on an emulator, that nothing moved and no number changed.
    """
    found = context.meta[CONFIGURATION] = (
        Configuration() if context.invoked_subcommand in (None, *_OUTSIDE) else configuration(os.curdir)
    )
    require_known(found)
    context.default_map = _defaults(found)
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(FAILED)
    return None


@cli.command(
    short_help="Compare two versions of kernels on the emulator.",
    epilog="Exit codes: 0 all equal, 1 something differs, 2 something is undecided or in error.",
)
@click.argument("paths", nargs=-1, required=True, metavar="BEFORE AFTER | PATH...")
@click.option("--migrate", is_flag=True, help="Rewrite PATH... in memory and verify that; no file is changed.")
@click.option("--base", metavar="REV", help="Compare PATH... as it was at a git revision with the working tree.")
@command_options.CASES
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
    type=click.Choice(["gen2", "gen3", "gen4", *command_options.ASCEND]),
    help="The generation to run on, whatever the cases say.  [default: what the case says, else gen3]",
)
@click.option(
    "--search",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="After the cases, look this long for other cases at which the two versions disagree.",
)
@click.option(
    "--ulps",
    type=click.IntRange(min=0),
    metavar="N",
    help="Take a reciprocal and a multiplication for a division, and outputs computed from one that differ by up to N "
    "units in the last place.  [default: what --unsafe declares]",
)
@click.option("--strict", is_flag=True, help="Call a kernel undecided whose cases take only one side of a condition.")
@click.option("--fail-fast", is_flag=True, help="Stop after the first case that is not equal.")
@click.option("--tiles", is_flag=True, help="Show which new tile stands for which old one.")
@click.option("--unsafe", is_flag=True, help="With --migrate: as for rewrite.")
@click.option("--allocation", type=click.Choice(ALLOCATIONS), help="With --migrate: as for rewrite.")
@click.option("--blocks", type=click.Choice(BLOCKS), help="With --migrate: as for rewrite.")
@click.option(
    "--from",
    "source",
    type=click.Choice(NAMES),
    help="The NKI version of BEFORE; with --migrate: as for rewrite.  [default: what cases say, or the file shows]",
)
@click.option(
    "--target",
    type=click.Choice(NAMES),
    help="The NKI version of AFTER; with --migrate: as for rewrite.  [default: what cases say and the files show, else "
    f"{DEFAULT}]",
)
@command_options.MODULES
@command_options.execution
@command_options.EXECUTOR
@command_options.REPORT
@command_options.output_format(*FORMATS)
def verify(paths: tuple[str, ...], output_format: str, tiles: bool, modules: tuple[str, ...], **choices: Any) -> int:
    """Compare two versions of kernels on the emulator: layout, operands and numbers.

    BEFORE and AFTER are two files or two directories. With --migrate or --base, each PATH is a file or a directory.
    """
    with one_thread_loaded():
        from . import verify_command

    found: Configuration = click.get_current_context().meta[CONFIGURATION]
    if choices["migrate"]:  # as rewrite would
        choices |= {key: found.values.get(key) for key in ("allocation", "blocks") if choices[key] is None}
        configured = found.values.get("target")
        choices["target"] = choices["target"] or (command_options.range_of(configured)[0] if configured else None)
    asked = verify_command.Asked(paths=paths, modules=told_modules(modules), configuration=found, **choices)
    return verify_command.run(asked, output_format, tiles=tiles)


@cli.command(
    short_help="Say whether source is legal NKI; nothing is run.",
    epilog="Exit codes: 0 legal, 1 findings, 2 could not do its work.",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--target",
    type=command_options.VersionRange(),
    default=DEFAULT.name,
    show_default=True,
    help="The NKI version to judge by, or several: 0.2..0.6.",
)
@click.option(
    "--hardware", type=click.Choice(command_options.ASCEND), help="TileLang-Ascend: the target.  [default: 910b]"
)
@command_options.planning
@command_options.REPORT
@command_options.output_format(*FORMATS)
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
    """Say whether source is legal NKI; nothing is run. Of kernels of TileLang-Ascend, say whether their memory fits."""
    found: Configuration = click.get_current_context().meta[CONFIGURATION]
    files = found_files(paths, found.excludes)
    options = Options(planning=command_options.planned(files, hardware, mode, planner, given))
    reports = check_reports(files, target, options)
    reports = [without_codes(report, found.ignored_codes(report.path)) for report in reports]
    if output_format != "text":
        print_reports(reports, output_format, "check", changes_are_done=True)
    else:
        output.print_findings(reports, WORD, err=False)
        click.echo(output.check_summary(reports), err=True)
        output.print_lines(filter(None, [output.advice(reports), output.nothing(reports, WORD)]), err=True)
    if report is not None:
        write_report(report, "check", reports)
    return exit_code(reports, changes_are_done=True)


@cli.command(short_help="Print the address of every tile of one run.")
@click.argument("kernel", metavar="FILE::KERNEL")
@command_options.CASES
@click.option("--case", metavar="NAME", help="Which of the kernel's cases.  [default: the first]")
@click.option("--strict", is_flag=True, help="Exit with 1 if the run has hazards, or the plan problems.")
@click.option(
    "--target", type=click.Choice(command_options.ASCEND), help="TileLang-Ascend: what to plan for.  [default: 910b]"
)
@click.option("--arch", metavar="NAME", help="TileLang: the architecture, such as sm_90a.  [default: sm_80]")
@command_options.planning
@command_options.output_format("text", "json", "svg")
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
    """Print the address of every tile of one run of a kernel, and its hazards: what runs here, and may not on hardware.

    The memory of kernels of TileLang-Ascend is planned from their source, unless --cases or --case asks for a run.
    """
    file, separator, name = kernel.rpartition("::")
    if not separator or not file or not name:
        raise click.UsageError(f"{kernel!r} names no kernel: write FILE::KERNEL, such as kernels/matmul.py::matmul.")
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
    command_options.must_be_allowed("layout")
    from . import layout as module

    return module.run(file, name, cases, case, output_format, strict, language, arch)


@cli.command(
    short_help="Run a command with NKI provided by the emulator.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option(
    "--precision",
    type=click.Choice(["engine", "simulator"]),
    help="engine: round at every write, as the hardware does. simulator: keep bf16 and fp8 tiles in fp32, as the "
    "documented simulator did.  [default: simulator for mode='simulation' and nki.simulate_kernel, else engine]",
)
@click.option(
    "--target",
    type=click.Choice(NAMES),
    default=DEFAULT.name,
    show_default=True,
    help="The NKI version that kernels of nki run as.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Raise err_leading_dimension_of_tensor_must_be_partition for block dimensions, which 2.26 documents as "
    "deprecated and its own kernels use.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
def emulate(command: tuple[str, ...], precision: str | None, target: str, strict: bool) -> int:
    """Run COMMAND with neuronxcc, nki and nkilib provided by the emulator. Its exit code is COMMAND's."""
    command_options.must_be_allowed("emulate")
    options = {"NKI_MIGRATE_TARGET": target}
    return emulation.run(command, precision, options | ({"NKI_MIGRATE_STRICT": "1"} if strict else {}))


@cli.command(
    short_help="Run a command, and keep its launches as cases.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("--out", required=True, metavar="FILE", help="Cases are added to it; those that it has stay.")
@click.option("--data", is_flag=True, help="Keep the numbers of every tensor, not only of integers and masks.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
def record(command: tuple[str, ...], out: str, data: bool) -> int:
    """Run COMMAND on the emulator and keep each launch of a kernel as a case. Its exit code is COMMAND's."""
    command_options.must_be_allowed("record")
    from . import record as module

    return module.run(command, out, keep_data=data)


@cli.group(no_args_is_help=False)
def cases() -> None:
    """Work on cases: how to run kernels."""


@cases.command(
    short_help="Propose cases for kernels, and print or write those that run.",
    epilog="Exit codes: 0 each kernel has a case that runs, 1 some has none, 2 could not do its work.",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--write",
    is_flag=True,
    help="Add the cases to the cases.toml beside each file; kernels that have some " "there are left.",
)
@click.option("--kernel", "kernels", multiple=True, metavar="NAME", help="Only this kernel; repeatable.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=1),
    default=20.0,
    show_default=True,
    help="How long to look for cases, for all kernels of one file together; waiting for a processor does not count.",
)
@click.option(
    "--target",
    type=click.Choice(NAMES),
    help="The NKI version to run as, which the cases then name.  [default: what the file shows, else the newest]",
)
@command_options.execution
def suggest(
    paths: tuple[str, ...],
    write: bool,
    kernels: tuple[str, ...],
    seconds: float,
    target: str | None,
    jobs: int | None,
    **choices: Any,
) -> int:
    """Propose cases for the kernels in PATH... from asserts, documented shapes and call sites.

    Those that run are printed as TOML (of one file), or written beside each file.
    """
    if choices["no_execute"]:
        raise click.UsageError("cases suggest runs kernels, which --no-execute forbids.")
    from . import suggest_command as module

    found: Configuration = click.get_current_context().meta[CONFIGURATION]
    limits = module.Limits(choices["timeout"], choices["memory"] << 20)
    budget = module.Budget(seconds, limits, target or "")
    return module.run(module.Asked(paths, kernels, budget, jobs, write, found.excludes))


@cli.command(short_help="Show the configuration that counts here.")
def config() -> None:
    """Show the configuration that counts here: the value of each key, and where it comes from."""
    found: Configuration = click.get_current_context().meta[CONFIGURATION]
    options = {parameter.name: parameter.get_default(click.Context(rewrite)) for parameter in rewrite.params}
    for line in shown_values(found, {name: value for name, value in options.items() if isinstance(value, str)}):
        click.echo(line)


for _command in (rewrite, assess, undo, rules, versions, explain, test_rules):
    cli.add_command(_command)
