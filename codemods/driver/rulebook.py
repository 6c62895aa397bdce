"""The rules of NKI, by code: those from Beta 1, and those of the ladder."""

from __future__ import annotations

from ..ladder.registry import RULES as LADDER
from ..model import Rule
from ..rules.registry import RULES as FROM_BETA1

RULES: dict[str, Rule] = {**FROM_BETA1, **LADDER}
