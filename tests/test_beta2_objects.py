"""Classes of kernels: ``nl.NKIObject`` fields as the front end sees them."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from nki_migrate.runtime.beta2.modules import MODULES

nl = MODULES["nki.language"]


class Plain(nl.NKIObject):
    x: int = 1
    y: bool

    def double(self):
        return 2 * self.x


@dataclass
class Decorated(nl.NKIObject):
    tiles: list = field(default_factory=list)
    count: int = 3
    offset = None

    def __post_init__(self):
        self.total = self.count + len(self.tiles)


@dataclass(frozen=True)
class Derived(Plain):
    z: int = 7


class Initialised(nl.NKIObject):
    x = 0

    def __init__(self, x):
        self.x = x + 1


def test_fields_take_positions_keywords_and_defaults():
    assert [(a.x, a.y) for a in (Plain(), Plain(3), Plain(y=5), Plain(3, False))] == [
        (1, None),
        (3, None),
        (1, 5),
        (3, False),
    ]
    assert Plain(4).double() == 8


def test_a_dataclass_keeps_factories_unannotated_fields_and_post_init():
    first, second = Decorated(count=1, offset=9), Decorated([1, 2])
    assert (first.tiles, first.offset, first.total) == ([], 9, 1)
    assert (second.tiles, second.offset, second.total) == ([1, 2], None, 5)
    first.tiles.append(0)
    assert Decorated().tiles == []


def test_fields_are_inherited_and_an_own_init_wins():
    derived = Derived(2, True)
    assert (derived.x, derived.y, derived.z) == (2, True, 7)
    assert Initialised(1).x == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Plain(w=1), r"Plain\(\) got an unexpected keyword argument 'w'"),
        (lambda: Plain(1, 2, 3), r"Plain\(\) takes 2 arguments, 3 were given"),
        (lambda: Plain(1, x=2), r"Plain\(\) got argument 'x' by position and by keyword"),
    ],
)
def test_arguments_that_fit_no_field(call, message):
    with pytest.raises(TypeError, match=message):
        call()
