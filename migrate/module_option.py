"""What the user says that no file shows: modules (``--module OLD=NEW``), values of names (``--set NAME=VALUE``)."""

from __future__ import annotations

import ast

import click


def told_modules(values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The pairs of ``--module``: what is imported now, and from where instead. Raises ``click.UsageError``."""
    from nki_migrate.runtime.spec.beta1 import MODULES

    pairs: dict[str, str] = {}
    for value in values:
        old, _, new = value.partition("=")
        if not all(name.isidentifier() for name in [*old.split("."), *new.split(".")]):
            raise click.UsageError(f"--module {value}: write two dotted names of modules, OLD=NEW.")
        if not old.startswith("neuronxcc.") or new.split(".")[0] == "neuronxcc":
            raise click.UsageError(f"--module {value}: OLD is a module of neuronxcc, and NEW is not.")
        if old in MODULES or any(module.startswith(f"{old}.") for module in MODULES):
            raise click.UsageError(f"--module {value}: what is in {old} is rewritten to Beta 2 without it.")
        if pairs.setdefault(old, new) != new:
            raise click.UsageError(f"--module {value}: {old} is {pairs[old]} already.")
    return tuple(pairs.items())


def told_values(values: tuple[str, ...]) -> dict[str, object]:
    """The values of ``--set NAME=VALUE``: Python literals, else text. Raises ``click.UsageError``."""
    found: dict[str, object] = {}
    for text in values:
        name, separator, value = text.partition("=")
        if not separator or not name.isidentifier():
            raise click.UsageError(f"--set {text}: write NAME=VALUE.")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name] = value
    return found
