"""The front end against the table of Beta 2 and 0.3: every name, every parameter, the messages of the binding."""

from __future__ import annotations

import ast
import inspect

import pytest
from nki_migrate.runtime import session
from nki_migrate.runtime.beta2 import state
from nki_migrate.runtime.beta2.declare import declare
from nki_migrate.runtime.beta2.modules import MODULES
from nki_migrate.runtime.beta2.signature import builtin
from nki_migrate.runtime.errors import KernelError, NotModelled
from nki_migrate.runtime.machine import Machine
from nki_migrate.runtime.spec import beta2
from nki_migrate.runtime.spec.hardware import TARGETS
from nki_migrate.runtime.spec.versions import OLDEST, VERSIONS, version

nl, nisa = MODULES["nki.language"], MODULES["nki.isa"]
FREE_KEYWORDS = {"nki.jit", "nki.baremetal", "nki.benchmark", "nki.profile", "nki.simulate_kernel"}
LOOPS = {f"nki.language.{name}" for name in beta2.RANGES}
"""Loop ranges are no functions of the front end: it reads them in the head of a ``for``."""
BOUND_BY_TABLE = ("nki.isa.", "nki.language.", "nki.meta.tensor.")


def resolved(name):
    """The object that stands for the qualified ``name``."""
    if name in MODULES:
        return MODULES[name]
    holder, _, attribute = name.rpartition(".")
    return getattr(resolved(holder), attribute)


def functions(version):
    return [
        name
        for name, entry in sorted(beta2.table(version).items())
        if entry.is_callable and name not in FREE_KEYWORDS | LOOPS and name.startswith(BOUND_BY_TABLE)
    ]


@pytest.mark.parametrize("name", sorted(beta2.SYMBOLS))
def test_every_name_of_beta_2_exists(name):
    assert resolved(name) is not None


@pytest.mark.parametrize("name", sorted(n for n, entry in beta2.SYMBOLS.items() if entry.kind == "member"))
def test_members_have_the_documented_values(name):
    member, entry = resolved(name), beta2.SYMBOLS[name]
    assert getattr(member, "value", member) == entry.value


@pytest.mark.parametrize("name", functions("0.2"))
def test_every_parameter_of_beta_2_is_taken(name):
    implemented = inspect.signature(resolved(name)).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in implemented.values()):
        return
    assert set(beta2.SYMBOLS[name].accepted()) <= set(implemented)


@pytest.mark.parametrize("at", VERSIONS[1:], ids=str)
def test_every_parameter_of_instructions_of_later_versions_is_taken(at):
    for name in functions(at):
        implemented = inspect.signature(resolved(name)).parameters
        if name.startswith("nki.isa.") and not any(p.kind is p.VAR_KEYWORD for p in implemented.values()):
            assert set(beta2.table(at)[name].accepted()) <= set(implemented), name


@pytest.mark.parametrize("at", VERSIONS, ids=str)
def test_nothing_is_required_that_the_table_does_not_require(at):
    for name in functions(at):
        if at != OLDEST and not name.startswith("nki.isa."):
            continue
        parameters = inspect.signature(resolved(name)).parameters.values()
        wanted = {p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD}
        assert wanted <= set(beta2.table(at)[name].required()), name


@pytest.mark.parametrize("module", ["nki.isa", "nki.language", "nki.meta.tensor", "nki.collectives"])
def test_no_name_is_offered_that_the_table_does_not_have(module):
    known = {name for at in VERSIONS for name in beta2.table(at)}
    offered = {f"{module}.{name}" for name in vars(MODULES[module]) if not name.startswith("_")}
    assert offered - known - set(MODULES) <= {
        "nki.language.max",
        "nki.language.min",
        "nki.meta.tensor.TraceTimeTensor",
    }


@pytest.fixture
def kernel(request):
    running = session.Session(Machine(TARGETS["gen3"]), dialect="beta2")
    state.install(running, state.State(declare, version(getattr(request, "param", "0.2"))))
    with session.running(running):
        yield running


@pytest.fixture
def tiles(kernel):
    return [nl.ndarray((4, 4), nl.float32, nl.sbuf) for _ in range(3)]


