"""``nki-migrate rewrite``: its options."""

from __future__ import annotations

from typing import Any

import click
from nki_migrate.runtime.spec.versions import DEFAULT

from . import command_options
from .configuration import ALLOCATIONS, BLOCKS, CONFIGURATION, SUPPORT, Configuration
from .exit_codes import MEANING
from .module_option import told_modules
from .rule_codes import chosen_codes, completed_codes
from .surfaces import FORMATS


@click.command(short_help="Rewrite kernels to a newer NKI: a dry run without --write.", epilog=MEANING)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--write", is_flag=True, help="Change the files (from standard input: print the new source).")
@click.option(
    "--allow-dirty",
    is_flag=True,
    help="Also write files with changes that are not committed to git (or not part of it).",
)
@click.option(
    "--interactive",
    is_flag=True,
    help="Show and explain each part that may change alone (a file, or files that import each other), ask, and write "
    "what is accepted.",
)
@click.option(
    "--commit-per-rule",
    is_flag=True,
    help="With --write: also commit to git, one commit for each rule; rules that need each other share one.",
)
@click.option("--dry-run", is_flag=True, help="Change nothing: what happens without --write.")
@click.option("--check", is_flag=True, help="No diff; exit with 1 if anything would change or is unresolved.")
@click.option(
    "--select",
    multiple=True,
    metavar="CODES",
    shell_complete=completed_codes,
    help="Only these rules: codes, their beginnings, or names, with commas.",
)
@click.option("--ignore", multiple=True, metavar="CODES", shell_complete=completed_codes, help="Not these rules.")
@click.option("--mark", is_flag=True, help="Put a comment, # TODO(nki-migrate CODE): ..., above each manual finding.")
@click.option("--unsafe", is_flag=True, help="Also apply rewrites that a person should review.")
@click.option(
    "--allocation",
    type=click.Choice(ALLOCATIONS),
    default="address",
    show_default=True,
    help="How tiles get their addresses: by address=, or from an SbufManager.",
)
@click.option(
    "--blocks",
    type=click.Choice(BLOCKS),
    default="auto",
    show_default=True,
    help="What block dimensions become: lists of tensors, a wider free dimension, or a tile in the loop.",
)
@click.option(
    "--support",
    type=click.Choice(SUPPORT),
    default="module",
    show_default=True,
    help="Where functions go that kernels of a package need and NKI does not have: into one module of the package, "
    "nki_support.py, or into each file.",
)
@click.option(
    "--target",
    type=command_options.VersionRange(),
    default=DEFAULT.name,
    show_default=True,
    help="The NKI version to write for, or several that one source is to serve: 0.4..0.6.",
)
@click.option(
    "--from",
    "source",
    metavar="[NAME==]VERSION",
    help="The language and version of the files.  [default: found by evidence]",
)
@click.option("--to", "wanted", metavar="NAME==VERSION", help="The language and version to write for.")
@click.option(
    "--hardware", type=click.Choice(command_options.ASCEND), help="TileLang-Ascend: the target.  [default: 910b]"
)
@command_options.planning
@command_options.MODULES
@command_options.JOBS
@command_options.EXECUTOR
@click.option("--no-cache", is_flag=True, help="Use no results of earlier runs, and keep none.")
@click.option(
    "--verify", is_flag=True, help="With --write: write a file only if all of its kernels verify by their cases."
)
@click.option(
    "--cases",
    metavar="FILE",
    help="Also run the old kernels by these cases, to learn what the source does not tell; with --verify, verify by "
    "them.",
)
@click.option(
    "-U",
    "--unified",
    "context",
    type=click.IntRange(min=0),
    metavar="N",
    default=3,
    show_default=True,
    help="Lines around each change in the diff.",
)
@click.option("--stat", is_flag=True, help="Instead of the diff: how many lines each file gains and loses.")
@click.option("--stdin-filename", metavar="PATH", help="The name of what - reads, in the diff and in findings.")
@click.option("-q", "--quiet", is_flag=True, help="On stderr only what failed: no findings, no summary.")
@click.option("-v", "--verbose", is_flag=True, help="Also say what was chosen for each tensor, and why.")
@command_options.REPORT
@command_options.output_format(*FORMATS)
def rewrite(
    write: bool,
    allow_dirty: bool,
    interactive: bool,
    commit_per_rule: bool,
    dry_run: bool,
    check: bool,
    verify: bool,
    paths: tuple[str, ...],
    output_format: str,
    cases: str | None,
    **rest: Any,
) -> int:
    """Rewrite Beta 1 source, and that of any later version, to a newer NKI.

    A dry run: the unified diff goes to stdout, the findings and a summary to stderr. PATH is a file, a notebook (with
    the extra notebook), a directory
    (without what .gitignore excludes), or - for standard input. With --verbose stderr also says what the blocks and
    addresses of each tensor became (JSON always does).
    """
    if interactive:
        _must_be_able_to_ask(paths, output_format, check=check, dry_run=dry_run, quiet=rest["quiet"], stat=rest["stat"])
        write = True
    _must_be_written(paths, write=write, allow_dirty=allow_dirty, interactive=interactive, commits=commit_per_rule)
    if write and check:
        raise click.UsageError("--write and --check exclude each other.")
    if write and output_format != "text" and "-" in paths:
        raise click.UsageError(
            f"--write prints the source of -, which leaves no place for --output-format {output_format}."
        )
    if write and dry_run:
        raise click.UsageError("--write and --dry-run exclude each other.")
    if rest["stdin_filename"] is not None and "-" not in paths:
        raise click.UsageError("--stdin-filename names what - reads: give - as PATH.")
    if verify and (not write or "-" in paths):
        raise click.UsageError("--verify belongs to --write, and to files: verify --migrate verifies without writing.")
    if cases is not None and "-" in paths:
        raise click.UsageError("--cases runs kernels: it belongs to files, not to -.")
    configured: Configuration = click.get_current_context().meta[CONFIGURATION]
    if verify and cases is None:
        cases = configured.cases
    from .rewrite_command import Asked, run

    rest |= {
        "select": chosen_codes("--select", rest["select"]),
        "ignore": chosen_codes("--ignore", rest["ignore"]),
        "modules": told_modules(rest["modules"]),
        "configuration": configured,
        "told": tuple(command_options.told("allocation", "blocks", "module", "support", "unsafe")),
    }
    return run(
        Asked(
            paths,
            write,
            allow_dirty,
            check,
            verify,
            output_format,
            cases,
            interactive=interactive,
            commit_per_rule=commit_per_rule,
            **rest,
        )
    )


def _must_be_written(
    paths: tuple[str, ...], *, write: bool, allow_dirty: bool, interactive: bool, commits: bool
) -> None:
    """Raise a usage error for options that belong to ``--write``, and for what ``--commit-per-rule`` cannot commit."""
    if allow_dirty and not write:
        raise click.UsageError("--allow-dirty belongs to --write.")
    if commits and (not write or "-" in paths):
        raise click.UsageError("--commit-per-rule belongs to --write, and to files.")
    if commits and (allow_dirty or interactive):
        other = "--interactive" if interactive else "--allow-dirty"
        raise click.UsageError(f"--commit-per-rule and {other} exclude each other: it commits whole files.")


def _must_be_able_to_ask(paths: tuple[str, ...], output_format: str, **options: bool) -> None:
    """Raise a usage error for what leaves ``--interactive`` nothing to show, or nothing to write."""
    for name, value in options.items():
        if value:
            raise click.UsageError(f"--interactive and --{name.replace('_', '-')} exclude each other.")
    if "-" in paths:
        raise click.UsageError("--interactive reads answers from standard input: give files, not -.")
    if output_format != "text":
        raise click.UsageError("--interactive belongs to --output-format text.")
