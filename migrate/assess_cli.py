"""``nki-migrate assess``: what a migration would take, before anything is changed."""

from __future__ import annotations

from typing import Any

import click
from nki_migrate.runtime.spec.versions import DEFAULT

from . import command_options
from .configuration import ALLOCATIONS, BLOCKS, CONFIGURATION, Configuration
from .module_option import told_modules
from .rule_codes import chosen_codes, completed_codes

FORMATS = ("text", "csv", "json", "html")


@click.command(
    short_help="Say kernel by kernel what a rewrite would take.",
    epilog="Exit codes: 0 assessed, 2 could not do its work, or not on every file.",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--select", multiple=True, metavar="CODES", shell_complete=completed_codes, help="As for rewrite.")
@click.option("--ignore", multiple=True, metavar="CODES", shell_complete=completed_codes, help="As for rewrite.")
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
    "--target",
    type=command_options.VersionRange(),
    default=DEFAULT.name,
    show_default=True,
    help="The NKI version to write for, or several, as for rewrite.",
)
@command_options.MODULES
@command_options.CASES
@command_options.JOBS
@click.option("--no-cache", is_flag=True, help="Use no results of earlier runs, and keep none.")
@command_options.output_format(*FORMATS)
def assess(
    paths: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    modules: tuple[str, ...],
    **rest: Any,
) -> int:
    """Say of each kernel below PATH what rewrite would do with it, and what can prove that. Nothing is changed or run.

    A kernel is done (nothing to do), safe (rewritten), review (rewritten with --unsafe), manual (something is left
    then, too) or failed. The functions that it calls count, in other files of PATH as well.
    """
    if "-" in paths:
        raise click.UsageError("assess reads files: kernels on standard input have no cases beside them.")
    from .assess_command import Asked, run

    configured: Configuration = click.get_current_context().meta[CONFIGURATION]
    codes = chosen_codes("--select", select), chosen_codes("--ignore", ignore)
    return run(Asked(paths, *codes, told_modules(modules), configured, **rest))
