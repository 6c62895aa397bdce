"""Ask the wheel for its Ascend plans, and write them down: run with the Python of an environment that has it.

python tests/ascend_oracle/record.py 120 > tests/ascend_oracle/plans.json
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GOLDEN = HERE.parent.parent / "golden" / "ascend_mainline" / "after.py"
sys.path[:0] = [str(HERE), str(HERE.parent / "tilelang_oracle")]
PLACED = re.compile(r"Buffer: (\w+) \(Type: \w+\), Start Offset: (\d+), Size: (\d+) bytes")


def lowered(function: Any, reuse: bool) -> Any:
    """What ``tilelang.lower`` gives for an Ascend 950, statements in the order of the text; its plan goes to stderr."""
    import tilelang
    from tilelang import tvm

    target = tvm.target.Target({"kind": "ascend"})
    config = {
        "tl.debug_merge_shared_memory_allocations": True,
        "tl.disable_shared_memory_reuse": not reuse,
        "tl.enable_auto_schedule": False,
    }
    with tvm.transform.PassContext(config=config), target:
        return tilelang.lower(function, target=target)


def ask(count: int) -> None:
    """The body of the process whose stderr has the plans, between lines that say which kernel they are of."""
    import kernels
    from record_tilelang import loaded

    for seed in range(count):
        for reuse in (False, True):
            sys.stderr.write(f"=== {seed} {int(reuse)}\n")
            sys.stderr.flush()
            try:
                with loaded(kernels.generated(seed)) as module:
                    lowered(module.kernel, reuse)
            except Exception as error:
                sys.stderr.write(f"--- {type(error).__name__} {str(error).splitlines()[0]}\n")
            sys.stderr.flush()


def main(count: int) -> None:
    """Print the record."""
    import kernels
    from record_tilelang import loaded, wheel

    environment = {**os.environ, "TVM_LOG_DEBUG": "DEFAULT=2"}
    done = subprocess.run(
        [sys.executable, __file__, "ask", str(count)], capture_output=True, text=True, env=environment
    )
    plans: dict[int, dict[str, dict[str, list[int]]]] = {}
    refused: dict[int, str] = {}
    for part in re.split(r"^=== ", done.stderr, flags=re.M)[1:]:
        head, _, text = part.partition("\n")
        seed, reuse = map(int, head.split())
        said = re.search(r"^--- (.*)$", text, re.M)
        if said:
            refused[seed] = said[1][:200]
            continue
        mode = "reuse" if reuse else "linear"
        plans.setdefault(seed, {})[mode] = {name: [int(at), int(n)] for name, at, n in PLACED.findall(text)}
    with loaded(GOLDEN.read_text()) as module, contextlib.redirect_stdout(sys.stderr):
        sources = {name: len(lowered(getattr(module, name), False).kernel_source) for name in ("product", "vector_add")}
    record = {
        "wheel": wheel(),
        "golden": {"sha256": digest(GOLDEN), "lowered": sources},
        "refused": {str(seed): text for seed, text in refused.items()},
        "kernels": [
            {"seed": seed, "source": kernels.generated(seed), **plan} for seed, plan in plans.items() if len(plan) == 2
        ],
    }
    print(json.dumps(record, indent=1))


def digest(path: Path) -> str:
    """Of the golden that was lowered: another one needs another record."""
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    import importlib.util

    spec = importlib.util.spec_from_file_location("record_tilelang", HERE.parent / "tilelang_oracle" / "record.py")
    assert spec is not None and spec.loader is not None
    sys.modules["record_tilelang"] = importlib.util.module_from_spec(spec)
    kernels_here = sys.modules.pop("kernels", None)
    spec.loader.exec_module(sys.modules["record_tilelang"])
    sys.modules.pop("kernels", None)
    sys.path.insert(0, str(HERE))
    ask(int(sys.argv[2])) if sys.argv[1] == "ask" else main(int(sys.argv[1]))