def test_binding_messages(tiles):
    a, b, c = tiles
    for call, message in (
        (lambda: nisa.tensor_copy(a, b, mask=c), "mask parameter is not supported"),
        (lambda: nisa.tensor_copy(a, b, c), "mask parameter is not supported"),
        (lambda: nisa.tensor_copy(a, b, speed=1), "unexpected keyword argument 'speed'"),
        (lambda: nisa.tensor_copy(dst=a), "argument 'src' not found"),
        (lambda: nisa.tensor_copy(a, dst=b, src=c), "by position and by keyword"),
        (lambda: nisa.reciprocal(a, b, None, None, None), r"too many arguments given \(varargs not supported\)"),
        (lambda: nisa.tensor_copy(a, 1.0), "expecting tensor access, got 'float'"),
    ):
        with pytest.raises(KernelError, match=message):
            call()
    nisa.tensor_copy(a, b, mask=None)
    nisa.tensor_copy(a, b, None, name="copy")


@pytest.mark.parametrize("token", ["divide", "max", "min", "reciprocal"])
def test_tokens_that_no_alu_has(tiles, token):
    a, b, _ = tiles
    with pytest.raises(KernelError, match=f"expecting operator, got '{token}'"):
        nisa.tensor_tensor(a, b, b, op=getattr(nl, token))


def test_tokens_of_numpy_and_logical_not(tiles):
    import numpy as np

    a, b, _ = tiles
    with pytest.raises(KernelError, match="expecting operator, got 'add'"):
        nisa.tensor_tensor(a, b, b, op=np.add)
    with pytest.raises(KernelError, match="'logical_not' operator not supported"):
        nisa.tensor_tensor(a, b, b, op=nl.logical_not)
    with pytest.raises(KernelError, match="expecting activation function, got 'add'"):
        nisa.activation(a, nl.add, b)
    with pytest.raises(KernelError, match="cannot be called in Beta 2"):
        nl.add(a, b)


@pytest.mark.parametrize("kernel", ["0.3"], indirect=True)
def test_0_3_refuses_what_it_dropped(tiles):
    a, b, _ = tiles
    with pytest.raises(KernelError, match="unexpected keyword argument 'dtype'"):
        nisa.tensor_copy(a, b, dtype=nl.float32)
    with pytest.raises(KernelError, match=r"unimplemented API nki\.language\.unique_name"):
        nl.unique_name("x")
    nisa.affine_select(a, [[1, 4]], 0, b, 0.0)


def test_what_the_emulator_does_not_execute_says_so(tiles):
    a, _, _ = tiles
    with pytest.raises(NotModelled, match=r"nki\.isa\.rand_get_state"):
        nisa.rand_get_state(a)


def test_what_beta_2_does_not_implement():
    with pytest.raises(NotImplementedError, match=r"nki\.simulate_kernel is not implemented in Beta 2"):
        MODULES["nki"].simulate_kernel(lambda: None)


def test_front_end_outside_of_kernels():
    with pytest.raises(KernelError, match="err_nki_api_outside_of_nki_kernel"):
        nl.ndarray((1, 1), nl.float32, nl.sbuf)


def default_of(text):
    """The value of a default in the table's notation."""
    holder, dot, member = text.partition(".")
    if dot and hasattr(nisa, holder):
        return getattr(getattr(nisa, holder), member)
    if holder == "nl":
        return member
    return ast.literal_eval(text)


@pytest.mark.parametrize("name", functions("0.2"))
def test_defaults_are_those_of_the_table(name):
    implemented = inspect.signature(resolved(name)).parameters
    for parameter in beta2.SYMBOLS[name].parameters or ():
        if parameter.default is None or parameter.name not in implemented or parameter.refused:
            continue
        wanted, found = default_of(parameter.default), implemented[parameter.name].default
        assert found == wanted or (not found and not wanted), parameter.name


@pytest.mark.parametrize("at", VERSIONS, ids=str)
def test_positional_arguments_go_where_the_table_says(at):
    """Every instruction is called with as many marks as it has places; a recorder stands in for the instruction."""
    for name in functions(at):
        entry = beta2.table(at)[name]
        places = [p.name for p in entry.parameters or ()]
        marks = [None if p.refused else f"<{p.name}>" for p in entry.parameters or ()]
        seen = {}

        def recorder(seen=seen, **given):
            seen.update(given)

        recorder.__name__ = name.rpartition(".")[2]
        running = session.Session(Machine(TARGETS["gen3"]), dialect="beta2")
        state.install(running, state.State(declare, at))
        with session.running(running):
            builtin(name.rpartition(".")[0])(recorder)(*marks)
        assert {place: f"<{place}>" for place in places if place in entry.accepted()} == {
            key: value for key, value in seen.items() if value is not None
        }, name
