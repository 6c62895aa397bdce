"""The numbers level: are the outputs the same, bit by bit?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..numerics import is_integer, ulp_distance
from .changes import explained
from .trace import Run
from .verdict import Difference, Inexact, LevelVerdict, Verdict, level_verdict

Array = npt.NDArray[Any]
_PART = 1 << 18
"""Bytes that are compared at a time."""


def compare_numbers(
    before: Run, after: Run, *, inexact: Inexact | None = None, outputs: Collection[int] = (), again: Run | None = None
) -> LevelVerdict:
    """The numbers verdict of two runs: outputs by position, NaN equal to NaN.

    Those ``outputs`` that are computed from an ``inexact`` division may be as far apart as it declares, and as far as
    its rounding carries if those of ``again`` have the bits of the new ones: the old kernel, dividing as the new one.
    """
    differences: list[Difference] = []
    largest = carried = 0
    for index, (old, new) in enumerate(zip(before.outputs, after.outputs, strict=False)):
        name = f"output {index}" if len(before.outputs) > 1 else "the output"
        ulps = inexact.ulps if inexact is not None and index in outputs else 0
        distance, difference = _compare_arrays(name, old.array(), new.array(), ulps)
        if difference and ulps and again is not None and _is_same(again.outputs[index].array(), new.array()):
            difference, carried = None, carried + 1
        largest = max(largest, distance)
        differences += [difference] if difference else []
    if not before.outputs and not after.outputs:
        return LevelVerdict(
            "numbers", Verdict.UNDECIDED, "the kernel returns no tensor: there are no numbers to compare"
        )
    notes = [_note(inexact)] if differences and inexact is not None and outputs else []
    if carried and inexact is not None:
        notes.append(
            f"more than the {inexact.ulps} ULP that {inexact.by} declares for a quotient: the rounding of quotients is "
            "carried on; bit-identical to the old kernel with its quotients so rounded"
        )
    summary = _summary(differences, len(before.outputs), largest, inexact if not carried else None)
    verdict = level_verdict("numbers", differences, summary, notes)
    verdict = verdict if differences else replace(verdict, ulps=largest)
    return explained(_with_form(verdict, before, after), before, after)


def _with_form(verdict: LevelVerdict, before: Run, after: Run) -> LevelVerdict:
    """``verdict`` where the outputs are as many, in a value of one form: a caller unpacks another one otherwise."""
    if len(before.outputs) != len(after.outputs):
        message = f"{len(before.outputs)} outputs before, {len(after.outputs)} after"
    elif before.form and after.form and before.form != after.form:
        message = f"the kernel returns {before.form} before and {after.form} after"
    else:
        return verdict
    summary = verdict.summary if verdict.differences else "the returned values differ in form"
    found = level_verdict("numbers", [Difference(message), *verdict.differences], summary, [*verdict.notes])
    return replace(found, count=verdict.count + 1)


def _summary(differences: list[Difference], outputs: int, largest: int, inexact: Inexact | None) -> str:
    tensors = f"{outputs} output{'' if outputs == 1 else 's'}"
    if differences:
        return f"{len(differences)} of {tensors} differ"
    if not largest:
        return f"{tensors}, bit-identical"
    if inexact is None:
        return f"{tensors}, at most {largest} ULP apart, by the rounding of quotients alone"
    return f"{tensors}, at most {largest} ULP apart, within {inexact.ulps} (declared by {inexact.by})"


def _note(inexact: Inexact) -> str:
    """What to make of outputs that are further apart than was declared."""
    return (
        f"{inexact.by} declares {inexact.ulps} ULP for what a division gives; what is computed from it can be further "
        "apart, within no bound: give the case a reference (rtol, atol), or declare what you accept (ulps = N)"
    )


def _compare_arrays(name: str, old: Array, new: Array, ulps: int) -> tuple[int, Difference | None]:
    """The largest distance in ULP, and the difference when it is over ``ulps``."""
    if old.shape != new.shape:
        return 0, Difference(f"{name} has shape {list(old.shape)} before and {list(new.shape)} after")
    if old.dtype != new.dtype:
        return 0, Difference(f"{name} is {old.dtype.name} before and {new.dtype.name} after")
    if _is_same_memory(old, new):
        return 0, None
    unequal = ~same_bits(old, new)
    if not unequal.any():
        return 0, None
    distances = np.where(unequal, ulp_distance(old, new), 0)
    largest = int(distances.max())
    if 0 < largest <= ulps and not (unequal & (distances == 0)).any():
        return largest, None
    count = int(unequal.sum())
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(unequal)), unequal.shape))
    worst = tuple(int(i) for i in np.unravel_index(int(np.argmax(distances)), unequal.shape))
    unit = "apart" if is_integer(old.dtype) else "ULP"
    text = f"{name} differs in {count} of {old.size} elements, first at {list(at)}: {old[at]} before, {new[at]} after"
    if largest:
        text += f"; at most {largest} {unit}, at {list(worst)}: {old[worst]} and {new[worst]}"
    else:
        text += "; only the sign of zero differs"
    return largest, Difference(text)


def _is_same(a: Array, b: Array) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and (_is_same_memory(a, b) or bool(same_bits(a, b).all()))


def _is_same_memory(a: Array, b: Array) -> bool:
    """Have two arrays of one shape and type the same bytes? By parts that fit a cache, to the first that has not."""
    one, other = (np.ascontiguousarray(each).reshape(-1).view(np.uint8) for each in (a, b))
    unit = np.uint64 if one.size % 8 == 0 else np.uint8
    one, other = one.view(unit), other.view(unit)
    step = _PART // one.itemsize
    return all(np.array_equal(one[at : at + step], other[at : at + step]) for at in range(0, one.size, step))


def same_bits(a: Array, b: Array) -> Array:
    """Where two arrays of one type have the same bits, or NaN both."""
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    same: Array = np.ascontiguousarray(a).view(unsigned) == np.ascontiguousarray(b).view(unsigned)
    if is_integer(a.dtype):
        return same
    both_nan: Array = np.isnan(a.astype(np.float32)) & np.isnan(b.astype(np.float32))
    return same | both_nan


def compare_with_reference(run: Run, expected: list[Array], *, rtol: float, atol: float) -> list[Difference]:
    """Differences of a run's outputs from a NumPy reference, within ``atol + rtol * |expected|`` in float64."""
    if len(run.outputs) != len(expected):
        return [Difference(f"the kernel returns {len(run.outputs)} tensors, the reference {len(expected)}")]
    differences = []
    for index, (packed, wanted) in enumerate(zip(run.outputs, expected, strict=True)):
        name = f"output {index}" if len(expected) > 1 else "the output"
        got = packed.array().astype(np.float64)
        if got.shape != wanted.shape:
            differences.append(Difference(f"{name} has shape {list(got.shape)}, the reference {list(wanted.shape)}"))
            continue
        want = wanted.astype(np.float64)
        close = np.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True)
        if close.all():
            continue
        with np.errstate(invalid="ignore"):
            errors = np.where(close, 0.0, np.nan_to_num(np.abs(got - want), nan=np.inf))
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(errors)), errors.shape))
        count = int((~close).sum())
        differences.append(
            Difference(
                f"{name} is off in {count} of {got.size} elements (rtol {rtol:g}, atol {atol:g}), most at {list(at)}: "
                f"{got[at]:g}, the reference has {want[at]:g}"
            )
        )
    return differences
