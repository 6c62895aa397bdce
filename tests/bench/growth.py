"""How the time of a rewrite grows with the statements of one function: 32 times as many should take 32 times as long.

    python tests/bench/growth.py [--statements 48] [--times 32] [--repeat 3]

Measured are seconds of the processor of one rewrite to the default version, in this process, the shortest of
``--repeat``.
"""

from __future__ import annotations

import argparse
import time

from nki_migrate.codemods import Options, rewrite

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def chain(x, width):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile_0 = nl.load(x[0:128, 0:512])
"""
STEP = """\
    tile_{new} = nl.multiply(tile_{old}, {new}.5)
    if width > {new}:
        tile_{new} = nl.add(tile_{new}, tile_{old})
"""
TAIL = """\
    nl.store(out[0:128, 0:512], value=tile_{last})
    return out
"""


def kernel(steps: int) -> str:
    """A kernel of three statements for each step: a computation, a condition, and one in it."""
    return HEAD + "".join(STEP.format(new=n, old=n - 1) for n in range(1, steps + 1)) + TAIL.format(last=steps)


def seconds(source: str, repeat: int) -> float:
    taken = []
    for _ in range(repeat):
        began = time.process_time()
        outcome = rewrite(source, Options())
        taken.append(time.process_time() - began)
        assert not outcome.findings
    return min(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", type=int, default=48)
    parser.add_argument("--times", type=int, default=32)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    steps, more = options.statements // 3, options.statements // 3 * options.times
    seconds(kernel(1), 1)  # imports, and tables that are read once
    few, many = (seconds(kernel(n), options.repeat) for n in (steps, more))
    print(f"{3 * steps} statements {few:.2f} s, {3 * more} statements {many:.2f} s: {many / few:.0f} times")


if __name__ == "__main__":
    main()
