"""The kernel languages besides NKI: which files are theirs, and the way of such a file from its bytes to its report.

What a language does is behind :class:`nki_migrate.codemods.dialect.Dialect`; its package is imported when a file may
be its own, so a run over NKI alone loads none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from nki_migrate.runtime.spec.versions import NAMES

from .claims import HOMES, dialect, dialects
from .discover import STDIN, Found
from .errors import InputError
from .pins import versions_of
from .reports import bytes_of, contents

if TYPE_CHECKING:
    from nki_migrate.codemods.model import Options, Rule

_TITLES = {"ascend": "TileLang-Ascend", "tilelang": "TileLang"}
"""What people call each language."""


def language_at(path: str) -> str:
    """The language of the file at ``path``; ``nki`` for one that cannot be read (whoever reads it says why)."""
    return _language_at(Found(path))


def asked(source: str | None, target: str | None) -> tuple[str, str, str]:
    """The language, and its versions, that ``--from`` and ``--to`` name (``NAME==VERSION`` or ``NAME``); empty: none.

    A version alone is one of NKI, whose language is empty.

    Raises :class:`InputError` for a language or a version that is not known, and for two languages.
    """
    of_nki = _nki_version(source)
    if of_nki and target is None:
        return "", of_nki, ""
    named: dict[str, str] = {}
    versions = {"--from": "", "--to": ""}
    for option, text in (("--from", source), ("--to", target)):
        if text is None:
            continue
        name, _, version = (part.strip() for part in text.partition("=="))
        if name not in HOMES:
            raise InputError(f"{option} {text}: no language is called '{name}': there are {', '.join(HOMES)}")
        known = dialect(name).versions
        if version and version not in known:
            raise InputError(f"{option} {text}: {name} has no version '{version}': it has {', '.join(known)}")
        named[option], versions[option] = name, version
    if len(set(named.values())) > 1:
        raise InputError(f"--from {source} and --to {target} are two languages: kernels stay in their own")
    return next(iter(named.values()), ""), versions["--from"], versions["--to"]


def _nki_version(source: str | None) -> str:
    """The version of NKI that ``--from`` names, ``0.3`` or ``nki==0.3``; empty for what is about another language.

    Raises :class:`InputError` for a version that NKI does not have.
    """
    name, _, version = (source or "").rpartition("==")
    if name.strip() not in ("", "nki") or not version.strip()[:1].isdigit():
        return ""
    if version.strip() not in NAMES:
        raise InputError(f"--from {source}: there is no NKI version '{version.strip()}': there are {', '.join(NAMES)}")
    return version.strip()


def require(name: str, files: Iterable[Found], options: Iterable[str]) -> None:
    """Raise :class:`InputError` where ``options`` of the language ``name`` are given, and no file is of it."""
    given = list(options) if name else []
    if given and not any(_language_at(file) == name for file in files):
        belong = "belongs" if len(given) == 1 else "belong"
        raise InputError(f"{', '.join(given)} {belong} to kernels of {_TITLES[name]}, and none of the files has any")


def refuse(options: Iterable[str], files: Iterable[Found], forced: str = "") -> None:
    """Raise :class:`InputError` where ``options`` of NKI are given, and all files are of other languages.

    ``--unsafe`` is an option of those that have a rule for it, too.
    """
    given = list(options)
    rest, theirs = split(files, forced) if given else ([], {})
    if any(rule.applicability == "review" for name in theirs for rule in dialect(name).rules.values()):
        given = [option for option in given if option != "--unsafe"]
    if given and theirs and not rest:
        belong = "belongs" if len(given) == 1 else "belong"
        named = " and ".join(_TITLES[name] for name in theirs)
        raise InputError(f"{', '.join(given)} {belong} to kernels of NKI, and all files are of {named}")


def for_project(name: str, path: str, options: Options) -> Options:
    """``options`` with the versions of one file: those that were asked for, else those of its project's pins."""
    oldest, newest = versions_of(path, name, dialect(name).versions) if path != STDIN else ("", "")
    target = options.target if options.target in dialect(name).versions else newest or options.target
    return replace(options, source=options.source or oldest, target=target)


def rules() -> Mapping[str, Rule]:
    """The rules of all languages besides NKI, by code."""
    return {code: rule for each in dialects() for code, rule in each.rules.items()}


def split(files: Iterable[Found], forced: str = "") -> tuple[list[Found], dict[str, list[Found]]]:
    """The files of NKI (and all others that no language claims), and those of each other language.

    Every file that imports what kernels of the language ``forced`` import is taken to be of it.
    """
    rest: list[Found] = []
    theirs: dict[str, list[Found]] = {}
    for file in files:
        name = _language_at(file, forced)
        (rest if name == "nki" else theirs.setdefault(name, [])).append(file)
    return rest, theirs


def _language_at(file: Found, forced: str = "") -> str:
    data = contents(file, b"") if _names_another(file) else b""
    for name, (word, _) in HOMES.items() if isinstance(data, bytes) else ():
        if word in data and forced in (name, "") and _is_claimed(data, "" if forced else name, word):
            return name
    return "nki"


def _names_another(file: Found) -> bool:
    """Are there words of another language than NKI among the bytes of a file?"""
    if file.path == STDIN or file.skipped or file.failed:
        return False
    try:
        data = bytes_of(file)
    except OSError:
        return False
    return any(word in data for word, _ in HOMES.values())


def _is_claimed(data: bytes, name: str, word: bytes) -> bool:
    """Whether the language ``name`` claims a file; without a name, whether any does that asks for the same word."""
    return any(
        dialect(other).claims(data) for other, (theirs, _) in HOMES.items() if theirs == word and name in (other, "")
    )
