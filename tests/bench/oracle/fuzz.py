"""Random kernels, checker against gatherer: ``python fuzz.py OUTPUT_FOLDER COUNT [SEED]``.

Programs are made of the pieces of ``constructs.py``: nested blocks and expressions, helpers that call each other, classes,
module-level variables. Prints the first program on which the two do not agree, and stops.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import textwrap
import warnings
from pathlib import Path

import constructs
import world
from nki_migrate.runtime.legality import CODES, check_source
from record import verdict

_HOLES = (
    "f({})",
    "[{}, 1]",
    "({}, 2)",
    "{{'a': {}}}",
    "x[{}]",
    "{} + 1",
    "not {}",
    "1 if {} else 2",
    "{}.shape",
    "({}) < 3",
)


def expression(source: random.Random, depth: int) -> str:
    if depth == 0 or source.random() < 0.3:
        return f"({source.choice(list(constructs.EXPRESSIONS.values()))})"
    return source.choice(_HOLES).format(expression(source, depth - 1))


def statement(source: random.Random, depth: int, names: list[str]) -> str:
    kind = source.random()
    if depth and kind < 0.35:
        inner = "\n".join(statement(source, depth - 1, names) for _ in range(source.randint(1, 3)))
        template = source.choice(list(constructs.BLOCKS.values()))
        return template.format(inner, indented=textwrap.indent(inner, "    "))
    if kind < 0.6:
        return source.choice(list(constructs.PLACES.values())).format(expression(source, 2))
    if kind < 0.75:
        return f"y = {source.choice(names)}"
    return source.choice(list(constructs.STATEMENTS.values()))


def program(source: random.Random) -> str:
    names = ["f", "x", *(f"h{i}" for i in range(3)), "C0", "C1", "v0", "v1"]
    parts = ["def f(a=None, b=None, c=None):\n    pass\n"]
    for i in range(3):
        parts.append(f"def h{i}(x):\n" + _body(source, names) + "\n")
    for i in range(2):
        base = source.choice(["NKIObject", "object", "Enum", "NKIObject", "NKIObject, ABC", "IntEnum"])
        field = source.choice(["a: int = 1", '"""Text."""', "pass", "a = b = 1", "if True:\n        pass", "print(1)"])
        parts.append(
            f"class C{i}({base}):\n    {field}\n\n    def m(self, x):\n{textwrap.indent(_body(source, names), '    ')}\n"
        )
    values = ["h0", "h1", "[h2]", '{"a": h1}', "C0", "[C1]", "1", "f()"]
    parts += [f"v{i} = {source.choice(values)}\n" for i in range(2)]
    parts.append("def kernel(x, y=None):\n" + _body(source, names) + "\n")
    return constructs.HEADER + constructs.decorated("\n\n".join(parts))


def _body(source: random.Random, names: list[str]) -> str:
    lines = [statement(source, 2, names) for _ in range(source.randint(1, 4))]
    return textwrap.indent("\n".join(lines), "    ")


def mine(text: str) -> set[tuple[int, str]]:
    return {(v.line, v.message) for v in check_source(text, target="0.2") if CODES[v.code].stage == "gather"}


def main(oracle: str, count: int, seed: int) -> int:
    sys.path.insert(0, oracle)
    frontend = __import__("klr.frontend").frontend
    world.install()
    warnings.simplefilter("ignore")
    source = random.Random(seed)
    judged = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            text = program(source)
            errors = verdict(frontend, text, Path(folder) / f"program{number}.py")
            if errors is None or len(errors) >= 100:
                continue
            theirs = {(line, message) for line, _, message in errors}
            judged, refused = judged + 1, refused + bool(errors)
            if theirs != mine(text):
                print(
                    text, "only the gatherer:", theirs - mine(text), "only check_source:", mine(text) - theirs, sep="\n"
                )
                return 1
    print(f"{judged} of {count} programs loaded, {refused} refused, all verdicts equal")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("oracle", metavar="OUTPUT_FOLDER", help="what build.py made")
    parser.add_argument("count", type=int, metavar="COUNT")
    parser.add_argument("seed", type=int, nargs="?", default=0, metavar="SEED")
    options = parser.parse_args()
    sys.exit(main(options.oracle, options.count, options.seed))
