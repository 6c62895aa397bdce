"""A source file's bytes to text and back, so that what was not rewritten keeps its bytes.

Encoding (PEP 263 cookie, UTF-8 byte order mark), line ends (``\\n``, ``\\r\\n``, ``\\r``, also mixed in one file) and a
missing final newline all survive. The rewriting itself sees only ``str`` with ``\\n``.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from nki_migrate.codemods.syntax.shared_lines import line_matcher

from .errors import FileError

# What Python's tokenizer takes for a line end; not form feeds, U+2028 and the like, at which str.splitlines splits too.
_LINE_END = re.compile(r"\r\n|\r|\n")
_NO_SOURCE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class Text:
    """A decoded file.

    ``text`` has ``\\n`` line ends. ``encoding`` is the codec (``utf-8-sig``: UTF-8 with a byte order mark). ``ends``
    holds the line end of each line; the last line is the text after the last line end and has none.
    """

    text: str
    encoding: str
    ends: tuple[str, ...]


def decoded(data: bytes) -> Text:
    """The text of a file.

    Raises ``FileError`` when its encoding is unknown, or does not fit its bytes, or gives what no source may hold.
    """
    encoding = _encoding(data)
    try:
        raw = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileError(
            f"line {line}: byte 0x{data[error.start]:02x} is not {encoding}: declare the file's encoding in line 1 "
            "(# coding: ...), or save it as UTF-8"
        ) from error
    except (LookupError, UnicodeError) as error:
        raise FileError(f"line 1: cannot decode the file as {encoding}: {error}") from error
    if _encodes_otherwise(raw, encoding, data):
        raise FileError(f"line 1: the file does not survive decoding and encoding as {encoding}: save it as UTF-8")
    _must_be_source(raw)
    return Text(_LINE_END.sub("\n", raw), encoding, tuple(_LINE_END.findall(raw)))


def _encodes_otherwise(raw: str, encoding: str, data: bytes) -> bool:
    try:
        return raw.encode(encoding) != data
    except UnicodeError:
        return True


def _must_be_source(raw: str) -> None:
    """Raise ``FileError`` for characters that Python's parser does not take anywhere."""
    for match in _NO_SOURCE.finditer(raw):
        line = len(_LINE_END.findall(raw, 0, match.start())) + 1
        what = "a null byte" if match[0] == "\0" else "half of a surrogate pair"
        raise FileError(f"line {line}: {what}: this is no Python source")


def encoded(text: str, original: Text) -> bytes:
    """The bytes of a new ``text`` for the file that ``original`` was read from.

    Lines that are in both keep their line end, new ones take the file's most common one. Raises ``FileError`` when the
    file's encoding cannot hold the new text, or is no longer declared by it.
    """
    if text == original.text:
        return _with_ends(text, original.ends).encode(original.encoding)
    text = _final_newline(text, like=original.text)
    try:
        data = _with_ends(text, _ends(text, original)).encode(original.encoding)
    except UnicodeEncodeError as error:
        character = text[error.start] if error.start < len(text) else "?"
        raise FileError(
            f"the new text has {character!r}, which {original.encoding} cannot hold: save the file as UTF-8"
        ) from error
    if decoded(data) != Text(text, original.encoding, tuple(_LINE_END.findall(data.decode(original.encoding)))):
        raise FileError(f"the new text no longer declares its encoding, {original.encoding}")
    return data


def _encoding(data: bytes) -> str:
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError as error:
        raise FileError(
            f"line 1: {error.msg or error}: declare the file's encoding in line 1 (# coding: ...), or save it as UTF-8"
        ) from error


def _final_newline(text: str, like: str) -> str:
    if like.endswith("\n") == text.endswith("\n") or not like or not text:
        return text
    return text[:-1] if text.endswith("\n") else text + "\n"


def _ends(text: str, original: Text) -> tuple[str, ...]:
    """Line ends for ``text``, line by line."""
    count = text.count("\n")
    kinds = Counter(original.ends)
    if len(kinds) < 2:
        return tuple(kinds or "\n") * count
    common = kinds.most_common(1)[0][0]
    ends = [common] * count
    lines = text.split("\n")
    matcher = line_matcher(original.text.split("\n"), lines)
    for old, new, size in matcher.get_matching_blocks():
        for index in range(size):
            if new + index < count and old + index < len(original.ends):
                ends[new + index] = original.ends[old + index]
    for index in range(count - 2, -1, -1):
        if ends[index] == "\r" and not lines[index + 1] and ends[index + 1] == "\n":
            ends[index] = "\n"  # with that of the empty line behind it, it would be one line end
    return tuple(ends)


def _with_ends(text: str, ends: tuple[str, ...]) -> str:
    lines = text.split("\n")
    return "".join(line + end for line, end in zip(lines, (*ends, ""), strict=True))


def with_lines(text: Text, above: Mapping[int, Sequence[str]]) -> bytes:
    """The bytes of a file with lines put in ``above`` some of its own (1-based); they take its most common line end.

    What the file's encoding cannot hold of them is escaped. Raises ``FileError`` where the file would no longer be read
    as what it is.
    """
    common = Counter(text.ends).most_common(1)[0][0] if text.ends else "\n"
    pieces: list[str] = []
    new: list[str] = []
    for number, (line, end) in enumerate(zip(text.text.split("\n"), (*text.ends, ""), strict=True), start=1):
        inserted = [
            each.encode(text.encoding, "backslashreplace").decode(text.encoding) for each in above.get(number, ())
        ]
        pieces += [*(each + common for each in inserted), line + end]
        new += [*inserted, line]
    data = "".join(pieces).encode(text.encoding)
    again = decoded(data)
    if (again.text, again.encoding) != ("\n".join(new), text.encoding):
        raise FileError(f"a new line would change how the file is read, as {text.encoding}: save it as UTF-8")
    return data


def without_lines(text: Text, lines: Collection[int]) -> bytes:
    """The bytes of a file without some of its lines (1-based)."""
    kept = enumerate(zip(text.text.split("\n"), (*text.ends, ""), strict=True), start=1)
    return "".join(line + end for number, (line, end) in kept if number not in lines).encode(text.encoding)
