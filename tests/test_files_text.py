"""Bytes to text and back: encodings, line ends, final newlines."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.errors import FileError
from nki_migrate.text import decoded, encoded

LINES = st.lists(st.sampled_from(["x = 1", "# é", "", "\tы = '\x0c'", "s = '\u2028'", "\x0c", "y"]), max_size=8)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def sources(draw, mixed=True):
    """Source text with any line ends, with or without a final one."""
    lines = draw(LINES)
    one = draw(ENDS)
    ends = [draw(ENDS) if mixed else one for _ in lines]
    if lines and draw(st.booleans()):
        ends[-1] = ""
    return "".join(line + end for line, end in zip(lines, ends, strict=True))


@given(sources(), st.booleans())
def test_unchanged_text_keeps_every_byte(source, bom):
    data = codecs.BOM_UTF8 * bom + source.encode()
    text = decoded(data)
    assert "\r" not in text.text
    assert encoded(text.text, text) == data


@given(sources(), LINES, st.integers(0, 8))
def test_inserted_lines_leave_the_other_lines_bytes(source, new_lines, position):
    text = decoded(source.encode())
    lines = text.text.split("\n")
    position = min(position, len(lines) - 1)
    new_lines = [f"inserted_{index}" for index, _ in enumerate(new_lines)]
    new = "\n".join([*lines[:position], *new_lines, *lines[position:]])
    result = encoded(new, text).decode()
    for index in range(len(new_lines)):
        ends = [end for end in ("\r\n", "\n", "\r") if f"inserted_{index}{end}" in result]
        assert ends and (not text.ends or ends[0] in text.ends)
    assert decoded(result.encode()).text == new


@given(sources(mixed=False).filter(bool), st.integers(0, 7))
def test_a_replaced_line_takes_the_files_line_end(source, position):
    text = decoded(source.encode())
    lines = text.text.split("\n")
    position = min(position, max(len(text.ends) - 1, 0))
    lines[position] = "replaced = 1"
    result = encoded("\n".join(lines), text)
    assert decoded(result).ends == text.ends


def test_lines_that_stay_keep_their_own_line_ends_in_a_mixed_file():
    text = decoded(b"a\r\nb\nc\r\nd\re\n")
    assert encoded("a\nnew\nb\nd\ne\n", text) == b"a\r\nnew\r\nb\nd\re\n"


@pytest.mark.parametrize(
    ("before", "new", "after"), [(b"a\nb", "c\nb\n", b"c\nb"), (b"a\n", "b", b"b\n"), (b"", "", b"")]
)
def test_the_final_newline_is_there_if_and_only_if_it_was(before, new, after):
    assert encoded(new, decoded(before)) == after


@pytest.mark.parametrize("codec", ["latin-1", "cp1252", "shift_jis", "koi8-r", "utf-8"])
def test_a_declared_encoding_is_kept(codec):
    word = {"shift_jis": "日本", "koi8-r": "слово"}.get(codec, "é")
    data = f"#!/usr/bin/python\n# -*- coding: {codec} -*-\ns = '{word}'\nold\n".encode(codec)
    text = decoded(data)
    assert word in text.text
    assert encoded(text.text.replace("old", "new"), text) == data.replace(b"old", b"new")


def test_a_byte_order_mark_stays_and_is_not_in_the_text():
    text = decoded(b"\xef\xbb\xbfx = 1\n")
    assert text.text == "x = 1\n"
    assert encoded("y = 1\n", text) == b"\xef\xbb\xbfy = 1\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x = 1\ny = 2\nz = 3\ns = '\xe9'\n", "line 4: byte 0xe9 is not utf-8"),
        (b"s = '\xe9'\n", "line 1"),
        (b"# coding: klingon\n", "line 1: unknown encoding: klingon"),
        (b"\xef\xbb\xbf# coding: latin-1\n", "line 1: encoding problem"),
        (b"# coding: rot13\nk = 1\n", "line 1: cannot decode the file as rot13"),
        (b"# coding: hex\n", "line 1: cannot decode the file as hex"),
    ],
)
def test_undecodable_bytes_are_one_error_with_a_line(data, reason):
    with pytest.raises(FileError) as caught:
        decoded(data)
    assert str(caught.value).startswith(reason)
    assert "\n" not in str(caught.value)


def test_bytes_that_a_codec_does_not_give_back_are_refused():
    data = b"# coding: utf-7\ns = '+AOk-'  # +AGE-\n"  # utf-7 writes the second letter as a plain "a"
    with pytest.raises(FileError, match="does not survive decoding and encoding as utf-7"):
        decoded(data)


def test_new_text_that_the_encoding_cannot_hold_is_refused():
    text = decoded("# coding: latin-1\ns = 'é'\n".encode("latin-1"))
    with pytest.raises(FileError, match="'→', which iso-8859-1 cannot hold"):
        encoded("# coding: latin-1\ns = '→'\n", text)


def test_new_text_must_still_declare_the_encoding():
    text = decoded("# coding: latin-1\ns = 'é'\n".encode("latin-1"))
    with pytest.raises(FileError):
        encoded("import nki\nimport os\n# coding: latin-1\ns = 'é'\n", text)
    with pytest.raises(FileError, match="no longer declares its encoding, iso-8859-1"):
        encoded("# coding: utf-8\ns = 'e'\n", text)


def test_a_line_end_does_not_join_that_of_an_empty_line_behind_it():
    text = decoded(b"a\r\n\nb\rc\rd\r")
    assert encoded("a\nnew\n\nb\nc\nd\n", text) == b"a\r\nnew\n\nb\rc\rd\r"
    assert encoded("a\nnew\n\n\nb\nc\nd\n", text) == b"a\r\nnew\n\n\nb\rc\rd\r"
