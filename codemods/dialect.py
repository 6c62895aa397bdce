"""The static side of a kernel language: a port that each one but NKI fills.

Discovery, text, findings, guards, reports and maps know a language by this port only. Another language brings a package
with a :class:`Dialect` called ``DIALECT``, and one line in ``nki_migrate.languages``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from .model import Finding, Options, Outcome, Rule


@dataclass(frozen=True)
class Dialect:
    """What the tool asks of a language.

    ``name`` is the language's (``tilelang``), and that of ``--from NAME==VERSION``. ``claims`` says of a file's bytes
    whether its kernels are of this language; the first language that claims a file has it. ``rules`` are its rules by
    code. ``versions`` are the versions that it knows, oldest first. ``rewrite`` gives the outcome for each of the
    sources (path to text) that import from each other, from ``options.source`` to ``options.target`` (versions; empty:
    found by evidence, the newest). ``check`` finds what is not legal in one text (text, path, version; empty: the
    newest, and the options of the run). ``objections`` are reasons of the language's own that an outcome for a text
    must not be written.
    """

    name: str
    claims: Callable[[bytes], bool]
    rules: Mapping[str, Rule]
    versions: tuple[str, ...]
    rewrite: Callable[[Mapping[str, str], Options], Mapping[str, Outcome]]
    check: Callable[[str, str, str, Options | None], Iterable[Finding]]
    objections: Callable[[str, Outcome, Options], Iterable[str]] = lambda text, outcome, options: ()
