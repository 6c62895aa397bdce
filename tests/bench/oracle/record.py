"""Record the gatherer's verdicts: ``python record.py OUTPUT_FOLDER VERDICTS.json``.

Runs every source of ``constructs.py`` through the gatherer and writes ``{name: [checksum, [[line, column, message]...]]}``, the
checksum being that of the source. Only these verdicts enter the repository.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import warnings
import zlib
from pathlib import Path

import constructs
import world


def verdict(frontend: object, source: str, path: Path) -> list[list[object]] | None:
    """Lines, columns (0-based) and messages of the gatherer's errors; ``None`` where Python itself cannot load the source."""
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except (SyntaxError, TypeError, ValueError, AttributeError):
        return None
    answer = frontend.Kernel(module.kernel).specialize()  # type: ignore[attr-defined]
    errors = json.loads(answer.replace("\\", "\\\\"))["errors"]
    return [list(found) for found in sorted({_parts(raw) for raw in errors if raw.startswith(f"{path}:")})]


def _parts(raw: str) -> tuple[int, int, str]:
    place, message = raw.split(" ", 1)
    line, column = place.rsplit(":", 2)[1:]
    return int(line), int(column), message


def main(oracle: str, output: str) -> None:
    sys.path.insert(0, oracle)
    frontend = __import__("klr.frontend").frontend
    world.install()
    warnings.simplefilter("ignore")
    recorded = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, source) in enumerate(sorted(constructs.sources().items())):
            errors = verdict(frontend, source, Path(folder) / f"construct{number}.py")
            if errors is not None:
                recorded[name] = [zlib.crc32(source.encode()), errors]
    lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in sorted(recorded.items())]
    Path(output).write_text("{\n" + ",\n".join(lines) + "\n}\n")
    refused = sum(bool(errors) for _, errors in recorded.values())
    print(f"{len(recorded)} constructs, {refused} refused")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("oracle", metavar="OUTPUT_FOLDER", help="what build.py made")
    parser.add_argument("output", metavar="VERDICTS.json")
    options = parser.parse_args()
    main(options.oracle, options.output)
