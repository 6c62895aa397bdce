"""Compare ``check_sources`` with KLR's gatherer: ``python compare.py OUTPUT_FOLDER ROOT [PACKAGE_ROOT...]``.

OUTPUT_FOLDER is what ``build.py`` made. Every Python file below ROOT is loaded in a process of its own (user code runs there:
this harness is for code that you trust), its kernels go through the gatherer, and errors are compared with the violations
of the rules of the stage ``gather``: same file, same line, same text. PACKAGE_ROOT folders are put on ``sys.path``.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

from nki_migrate.runtime.legality import CODES, check_sources

Error = tuple[str, int, str]
"""File, line, message."""


def gathered(oracle: str, path: str, roots: list[str]) -> dict[str, list[str]]:
    """Kernel name -> raw errors of the gatherer for every kernel that loading ``path`` defines in that file."""
    sys.path[:0] = [oracle, str(Path(__file__).parent), *roots]
    sys.path.append(str(Path(path).parent))
    world = importlib.import_module("world")
    frontend = importlib.import_module("klr.frontend")
    world.install()
    warnings.simplefilter("ignore")
    module = _loaded(Path(path), roots)
    kernels = [kernel for kernel in world.KERNELS if kernel.__code__.co_filename == path]
    kernels += [value for value in vars(module).values() if value in kernels and value not in kernels]
    return {kernel.__name__: json.loads(_escaped(frontend.Kernel(kernel).specialize()))["errors"] for kernel in kernels}


def _loaded(path: Path, roots: list[str]) -> object:
    """Import ``path``, under its package name where it lies in one of ``roots``."""
    for root in roots:
        if path.is_relative_to(root) and root != str(path.parent):
            return importlib.import_module(".".join(path.relative_to(root).with_suffix("").parts))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _escaped(text: str) -> str:
    """The gatherer does not escape what it puts into its JSON."""
    return text.replace("\\", "\\\\")


def parsed(raw: str) -> Error:
    found = re.match(r"(.*?):(\d+):(\d+) (.*)", raw, re.DOTALL)
    assert found is not None, raw
    return found[1], int(found[2]), found[4]


def ours(sources: dict[str, str]) -> set[Error]:
    """What the rules of the stage ``gather`` say."""
    return {
        (path, violation.line, violation.message)
        for path, violations in check_sources(sources, target="0.2").items()
        for violation in violations
        if CODES[violation.code].stage == "gather"
    }


def main(oracle: str, root: str, roots: list[str]) -> int:
    files = sorted(str(path) for path in Path(root).rglob("*.py"))
    theirs: set[Error] = set()
    loaded, kernels, failures = set[str](), 0, list[str]()
    for path in files:
        command = [sys.executable, __file__, "--one", oracle, path, *roots]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if answer.returncode != 0:
            failures.append(f"{path}: {(answer.stderr.strip().splitlines() or ['crashed'])[-1]}")
            continue
        loaded.add(path)
        result = json.loads(answer.stdout.splitlines()[-1])
        kernels += len(result)
        theirs |= {parsed(raw) for errors in result.values() for raw in errors}
    sources = {path: Path(path).read_text() for path in files if path in loaded}
    mine = ours(sources)
    theirs = {error for error in theirs if error[0] in sources}
    for error in sorted(theirs - mine):
        print("only the gatherer:", *error)
    for error in sorted(mine - theirs):
        print("only check_sources:", *error)
    for failure in failures:
        print("not loaded:", failure)
    print(f"{len(loaded)} of {len(files)} files, {kernels} kernels, {len(theirs & mine)} equal, ", end="")
    print(f"{len(theirs - mine)} only the gatherer, {len(mine - theirs)} only check_sources")
    return int(bool(theirs ^ mine))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("oracle", metavar="OUTPUT_FOLDER", help="what build.py made")
    parser.add_argument("root", metavar="ROOT")
    parser.add_argument("roots", nargs="*", metavar="PACKAGE_ROOT")
    parser.add_argument(
        "--one", action="store_true", help="ROOT is one file: print what the gatherer says of its kernels"
    )
    options = parser.parse_args()
    if options.one:
        print("\n" + json.dumps(gathered(options.oracle, options.root, options.roots)))
    else:
        sys.exit(main(options.oracle, options.root, options.roots))
