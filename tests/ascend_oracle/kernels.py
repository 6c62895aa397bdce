"""Kernels for the Ascend dialect of tilelang 0.1.15, generated: buffers of UB or L1, and copies that touch them."""

from __future__ import annotations

import random

SIZES = {"float32": 4, "float16": 2, "int8": 1}


def generated(seed: int) -> str:
    """The source of a module whose ``kernel`` is a kernel of the dialect."""
    rng = random.Random(seed)
    calls = ["alloc_shared"] if rng.random() < 0.7 else ["alloc_l1"]
    flat = calls == ["alloc_shared"]
    lines, names, tensors = [], [], {}
    for number in range(rng.randint(2, 8)):
        dtype = rng.choice(["float32", "float16", "int8"] if flat else ["float16", "float16", "int8"])
        if flat:
            count = rng.choice([32, 40, 100, 33, 256, 1000, 2048, 4096])
            shape, key = f"({count},)", (f"V{dtype}", f"T.Tensor((65536,), '{dtype}')")
            part, end = f"{key[0]}[0:{count}]", f"{key[0]}[0:{count}]"
        else:
            rows, columns = rng.choice([16, 32, 64]), rng.choice([32, 64, 128])
            shape, key = f"({rows}, {columns})", (f"M{dtype}", f"T.Tensor((512, 512), '{dtype}')")
            part = end = f"{key[0]}[0:{rows}, 0:{columns}]"
        tensors[key[0]] = key[1]
        name = f"b{number}"
        names.append((name, part, end))
        lines.append(f"        {name} = T.{calls[0]}({shape}, '{dtype}')")
    body: list[str] = []
    order = list(names)
    rng.shuffle(order)
    depth = 0
    for name, part, end in order:
        if rng.random() < 0.3 and depth == 0:
            body.append("        for k in T.serial(3):")
            depth = 1
        pad = "    " * (2 + depth)
        body.append(f"{pad}T.copy({part}, {name})")
        if flat and rng.random() < 0.8:
            body.append(f"{pad}T.copy({name}, {end})")
        if depth and rng.random() < 0.5:
            depth = 0
    if flat and depth == 0:
        for name, _, end in rng.sample(names, min(2, len(names))):
            body.append(f"        T.copy({name}, {end})")
    header = ", ".join(f"{name}: {spec}" for name, spec in sorted(tensors.items()))
    text = "\n".join([*lines, *body])
    return (
        "import tilelang\nimport tilelang.ascend.language as T\n\n\n@T.prim_func\n"
        f"def kernel({header}):\n    with T.Kernel(1) as cid:\n{text}\n"
    )
