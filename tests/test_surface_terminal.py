"""What a terminal shows: colours and tables for a person, the plain bytes for everything else."""

import fcntl
import functools
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.terminal import visible

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
KERNEL = str(GOLDEN / "running_counter" / "before.py")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_PROGRESS = re.compile(r"\r\x1b\[K(?:\w+: \d+ of \d+ [^\r\n]*\r\x1b\[K)*")
"""What a command shows once it has taken a second, and takes away again: a busy machine is no other case."""


def command(*arguments):
    return [sys.executable, "-m", "nki_migrate", *arguments]


def environment(**extra):
    plain = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    return {**plain, "TERM": "xterm-256color", **extra}


@pytest.fixture
def on_terminal(commands):
    """``on_terminal(*arguments)``: what a command writes to a terminal that is both its stdout and its stderr."""

    def shown(*arguments, width=100, **extra):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        with ThreadPoolExecutor(1) as reader:
            seen = reader.submit(read_to_the_end, master)
            try:
                commands.run(arguments, environment(**extra), terminal=os.ttyname(slave))
            finally:
                os.close(slave)
        os.close(master)
        return _PROGRESS.sub("", seen.result().decode().replace("\r\n", "\n"))

    return shown


def read_to_the_end(master):
    seen = bytearray()
    while True:
        try:
            part = os.read(master, 1 << 16)
        except OSError:  # Linux: the other end was closed
            return seen
        if not part:
            return seen
        seen += part


@functools.cache
def plain(*arguments, **extra):
    done = subprocess.run(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(**extra), check=False
    )
    return done.stdout.decode()


def without_colours(text):
    return _COLOURS.sub("", text)


COMMANDS = [("rewrite", KERNEL), ("check", KERNEL), ("rules",), ("explain", "NKI011"), ("explain", "NKL050")]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_terminal_gets_colours_and_a_pipe_does_not(arguments, on_terminal):
    seen = on_terminal(*arguments)
    assert _COLOURS.search(seen)
    assert "\x1b" not in plain(*arguments)


@pytest.mark.parametrize("arguments", COMMANDS[:2], ids=" ".join)
def test_colours_change_nothing_but_add_colour(arguments, on_terminal):
    assert sorted(without_colours(on_terminal(*arguments)).split("\n")) == sorted(plain(*arguments).split("\n"))


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("setting", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_who_wants_no_colours_gets_the_plain_text(arguments, setting, on_terminal):
    assert sorted(on_terminal(*arguments, **setting).split("\n")) == sorted(plain(*arguments).split("\n"))


def test_an_empty_no_color_means_nothing(on_terminal):
    assert "\x1b" in on_terminal("rules", NO_COLOR="")


def test_the_table_of_rules_fits_the_window(on_terminal):
    for width in (60, 140):
        lines = without_colours(on_terminal("rules", width=width)).split("\n")
        assert max(map(len, lines)) <= width
    assert len(lines) < len(without_colours(on_terminal("rules", width=60)).split("\n"))


def test_the_example_of_explain_keeps_its_lines(on_terminal):
    seen = [line.rstrip() for line in without_colours(on_terminal("explain", "NKI011")).split("\n")]
    assert seen == [line.rstrip() for line in plain("explain", "NKI011").split("\n")]


def test_a_diff_cannot_command_the_terminal(tmp_path, on_terminal):
    kernel = tmp_path / "k.py"
    kernel.write_bytes(b"import neuronxcc.nki as nki\nx = '\x1b]0;title\x07\x1b[2J'\n")
    assert "\x1b]0;" not in on_terminal("rewrite", str(kernel))
    assert "^[]0;title^G^[[2J" in on_terminal("rewrite", str(kernel))
    assert "\x1b]0;title\x07" in plain("rewrite", str(kernel))


@given(st.text())
def test_what_is_visible_is_no_command(text):
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", visible(text))


@pytest.mark.parametrize(
    "arguments", [("--version",), ("rewrite", KERNEL), ("rewrite", "--output-format", "sarif", KERNEL)]
)
def test_rich_is_not_imported_without_a_terminal(arguments):
    program = (
        "import sys\nfrom nki_migrate.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    assert 'rich' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
