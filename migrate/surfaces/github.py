"""Annotations as workflow commands of GitHub Actions: they appear on the lines of a pull request.

Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions#setting-an-error-message; the
escapes are those of ``actions/toolkit`` (``packages/core/src/command.ts``).
"""

from __future__ import annotations

from collections.abc import Iterable

from ..output import shown
from .annotations import Annotation, source_path

_COMMANDS = {"note": "notice"}
"""What GitHub calls a severity by another name."""


def commands(annotations: Iterable[Annotation]) -> str:
    """``::error file=F,line=L,col=C,title=T::message``, one line an annotation."""
    return "\n".join(_command(annotation) for annotation in annotations)


def _command(annotation: Annotation) -> str:
    properties = {"file": shown(source_path(annotation.path))}
    if annotation.line:
        properties["line"] = str(annotation.line)
    if annotation.column:
        properties["col"] = str(annotation.column)
    properties["title"] = f"{annotation.code} {annotation.title}"
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS.get(annotation.severity, annotation.severity)} {listed}::{_data(annotation.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
