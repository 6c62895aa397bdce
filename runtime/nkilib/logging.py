"""``nkilib.core.utils.logging``: loggers that print while the kernel is compiled.

``NKILIB_LOG_LEVEL_<name>`` sets the level of one logger, ``NKILIB_LOG_LEVEL`` that of all, then comes the level in the
code, then ``INFO``. Both variables are read when a logger is made.
"""

from __future__ import annotations

import os
import sys
from enum import Enum

from ..beta2.objects import NKIObject

_VARIABLE = "NKILIB_LOG_LEVEL"


class LogLevel(Enum):
    """Messages below a logger's level are not printed."""

    DEBUG = 0
    INFO = 1
    WARN = 2
    ERROR = 3
    OFF = 999

    @staticmethod
    def from_string(level: str) -> LogLevel:
        return LogLevel[level]


class Logger(NKIObject):
    """Prints ``[LEVEL] [name] message``."""

    def __init__(self, name: str, level: LogLevel = LogLevel.INFO) -> None:
        self.name, self.level = name, level

    def is_enabled_for(self, level: LogLevel) -> bool:
        return bool(level.value >= self.level.value)

    def debug(self, msg: str) -> None:
        self._log(LogLevel.DEBUG, msg)

    def info(self, msg: str) -> None:
        self._log(LogLevel.INFO, msg)

    def warn(self, msg: str) -> None:
        self._log(LogLevel.WARN, msg)

    def error(self, msg: str) -> None:
        self._log(LogLevel.ERROR, msg)

    def _log(self, level: LogLevel, msg: str) -> None:
        if self.is_enabled_for(level):
            print(f"[{level.name}] {f'[{self.name}] ' if self.name else ''}{msg}")


def get_logger(name: str, level: LogLevel = LogLevel.INFO) -> Logger:
    """A logger called ``name``; the environment wins over ``level``."""
    for variable in (f"{_VARIABLE}_{name}", _VARIABLE):
        wanted = os.environ.get(variable)
        if wanted is None:
            continue
        if wanted.upper() in LogLevel.__members__:
            return Logger(name, LogLevel[wanted.upper()])
        print(f"Warning: Invalid {variable}='{wanted}'", file=sys.stderr)
    return Logger(name, level)


logger = get_logger("")
"""A logger without a name."""
