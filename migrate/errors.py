"""The tool could not do its work."""

from __future__ import annotations


class InputError(Exception):
    """Something that the user gave cannot be used: one line that says what, and what to do. Exit code 2."""


class FileError(Exception):
    """One file cannot be read, rewritten or written; the message is the ``reason`` of its ``failed`` status."""
