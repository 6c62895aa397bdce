"""Operands and events are the same however they are made, and after they crossed between processes."""

from __future__ import annotations

import dataclasses
import pickle
from inspect import signature

import pytest
from nki_migrate.runtime.events import Event, Operand, event_of, flat, from_flat, operand_of

SRC = ("src", "sbuf", 3, True, 32, 64, ((1, 0, 4), (0, 4, 8)), "float32", False, False)
OWN = (7, "tensor_copy", (operand_of(*SRC),), (("op", "add"),), "k.py", 12, True, (("f", "key", 1),))


@pytest.mark.parametrize(("cls", "made_of", "given"), [(Operand, operand_of, SRC), (Event, event_of, OWN)])
def test_both_ways_give_one_object(cls: type, made_of: object, given: tuple[object, ...]) -> None:
    assert callable(made_of)
    plain, made = cls(*given), made_of(*given)
    assert made == plain and hash(made) == hash(plain) and repr(made) == repr(plain) and type(made) is cls
    assert vars(made) == vars(plain) and list(vars(made)) == list(vars(plain))
    assert dataclasses.replace(made) == plain and pickle.loads(pickle.dumps(made)) == plain
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.role = ""


@pytest.mark.parametrize(("cls", "made_of"), [(Operand, operand_of), (Event, event_of)])
def test_both_ways_have_the_same_fields_and_defaults(cls: type, made_of: object) -> None:
    assert callable(made_of)
    told = [(name, each.default) for name, each in signature(made_of).parameters.items()]
    assert told == [(name, each.default) for name, each in signature(cls).parameters.items()]


def test_events_cross_whole() -> None:
    event = event_of(*OWN)
    (crossed,) = from_flat(flat((event,)))
    assert vars(crossed) == vars(event) and vars(crossed.operands[0]) == vars(event.operands[0])
