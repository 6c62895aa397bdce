"""NKV001 platform-target: ``platform_target`` of ``nki.jit`` goes.

Why: 0.3 raises an error for it. ``NEURON_PLATFORM_TARGET_OVERRIDE`` says the platform where no device does.

Review: off the device, who compiles must set the variable now.
"""

from __future__ import annotations

import ast

from ..answers import Answer
from ..facts import Facts
from ..jit import without

CODE = "NKV001"
APPLICABILITY = "review"
GOLDENS = ("ladder_decorators",)
NODES = (ast.Call,)
HOST = True


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Take the parameter away."""
    return without(
        facts, node, "platform_target", "the platform is that of the device, or NEURON_PLATFORM_TARGET_OVERRIDE"
    )
