"""The rules of NKI, by code: those from Beta 1, those of the ladder, and those of plugins."""

from __future__ import annotations

from ..ladder.registry import RULES as LADDER
from ..model import Rule
from ..rules.registry import RULES as FROM_BETA1
from .plugins import plugin_rules

RULES: dict[str, Rule] = {**FROM_BETA1, **LADDER, **{code: each.rule for code, each in plugin_rules().items()}}
