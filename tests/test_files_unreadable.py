"""Bytes that are no source: ``rewrite`` and ``check`` say the same of them, whatever was damaged and how."""

import codecs
from encodings.aliases import aliases

import pytest
from first_rung import Options
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate import checking
from nki_migrate.checking import check_reports
from nki_migrate.discover import Found
from nki_migrate.errors import FileError
from nki_migrate.rewriting import rewrite_reports
from nki_migrate.text import decoded

KERNEL = (
    "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n\n"
    "@nki.jit\ndef kernel(x):\n    '''é'''\n    return x\n"
)
PLAIN = "x = 1\n"
SURROGATE = "\ud800".encode("utf-8", "surrogatepass")
COOKIES = sorted({*aliases, *aliases.values(), "klingon", "utf-8", "utf8", "raw_unicode_escape", "ascii\0"})


def verdicts(folder, data):
    """What ``rewrite`` and ``check`` say of a file with these bytes."""
    path = folder / "file.py"
    path.write_bytes(data)
    return [
        (report.status, report.reason)
        for report in (*rewrite_reports([Found(str(path))], Options(), 1), *check_reports([Found(str(path))]))
    ]


def is_text(data):
    try:
        return bool(decoded(data).text)
    except FileError:
        return False


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("unreadable")


NAMED = {
    "UTF-16 with its mark": KERNEL.encode("utf-16"),
    "UTF-16 without": KERNEL.encode("utf-16-be"),
    "UTF-32": KERNEL.encode("utf-32"),
    "null bytes": KERNEL.encode() + b"\0",
    "an unknown cookie": b"# coding: klingon\n" + KERNEL.encode(),
    "a cookie that does not fit": b"# coding: ascii\n" + KERNEL.encode(),
    "a mark and a cookie": codecs.BOM_UTF8 + b"# coding: latin-1\n" + KERNEL.encode(),
    "half of a surrogate pair": KERNEL.encode() + b"# " + SURROGATE,
    "an escaped surrogate": b"# coding: raw_unicode_escape\n# \\ud800\n" + KERNEL.encode("ascii", "ignore"),
    "latin-1 without a cookie": KERNEL.encode("latin-1"),
    "junk with the short name": b"\xff\0\x80 nki \xfe",
    "junk with the long name": b"\xff\0\x80 neuronxcc \xfe",
}


@pytest.mark.parametrize("name", NAMED)
def test_what_cannot_be_read_and_has_a_name_of_nki_fails_in_both(folder, name):
    first, second = verdicts(folder, NAMED[name])
    assert first == second
    assert first[0] == "failed" and first[1].startswith("line ")


@pytest.mark.parametrize("data", [b"\xff\0\x80", PLAIN.encode("utf-16"), b"\x7fELF\0", b"s = '\xe9'\n"])
def test_what_cannot_be_read_and_does_not_name_nki_is_skipped_by_both(folder, data):
    first, second = verdicts(folder, data)
    assert first == second
    assert first[0] == "skipped" and first[1].startswith("line ")


@pytest.mark.parametrize("data", [b"", codecs.BOM_UTF8])
def test_an_empty_file_is_skipped_by_both(folder, data):
    assert verdicts(folder, data) == [("skipped", "empty")] * 2


@st.composite
def damaged(draw):
    """A file whose bytes were damaged in one or more ways."""
    text = draw(st.sampled_from([KERNEL, PLAIN, "# nki\n", "# neuronxcc é\n", ""]))
    if draw(st.booleans()):
        text = f"# -*- coding: {draw(st.sampled_from(COOKIES))} -*-\n{text}"
    data = text.encode(draw(st.sampled_from(["utf-8", "latin-1", "utf-16", "utf-16-le", "utf-32", "utf-8-sig"])))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        kind = draw(st.sampled_from(["insert", "cut", "replace", "mark"]))
        piece = draw(st.one_of(st.binary(min_size=1, max_size=4), st.sampled_from([b"\0", SURROGATE, b"\r", b"\x1a"])))
        if kind == "mark":
            data = draw(st.sampled_from([codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF32_BE])) + data
        elif kind == "cut":
            data = data[:at]
        else:
            data = data[:at] + piece + data[at + (len(piece) if kind == "replace" else 0) :]
    return data


@settings(max_examples=400)
@given(damaged())
def test_both_commands_say_the_same_of_damaged_bytes(folder, data):
    first, second = verdicts(folder, data)
    assert "internal error" not in f"{first[1]}{second[1]}"
    if is_text(data) and not (b"nki" in data and b"neuronxcc" in data):
        return  # text that does not concern one of the two, or neither
    if is_text(data) and "failed" not in (first[0], second[0]):
        return  # source: what each of them finds in it is its own
    assert first == second


@pytest.mark.parametrize("cookie", COOKIES)
def test_whatever_encoding_is_declared_gives_one_verdict(folder, cookie):
    first, second = verdicts(folder, f"# coding: {cookie}\n{KERNEL}".encode())
    assert "internal error" not in f"{first[1]}{second[1]}"
    assert first == second or {first[0], second[0]} <= {"changed", "unchanged"}


def test_a_defect_costs_check_one_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text("import nki\n")
    real = checking.check_report

    def defective(path, *rest):
        if path == "b.py":
            raise AttributeError("no such thing")
        return real(path, *rest)

    monkeypatch.setattr(checking, "check_report", defective)
    reports = check_reports(Found(name) for name in ("a.py", "b.py", "c.py"))
    assert [report.status for report in reports] == ["unchanged", "failed", "unchanged"]
    assert "internal error: AttributeError: no such thing" in (reports[1].reason or "")
