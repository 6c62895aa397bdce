"""What the ladder knows of tiles that a manager of nkilib gives out, wherever the manager comes from; and where it must
not take an object for a manager. The axis of a reduction tells: 1 was the last one in 0.2, whatever the rank.
"""

from __future__ import annotations

import pytest
from nki_migrate.codemods import Options, rewrite

HEAD = """\
import nki
import nki.isa as nisa
import nki.language as nl
from nkilib.core.utils.allocator import SbufManager, create_auto_alloc_manager


"""
HELPER = """\
def helper(x, {parameters}):
    {setup}tile = sbm.alloc_stack((128, 4, 64), nl.float32)
    most = sbm.alloc_stack((128, 4), nl.float32)
    nisa.tensor_reduce(dst=most, op=nl.maximum, data=tile, axis=1)
    return most


"""
KERNEL = """\
@nki.jit
def kernel(x, n):
    mine = SbufManager(0, 1024)
    {calls}
    return x
"""
KNOWN, UNKNOWN = "axis=2", "axis=len(tile.shape) - 1"


def axis_of(parameters: str, calls: str, setup: str = "") -> str:
    helper = HELPER.format(parameters=parameters, setup=setup and f"{setup}\n    ")
    source = HEAD + helper + KERNEL.format(calls=calls.replace("\n", "\n    "))
    written = rewrite(source, Options(target="0.3", source="0.2", unsafe=True)).source
    return KNOWN if KNOWN in written else UNKNOWN if UNKNOWN in written else written


MANAGERS = {
    "all calls give one": ("sbm", "helper(x, mine)\nhelper(x, sbm=mine)", ""),
    "one is made in the call": ("sbm", "helper(x, SbufManager(0, 512))", ""),
    "the default is None, and one is made": (
        "sbm=None",
        "helper(x)\nhelper(x, mine)",
        "sbm = sbm if sbm != None else create_auto_alloc_manager()",
    ),
    "it has another name in between": ("given", "helper(x, mine)", "sbm = given"),
    "a function in between hands it on": ("sbm", "between(x, mine)", ""),
    "no call is seen, and its scopes are opened": ("sbm", "n.run(x)", "sbm.open_scope()"),
    "it is annotated": ("sbm: SbufManager", "helper(x, n)", ""),
}
OTHERS = {
    "one call gives what is not known": ("sbm", "helper(x, mine)\nhelper(x, n)", ""),
    "no call is seen": ("sbm", "n.run(x)", ""),
    "no call is seen, and scopes of another one are opened": ("sbm, other", "n.run(x)", "other.open_scope()"),
    "one call gives what opens scopes, too": ("sbm", "helper(x, mine)\nhelper(x, n)", "sbm.open_scope()"),
    "it is passed on as a value": ("sbm", "helper(x, mine)\nn.run(helper)", ""),
    "it is bound anew": ("sbm, other", "helper(x, mine, n)", "sbm = other"),
    "arguments are hidden": ("sbm", "helper(x, *n)", ""),
    "it may be an object of the caller's of the same name": ("sbm", "between(x, n)", ""),
    "it is None only": ("sbm=None", "helper(x)", ""),
}
BETWEEN = "def between(x, sbm):\n    return helper(x, sbm)\n\n\n"


@pytest.mark.parametrize("form", MANAGERS)
def test_tiles_of_a_manager_have_the_rank_that_they_are_given(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.HEAD", HEAD + BETWEEN * ("between" in MANAGERS[form][1]))
    assert axis_of(*MANAGERS[form]) == KNOWN


@pytest.mark.parametrize("form", OTHERS)
def test_what_may_be_no_manager_is_not_taken_for_one(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.HEAD", HEAD + BETWEEN * ("between" in OTHERS[form][1]))
    assert axis_of(*OTHERS[form]) == UNKNOWN


def test_a_function_that_calls_itself_ends() -> None:
    calls = "helper(x, mine)"
    assert axis_of("sbm", calls, "helper(x, sbm)") == KNOWN


MIXED = """\
import nki
import nki.language as nl
from nkilib.core.utils.allocator import SbufManager


@nki.jit
def k(x):
    manager = SbufManager(0, 1024{more})
    manager.open_scope()
    a = manager.alloc_stack((128, 2), dtype=nl.float32)
    b = nl.ndarray((128, 2), dtype=nl.float32, buffer=nl.sbuf)
    manager.close_scope()
    return x
"""


@pytest.mark.parametrize("more", ("", ", use_auto_alloc=True", ", None, True"))
def test_a_manager_that_is_made_here_places_its_tensors(more: str) -> None:
    """A tensor without an address beside it is refused since 0.3, unless the compiler chooses the places of both."""
    found = rewrite(MIXED.format(more=more), Options(source="0.2", target="0.3"), "k.py").findings
    assert [finding.code for finding in found if finding.code == "NKV025"] == ([] if more else ["NKV025"])
