"""The closure of the instruction tables: what one names, every other part knows.

An instruction of Beta 1 has an emulation, and a lowering or a reason for none; one of NKI 0.2 and later has a signature
that calls are judged by, and an emulation of each of its parameters in every version that has it.
"""

import inspect

import pytest
from nki_migrate.codemods import RULES
from nki_migrate.codemods.analysis.instructions import COMMANDS, HANDLERS
from nki_migrate.codemods.expr.tables import refusal_note
from nki_migrate.runtime.beta1 import isa as isa_of_beta1
from nki_migrate.runtime.beta2.modules import ISA_03, MODULES
from nki_migrate.runtime.spec import beta1, beta2
from nki_migrate.runtime.spec.instructions import INSTRUCTIONS
from nki_migrate.runtime.spec.versions import VERSIONS

OF_BETA1 = sorted(name for name, s in beta1.SYMBOLS.items() if name.startswith("nisa.") and s.kind == "function")
OF_LATER = sorted(
    {
        name
        for at in VERSIONS
        for name, s in beta2.table(at).items()
        if name.startswith("nki.isa.") and s.kind == "function"
    }
)


def test_the_rules_are_loaded():
    assert RULES and HANDLERS


@pytest.mark.parametrize("name", OF_BETA1)
def test_an_instruction_of_beta_1_runs_and_is_lowered_or_refused_with_a_reason(name):
    unknown = name in beta1.UNDOCUMENTED and beta1.SYMBOLS[name].fate == "refused"
    assert unknown or name.removeprefix("nisa.") in isa_of_beta1.MEMBERS, "no emulation"
    lowered = name in HANDLERS or name in COMMANDS
    assert lowered or beta1.SYMBOLS[name].fate == "unchanged" or refusal_note(name), "neither lowered nor refused"


@pytest.mark.parametrize("name", OF_LATER)
def test_an_instruction_is_emulated_with_every_parameter_of_every_version(name):
    emulated = {**vars(MODULES["nki.isa"]), **ISA_03}.get(name.removeprefix("nki.isa."))
    assert callable(emulated), "no emulation"
    taken = inspect.signature(inspect.unwrap(emulated)).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in taken.values()):
        return
    for at in VERSIONS:
        entry = beta2.symbol(name, at)
        if entry is not None and entry.parameters is not None:
            accepted = {p.name for p in entry.parameters if not p.refused}
            assert accepted <= taken.keys(), f"NKI {at}: {sorted(accepted - taken.keys())} mean nothing to the emulator"


def test_each_row_of_the_engines_is_an_instruction():
    known = {name.rpartition(".")[2] for name in (*OF_BETA1, *OF_LATER)}
    assert INSTRUCTIONS.keys() <= known


def test_each_target_of_beta_1_is_an_instruction_of_0_2():
    targets = {target for name in OF_BETA1 for target in beta1.SYMBOLS[name].target if target.startswith("nki.isa.")}
    assert targets <= beta2.table("0.2").keys()
