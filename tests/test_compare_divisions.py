"""Divisions that became a reciprocal and a multiplication: the declared bound, and what is taken for one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from first_rung import Options, rewrite
from nki_migrate.judging import Pair
from nki_migrate.planning import Choice
from nki_migrate.runtime import isa
from nki_migrate.runtime.compare import Inexact, Run, Verdict, compare_operands, outputs_from, walked
from nki_migrate.runtime.numerics import convert, ulp_distance
from nki_migrate.runtime.spec.comparison import BY_NUMBER_ULPS, BY_TILE_ULPS
from nki_migrate.runtime.versions import Version
from nki_migrate.sides import Side
from nki_migrate.verdicts import CaseResult, Proof, as_json, as_text
from nki_migrate.verify import Settings, evidence
from nki_migrate.verify_command import Asked, verified
from test_compare_operands import F32, Bench, _view, record

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
ONE = Inexact(1, "NKI022")

# --- the bound -------------------------------------------------------------------------------------------------------


def apart(x: np.ndarray, d: np.ndarray, dtype: np.dtype = F32) -> int:
    """The largest distance in ULP of ``dtype`` between ``x / d`` and ``x * (1 / d)``, in fp32."""
    with np.errstate(all="ignore"):
        quotient, product = x / d, x * (np.float32(1) / d)
    return int(ulp_distance(convert(quotient, dtype), convert(product, dtype)).max())


def test_one_ulp_for_every_bfloat16_by_every_bfloat16_and_none_into_bfloat16() -> None:
    numbers = np.arange(1 << 15, dtype=np.uint16).view(BFLOAT16).astype(F32)
    numbers = numbers[np.isfinite(numbers)]
    # Exponents only shift the result: one binade, and the ends of the range.
    numbers = numbers[((numbers >= 1) & (numbers < 2)) | (numbers < 2.0**-124) | (numbers > 2.0**124)]
    divisors = numbers[(numbers >= 2.0**-126) & (numbers <= 2.0**126)]
    for dtype, bound in ((BFLOAT16, 0), (F32, BY_TILE_ULPS)):
        assert apart(numbers[:, None], divisors[None, :], dtype) == bound


def test_one_ulp_for_all_significands_of_divisors_in_fp32() -> None:
    divisors = (np.arange(1 << 23, dtype=np.uint32) | 0x3F800000).view(F32)
    for x in (1.0, 3.0, 2 - 2.0**-23):
        assert apart(np.float32(x), divisors) == (0 if x == 1 else BY_TILE_ULPS)
        assert apart(np.float32(x), divisors, BFLOAT16) <= BY_TILE_ULPS


def test_two_ulp_for_numbers_that_fp32_rounds() -> None:
    rng = np.random.default_rng(0)
    numbers, x = rng.uniform(1, 2, 1 << 20), rng.uniform(1, 2, 1 << 20).astype(F32)
    quotient, product = x / numbers.astype(F32), x * (1.0 / numbers).astype(F32)
    assert ulp_distance(quotient, product).max() == BY_NUMBER_ULPS


def test_beyond_the_range_there_is_no_bound() -> None:
    divisors = np.random.default_rng(0).uniform(2.0**126, 2.0**127.9, 1000).astype(F32)
    assert apart(np.float32(2.0**100 * 1.7), divisors) > BY_NUMBER_ULPS


# --- what is taken for a division ------------------------------------------------------------------------------------

Kernel = Callable[[Bench], None]


def quotient(b: Bench, *, into: str = "", clobbered: bool = False, address: int | None = None, again: int = 0) -> None:
    """``out[0] = x[0] / y[0]``; ``into`` the name of a tile for the reciprocal, which old kernels do without."""
    x, y, q = b.tile("x", address), b.tile("y", None if address is None else address + 256), b.tile("q")
    b.copy(x, b.x, of=0)
    b.copy(y, b.y, of=0)
    for _ in range(1 + again):
        if into:
            inverse = {"x": x, "q": q}.get(into) or b.tile(into)
            isa.commit(b.machine, isa.reciprocal(_view(y)), _view(inverse))
        if clobbered:
            b.clear(y, 2.0)
        if into:
            b.add(q, x, inverse, "multiply")
        else:
            b.add(q, x, y, "divide")
    b.copy(b.out, q, at=0)


def verdict(old: Kernel, new: Kernel, inexact: Inexact | None = ONE) -> Verdict:
    return compare_operands(record(old), record(new), inexact=inexact).verdict


def test_a_reciprocal_and_a_multiplication_are_a_division_where_that_is_declared() -> None:
    old, new = record(quotient), record(lambda b: quotient(b, into="inverse"))
    found = compare_operands(old, new, inexact=ONE)
    assert found.verdict is Verdict.EQUAL
    assert found.notes == ("1 division is a reciprocal and a multiplication after, declared by NKI022",)
    assert compare_operands(old, new).verdict is Verdict.DIFFERENT
    assert compare_operands(new, old, inexact=ONE).verdict is Verdict.DIFFERENT
    assert compare_operands(new, new, inexact=ONE).notes == ()  # reciprocals of both sides are no divisions


@pytest.mark.parametrize("address", [None, 0])
def test_each_division_has_its_reciprocal(address: int | None) -> None:
    old = lambda b: quotient(b, again=2, address=address)  # noqa: E731
    assert verdict(old, lambda b: quotient(b, into="inverse", again=2, address=address)) is Verdict.EQUAL


def test_a_reciprocal_in_a_tile_that_is_used_otherwise_is_different() -> None:
    assert verdict(quotient, lambda b: quotient(b, into="x")) is Verdict.DIFFERENT


def test_a_divisor_that_changes_in_between_is_different() -> None:
    old, new = (lambda b: quotient(b, clobbered=True)), (lambda b: quotient(b, into="inverse", clobbered=True))
    assert verdict(old, new) is Verdict.DIFFERENT


def test_a_divisor_that_changes_through_another_tile_at_its_place_is_different() -> None:
    def kernel(b: Bench, into: bool) -> None:
        x, y, alias, q = b.tile("x", 0), b.tile("y", 256), b.tile("alias", 256), b.tile("q", 512)
        inverse = b.tile("inverse")
        b.copy(x, b.x, of=0)
        b.copy(y, b.y, of=0)
        if into:
            isa.commit(b.machine, isa.reciprocal(_view(y)), _view(inverse))
        b.clear(alias, 2.0)
        b.add(q, x, inverse if into else y, "multiply" if into else "divide")
        b.copy(b.out, q, at=0)

    assert verdict(lambda b: kernel(b, False), lambda b: kernel(b, True)) is Verdict.DIFFERENT


def test_the_reciprocal_of_another_tile_is_different() -> None:
    def wrong(b: Bench) -> None:
        x, y, q, inverse = (b.tile(name) for name in ("x", "y", "q", "inverse"))
        b.copy(x, b.x, of=0)
        b.copy(y, b.y, of=0)
        isa.commit(b.machine, isa.reciprocal(_view(x)), _view(inverse))
        b.add(q, y, inverse, "multiply")
        b.copy(b.out, q, at=0)

    assert verdict(quotient, wrong) is Verdict.DIFFERENT


def by_number(b: Bench, op: str, number: float, reverse: bool = False) -> None:
    x, q = b.tile("x"), b.tile("q")
    b.copy(x, b.x, of=0)
    isa.commit(b.machine, isa.tensor_scalar(_view(x), op, number, reverse), _view(q))
    b.copy(b.out, q, at=0)


@pytest.mark.parametrize(
    ("old", "new", "declared", "equal"),
    [
        (3.0, 1.0 / 3.0, True, True),
        (3.0, 1.0 / 3.0, False, False),
        (3.0, 0.3333, True, False),
        (4.0, 0.25, False, True),
        (-0.5, -2.0, False, True),
        (4.0, 0.5, True, False),
    ],
)
def test_a_division_by_a_number_is_a_multiplication_by_its_inverse(
    old: float, new: float, declared: bool, equal: bool
) -> None:
    kernels = (lambda b: by_number(b, "divide", old)), (lambda b: by_number(b, "multiply", new))
    assert (verdict(*kernels, ONE if declared else None) is Verdict.EQUAL) == equal
    runs = [record(kernel) for kernel in kernels]
    (walk,) = walked(*runs, inexact=ONE)
    assert bool(walk.divided) == (old == 3.0 and new == 1.0 / 3.0)


# --- where it leads --------------------------------------------------------------------------------------------------


def reached(kernel: Kernel) -> frozenset[int]:
    run: Run = record(kernel)
    divided = [event.sequence for event in run.programs[0].events if event.op == "reciprocal"]
    return outputs_from(run.programs[0], divided)


def test_outputs_are_reached_through_tiles_and_places() -> None:
    def kernel(b: Bench, through: str) -> None:
        other = b.hbm("other", "output")
        other.output = 1
        x, inverse, sum_, alias = b.tile("x"), b.tile("inverse", 0), b.tile("sum"), b.tile("alias", 128)
        b.copy(x, b.x, of=0)
        isa.commit(b.machine, isa.reciprocal(_view(x)), _view(inverse))
        b.add(sum_, x, inverse)
        b.copy(b.out, x, at=0)
        b.copy(other, {"sum": sum_, "alias": alias, "x": x}[through], at=0)

    assert reached(lambda b: kernel(b, "sum")) == {1}
    assert reached(lambda b: kernel(b, "alias")) == {1}
    assert reached(lambda b: kernel(b, "x")) == frozenset()


# --- a migration -----------------------------------------------------------------------------------------------------

SOURCE = """import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def quotients(x, y):
    out = nl.ndarray((4, nl.par_dim(128), 8), dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x)
    b = nl.load(y)
    nl.store(out[0], value=nl.divide(a, b))
    nl.store(out[1], value=a / 3.0)
    nl.store(out[2], value=2.0 / b)
    nl.store(out[3], value=a / nl.sum(b, axis=1, keepdims=True))
    return out


