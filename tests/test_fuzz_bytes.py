"""Damaged files: what is not rewritten keeps every byte, and what cannot be read is one line and exit code 2."""

import os
import random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from nki_migrate.cli import main
from nki_migrate.codemods import Options
from nki_migrate.rewriting import rewrite_report

KERNEL = b"""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def copy(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x))
    return out
"""
HOST = [
    b"def host( a,b ):",
    b"    if a :",
    b"        return  [a , b]",
    b"    return {'x':b}  # kept",
    b"",
    b"table = (1,",
    b"  2 )",
]
EXAMPLES = int(os.environ.get("NKI_MIGRATE_FUZZ", "60"))
"""How many examples each property gets: ``tests/bench/fuzz.py`` asks for more."""
FUZZ = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def damaged(data, seed):
    """``data`` with bytes put in, taken away, changed, doubled, cut or swapped, in up to four places."""
    chance = random.Random(seed)
    data = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at, to = sorted(chance.randrange(len(data) + 1) for _ in range(2))
        new = bytes(chance.choice((chance.randrange(256), *b"\0\r\n\t \\\"'#()[]:=\xef\x0c")) for _ in range(3))
        data[at : chance.choice((at, at + 1, min(to, at + 40)))] = new[: chance.randrange(4)]
        if chance.random() < 0.2:
            data += data[at:to]
    return bytes(data)


@FUZZ
@given(st.integers(min_value=0))
@example(12202)  # a "return" at the margin
def test_damage_is_a_report_and_never_an_error_of_ours(seed):
    data = damaged(KERNEL + b"\n\n" + b"\n".join(HOST) + b"\n", seed)
    report = rewrite_report("k.py", data, Options())
    assert report.before == data
    assert "internal error" not in (report.reason or ""), report.reason
    if report.status != "changed":
        assert report.after == data
    elif b"\r" not in data and compiles(data):
        compile(report.after, "k.py", "exec", dont_inherit=True)


def compiles(data: bytes) -> bool:
    """Does Python take a file, beyond its grammar? A ``return`` that damage put at its margin may stay there."""
    try:
        compile(data, "k.py", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


ENDS = st.sampled_from([b"", b" ", b"\t", b"  \t", b"\x0c", b"  # x ", b"  # t\xc3\xa4g"])


@FUZZ
@given(
    st.lists(ENDS, min_size=len(HOST), max_size=len(HOST)),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.booleans(),
    st.booleans(),
)
def test_space_comments_and_line_ends_of_what_no_rule_touches_are_kept(ends, newline, mark, first, is_ended):
    host = newline.join(line + end for line, end in zip(HOST, ends, strict=True))
    kernel = KERNEL.replace(b"\n", newline)
    data = mark + (host + newline + newline + kernel if first else kernel + newline + host + newline * is_ended)
    report = rewrite_report("k.py", data, Options())
    assert report.status == "changed", report.reason
    assert host in report.after and report.after.startswith(mark)
    assert report.after.endswith(newline) == data.endswith(newline)
    plain = rewrite_report("k.py", mark + host + newline * is_ended, Options())
    assert plain.after == plain.before


@settings(FUZZ, max_examples=max(EXAMPLES // 3, 1))
@given(st.integers(min_value=0), st.sampled_from(["rewrite", "check"]))
def test_a_command_ends_with_0_1_or_2_and_says_what_it_cannot_read(tmp_path_factory, seed, command):
    path = tmp_path_factory.mktemp("fuzz") / "k.py"
    data = damaged(KERNEL, seed)
    path.write_bytes(data)
    arguments = [command, str(path), *(["--no-cache", "--check"] if command == "rewrite" else [])]
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code in (0, 1, 2) and path.read_bytes() == data


@pytest.mark.parametrize("command", ["rewrite", "check"])
@pytest.mark.parametrize(
    "data",
    [
        b"import neuronxcc.nki\nx = (\n",
        b"\xff\xfenki neuronxcc",
        b"import neuronxcc.nki as nki\n\0",
        b"# coding: no\nimport neuronxcc.nki\n",
    ],
)
def test_what_cannot_be_read_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capfd, command, data):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.py").write_bytes(data)
    with pytest.raises(SystemExit) as exit_:
        main([command, "k.py"])
    out, err = capfd.readouterr()
    said = [line for line in err.splitlines() if line.startswith("k.py: failed: ")]
    assert exit_.value.code == 2 and len(said) == 1 and "Traceback" not in err and out == ""
