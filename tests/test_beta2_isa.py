"""Every instruction of the table against NumPy, or its refusal: one check an instruction; none lacks."""

from __future__ import annotations

import numpy as np
import pytest
from isa_checks import CHECKS, elementwise, into, movement, nisa, reductions, run
from nki_migrate.runtime.errors import NotModelled
from nki_migrate.runtime.spec import beta2

SUBJECTS = (elementwise, movement, reductions)
"""The modules whose checks are in ``CHECKS`` once they are imported."""
ELSEWHERE = {
    "core_barrier": "test_beta2_cores",
    "lnc_barrier": "test_beta2_cores",
    "sendrecv": "test_beta2_cores",
    "nc_matmul_mx": "test_beta2_mx",
    "quantize_mx": "test_beta2_mx",
}
"""Instructions that need a launch or formats of their own, and the file that checks them."""


def instructions():
    return [
        name.removeprefix("nki.isa.")
        for name, e in sorted(beta2.SYMBOLS.items())
        if e.is_callable and name.startswith("nki.isa.")
    ]


def refused():
    return [name for name in instructions() if name not in CHECKS and name not in ELSEWHERE]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", sorted(CHECKS))
def test_instruction_against_numpy(name, seed):
    CHECKS[name](np.random.default_rng(seed))


@pytest.mark.parametrize("name", refused())
def test_what_is_not_checked_is_refused_by_name(name):
    entry = beta2.SYMBOLS[f"nki.isa.{name}"]
    with pytest.raises(NotModelled, match=rf"nki\.isa\.{name}"):
        run(into((1, 1))(lambda dst: getattr(nisa, name)(**dict.fromkeys(entry.required(), dst))))


def test_only_what_the_documentation_or_hardware_hides_is_refused():
    """Documented instructions all run, but for the state of the hardware's random number generators."""
    documented = {name for name in refused() if beta2.SYMBOLS[f"nki.isa.{name}"].documented}
    assert documented == {"rand_get_state", "rand_set_state"}


def test_what_is_checked_elsewhere_is_in_the_table():
    assert set(ELSEWHERE) | set(CHECKS) <= set(instructions())
