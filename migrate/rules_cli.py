"""``nki-migrate rules``, ``versions`` and ``explain``: what the tool knows."""

from __future__ import annotations

import click

from . import command_options
from .output import is_terminal
from .rule_codes import completed_subjects, suggestion


@click.command()
@command_options.output_format("text", "json")
def rules(output_format: str) -> None:
    """List the rules."""
    from .explain import rules_json, rules_rows, rules_table

    if output_format == "json":
        click.echo(rules_json())
    elif is_terminal():
        from . import terminal

        terminal.print_table(rules_rows())
    else:
        click.echo(rules_table())


@click.command()
@command_options.output_format("text", "json")
def versions(output_format: str) -> None:
    """List the versions of NKI: their SDK releases, what each changed, and the rule of rewrite that does it."""
    from .version_table import versions_json, versions_text

    click.echo(versions_json() if output_format == "json" else versions_text())


@click.command()
@click.argument("code", shell_complete=completed_subjects)
def explain(code: str) -> None:
    """Explain CODE: what a rule rewrites and why, or what a finding of `check` means, with an example.

    The name of a rule does, too; where rules of several versions share a name, all of them are explained.

    `explain comparison` lists what verify does not compare, and why.
    """
    from .explain import codes_of, explanation, known_codes

    text = "\n\n".join(filter(None, map(explanation, codes_of(code))))
    if not text:
        raise click.UsageError(f"unknown code {code!r}{suggestion(code.upper(), known_codes())}")
    if is_terminal():
        from . import terminal

        terminal.print_explanation(text)
    else:
        click.echo(text)
