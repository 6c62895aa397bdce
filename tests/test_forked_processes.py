"""The processes that tests fork end in whichever order: one that was forked later holds the pipes of the others."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest
from forked_commands import ForkedCommands
from one_process import OneProcess


def _ends(close: Callable[[], None]) -> bool:
    """Does it end within a minute?"""
    thread = threading.Thread(target=close, daemon=True)
    thread.start()
    thread.join(60)
    return not thread.is_alive()


@pytest.mark.parametrize("is_first", [True, False])
def test_forked_processes_end_in_either_order(is_first: bool) -> None:
    commands, one = ForkedCommands(), OneProcess()
    assert commands.run(("--version",), os.environ)[0] == 0
    one._start()  # which has a copy of what the commands read from
    other = OneProcess()
    other._start()
    assert _ends(commands.close if is_first else other.close)
    assert _ends(one.close)
    assert _ends(other.close if is_first else commands.close)
