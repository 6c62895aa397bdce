"""Kernels made from a seed, whose shared memory the real compiler and ours lay out."""

from __future__ import annotations

import random

TYPES = {"float32": 4, "float16": 2, "int8": 1, "int32": 4, "bfloat16": 2, "int64": 8}
ARCHITECTURES = ("sm_80", "sm_75", "sm_100a")
_HEAD = """import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((8192,), "float32"), B: T.Tensor((8192,), "float32")):
    with T.Kernel(2, threads=128) as bx:
"""


def source_of(seed: int) -> str:
    """The source of kernel number ``seed``: some shared buffers, used in turns in loops and branches."""
    return _Maker(random.Random(seed)).source()


def architecture_of(seed: int) -> str:
    return ARCHITECTURES[seed % len(ARCHITECTURES)]


class _Maker:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        names = ["a_s", "tile", "W", "x1", "zeta", "Buf", "m_shared", "q", "K_s", "out_s"]
        chance.shuffle(names)
        count = chance.randint(2, 7)
        sizes = [1, 3, 5, 16, 33, 64, 100, 128, 256, 500, 512, 1000, 1024]
        self._buffers = [(name, chance.choice(sizes), chance.choice(list(TYPES))) for name in names[:count]]
        self._count = 0

    def source(self) -> str:
        lines = [f'        {name} = T.alloc_shared(({size},), "{dtype}")' for name, size, dtype in self._buffers]
        order = list(self._buffers)
        self._chance.shuffle(order)
        body: list[str] = []
        for _ in range(self._chance.randint(2, 6)):
            body += self._statement(8, 0)
        for buffer in order:  # each is used at least once
            body += self._use(buffer, 8)
        return _HEAD + "\n".join(lines + body) + "\n"

    def _index(self) -> str:
        self._count += 1
        return f"i{self._count}"

    def _statement(self, indent: int, depth: int) -> list[str]:
        kind = self._chance.random()
        pad = " " * indent
        if depth < 2 and kind < 0.35:
            trips = self._chance.choice(["1", "2", "3", "bx + 2"])
            body = [line for _ in range(self._chance.randint(1, 3)) for line in self._statement(indent + 4, depth + 1)]
            return [f"{pad}for {self._index()} in T.serial({trips}):", *body]
        if depth < 2 and kind < 0.45:
            body = [line for _ in range(self._chance.randint(1, 2)) for line in self._statement(indent + 4, depth + 1)]
            return [f"{pad}if bx == {self._chance.randint(0, 1)}:", *body]
        return self._use(self._chance.choice(self._buffers), indent)

    def _use(self, buffer: tuple[str, int, str], indent: int) -> list[str]:
        name, size, dtype = buffer
        index, pad = self._index(), " " * indent
        kind = self._chance.randrange(3)
        if kind == 0:
            made = f'{name}[{index}] = T.cast(A[{index}], "{dtype}")'
        elif kind == 1:
            made = f'B[{index} + bx * 1024] = T.cast({name}[{index}], "float32")'
        else:
            other, more, _ = self._chance.choice(self._buffers)
            size = min(size, more)
            made = f'{name}[{index}] = T.cast({other}[{index}], "{dtype}")'
        return [f"{pad}for {index} in T.Parallel({size}):", f"{pad}    {made}"]


_NUMBERS = """import tilelang.cpu.language as T


@T.prim_func
def kernel(A: T.Tensor((4, 64), "float32"), B: T.Tensor((4, 64), "float32"), C: T.Tensor((4, 64), "int32")):
    with T.Kernel(4) as bx:
"""


def numbers_of(seed: int) -> str:
    """The source of a kernel that computes with every kind of memory that the CPU target has."""
    chance = random.Random(f"numbers {seed}")
    floats = ["f[i]", "s[i]", "A[bx, i]", "v", "0.5", "1.25", "-3.0", "T.cast(C[bx, i], 'float32')"]
    whole = ["C[bx, i]", "bx", "i", "n", "3", "7"]

    def number(depth: int) -> str:
        if not depth:
            return chance.choice(floats)
        left, right = number(depth - 1), number(depth - 1)
        name = chance.choice(["max", "min"])
        forms = [f"({left} + {right})", f"({left} - {right})", f"({left} * {right})", f"T.{name}({left}, {right})"]
        return chance.choice([*forms, f"T.if_then_else({left} < {right}, {left}, {right})"])

    def integer(depth: int) -> str:
        if not depth:
            return chance.choice(whole)
        left, right = integer(depth - 1), integer(depth - 1)
        forms = [f"({left} + {right})", f"({left} * {right})", f"({left} // 5)", f"({left} % 6)", f"({left} ^ {right})"]
        return chance.choice(forms)

    lines = [
        's = T.alloc_shared((64,), "float32")',
        'f = T.alloc_fragment((64,), "float32")',
        'x = T.alloc_local((2,), "float32")',
        f'v = T.alloc_var("float32", init={chance.randint(-3, 3)})',
        'n = T.alloc_var("int32", init=2)',
        "T.copy(A[bx, :], s)",
        "for i in T.Parallel(63):",
        f"    f[i] = {chance.randint(-2, 2)}.5",
        "x[0] = 0.0",
        "x[1] = 1.0",
        f"for k in T.serial({chance.randint(1, 4)}):",
        "    x[k % 2] = x[(k + 1) % 2] + v",
        f"    n += k * {chance.randint(1, 3)}",
        "    for i in T.Parallel(63):",
        f"        f[i] = {number(2)}",
        f"    if n > {chance.randint(2, 6)}:",
        "        for i in T.Parallel(63):",
        f"            s[i] = {number(2)}",
        "    v = v + x[0]",
        "for i in T.Parallel(63):",
        f"    C[bx, i] = {integer(2)}",
        "for i in T.Parallel(63):",
        f"    if i % {chance.randint(2, 4)} == 0:",
        f"        B[bx, i] = {number(2)}",
        "    else:",
        "        B[bx, i] = f[i] + s[i] + x[1]",
    ]
    return _NUMBERS + "".join(f"        {line}\n" for line in lines)


def inputs_of(seed: int) -> tuple[list[float], list[int]]:
    """The elements of ``A`` and ``C`` (``B`` begins with zeros): numbers that every type holds exactly."""
    chance = random.Random(f"inputs {seed}")
    return [chance.randint(-64, 64) / 16 for _ in range(256)], [chance.randint(-100, 100) for _ in range(256)]