@nki.jit
def halves(x):
    out = nl.ndarray((128, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(x) / 2.0)
    return out


@nki.jit
def further(x, y):
    out = nl.ndarray((128, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x)
    nl.store(out, value=nl.subtract(a / nl.load(y), a))
    return out
"""
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
TENSOR = 'fill = "uniform", low = 0.9, high = 1.1}'
CASES = "".join(
    f'[[case]]\nkernel = "{kernel}"\nname = "{dtype}"\n[case.args]\n'
    + "".join(f'{name} = {{shape = [128, 8], dtype = "{dtype}", {TENSOR}\n' for name in names)
    for kernel, names in (("quotients", "xy"), ("halves", "x"), ("further", "xy"))
    for dtype in ("float32", "bfloat16")
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.chdir(tmp_path)
    Path("k.py").write_text(SOURCE)
    Path("cases.toml").write_text(CASES)


def numbers(proof: Proof) -> dict[str, tuple[str, int]]:
    return {f"{r.kernel}, {r.case}": (r.levels[-1].verdict.value, r.levels[-1].ulps) for r in proof.results}


def test_what_a_rewrite_declares_is_what_verify_accepts() -> None:
    outcome = rewrite(SOURCE, Options(unsafe=True))
    assert outcome.inexact == {"NKI022": BY_NUMBER_ULPS} and rewrite(SOURCE).inexact == {}
    proof = verified(Asked(("k.py",), migrate=True, unsafe=True, jobs=2)).proof
    found = numbers(proof)
    assert found["quotients, float32"] == ("equal", 1) and found["quotients, bfloat16"][0] == "equal"
    assert found["halves, float32"] == ("equal", 0)
    assert found["further, float32"][0] == "equal" and found["further, float32"][1] > 100
    text = as_text(proof)
    assert "  quotients, float32 (gen3): equal within 1 ULP\n" in text
    assert "numbers    equal      1 output, at most 1 ULP apart, within 2 (declared by NKI022)" in text
    assert f"at most {found['further, float32'][1]} ULP apart, by the rounding of quotients alone" in text
    assert "note: more than the 2 ULP that NKI022 declares for a quotient" in text
    assert "within declared ULPs), 0 different" in text
    assert '"ulps": 1' in as_json(proof)
    assert not any(result.doubts for result in proof.results)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("a / nl.load(y), a)", "a / nl.load(y), 1.0)"),
        ("a / nl.load(y)", "a / nl.load(x)"),
    ],
)
def test_what_else_differs_behind_a_division_is_different(right: str, wrong: str) -> None:
    """The old kernel with its quotients rounded like the new ones has other bits than another one."""
    new = rewrite(SOURCE.replace(right, wrong), Options(unsafe=True)).source
    after = Version(overlay=((os.path.realpath("k.py"), new.encode()),))
    side = Side(after, "rewritten", inexact=Inexact(BY_NUMBER_ULPS, "NKI022", of_quotients=True))
    settings = Settings(("numbers",), choice=Choice(None, frozenset(("further",)), None), jobs=2)
    first, _ = evidence([Pair("k.py", "k.py", new=side)], settings, "k.py").results
    assert first.levels[-1].verdict is Verdict.DIFFERENT and first.levels[-1].differences


def test_a_bound_of_the_users_is_one_for_what_is_computed_from_quotients() -> None:
    asked = Asked(("k.py",), migrate=True, unsafe=True, jobs=2, kernels=("further",), ulps=3)
    assert numbers(verified(asked).proof)["further, float32"] == ("different", 0)


def test_stored_pairs_need_a_declaration_of_the_users() -> None:
    Path("new.py").write_text(rewrite(SOURCE, Options(unsafe=True)).source)

    def result(**options: object) -> CaseResult:
        return verified(Asked(("k.py", "new.py"), jobs=2, kernels=("quotients",), **options)).proof.results[0]  # type: ignore[arg-type]

    def kinds(**options: object) -> tuple[str, str]:
        return result(**options).verdict.value, result(**options).levels[-1].summary

    assert kinds()[0] == "different"
    assert result().levels[1].notes[-1] == (
        "all that differs is 4 divisions that are a reciprocal and a multiplication after, as NKI022 writes them: "
        "--ulps 2 declares their rounding"
    )
    assert kinds(ulps=1) == ("equal", "1 output, at most 1 ULP apart, within 1 (declared by --ulps)")
    Path("cases.toml").write_text(CASES.replace("[case.args]", "ulps = 3\n[case.args]"))
    assert kinds(ulps=1) == ("equal", "1 output, at most 1 ULP apart, within 3 (declared by the case)")
    Path("cases.toml").write_text(CASES)
    Path("new.py").write_text(Path("new.py").read_text().replace("out[2]", "out[1]"))
    assert not any("--ulps" in note for note in result().levels[1].notes)
