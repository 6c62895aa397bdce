"""Build KLR's gatherer against stand-ins for its Lean half: ``python build.py KLR_CHECKOUT OUTPUT_FOLDER``.

The gatherer (``interop/klr``: ``gather.c``, ``frontend.c``, ``region.c``, ``peg_parser.c``) is C with Python's headers. It
hands what it read to constructors that Lean generates; their declarations are in ``lean_ast.h``, and every one of them is
answered here by a function that returns an empty object. What is left is what this harness wants: the errors and warnings of
``Kernel(f).specialize()``.

OUTPUT_FOLDER must lie outside of this repository. It gets a package ``klr`` with the extension module ``frontend``.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = ("region.c", "peg_parser.c", "gather.c", "frontend.c")
BY_HAND = """
#include "frontend.h"
bool initialize_KLR_lean_ffi(void) { return true; }
PyObject *lean_ffi_hello(PyObject *self, PyObject *args) { (void)self; (void)args; Py_RETURN_NONE; }
PyObject *lean_ffi_throw(PyObject *self, PyObject *args) { (void)self; (void)args; Py_RETURN_NONE; }
PyObject *lean_ffi_panic(PyObject *self, PyObject *args) { (void)self; (void)args; Py_RETURN_NONE; }
lean_object *nki_to_json(lean_object *kernel) { return kernel; }
lean_object *nki_trace(lean_object *a, lean_object *b, lean_object *c, lean_object *d, lean_object *e) {
  (void)b; (void)c; (void)d; (void)e;
  return a;
}
lean_object *lean_io_error_to_string(lean_object *error) { return error; }
"""


def constructors(header: str) -> str:
    """C source that defines everything that ``lean_ast.h`` declares."""
    functions = re.findall(r"^lean_object\* (\w+)\(([^)]*)\);", header, re.MULTILINE)
    objects = re.findall(r"^extern lean_object\* (\w+);", header, re.MULTILINE)
    numbers = re.findall(r"^extern uint8_t (\w+);", header, re.MULTILINE)
    lines = ['#include "lean_ast.h"']
    for name, arguments in functions:
        named = ", ".join(f"{kind} a{i}" for i, kind in enumerate(arguments.split(",")))
        unused = " ".join(f"(void)a{i};" for i in range(arguments.count(",") + 1))
        lines.append(f'lean_object *{name}({named}) {{ {unused} return standin("", 0); }}')
    lines += [f'static lean_object {name}_ = {{1, ""}}; lean_object *{name} = &{name}_;' for name in objects]
    lines += [f"uint8_t {name} = {number};" for number, name in enumerate(numbers)]
    return "\n".join(lines) + "\n"


def build(checkout: Path, output: Path) -> Path:
    """Compile into ``output``; returns the extension module."""
    source = checkout / "interop" / "klr"
    package = output / "klr"
    (output / "lean").mkdir(parents=True, exist_ok=True)
    package.mkdir(exist_ok=True)
    shutil.copy(HERE / "lean.h", output / "lean" / "lean.h")
    (package / "__init__.py").write_text("")
    standins = output / "standins.c"
    standins.write_text(constructors((source / "lean_ast.h").read_text()) + BY_HAND)
    module = package / f"frontend{sysconfig.get_config_var('EXT_SUFFIX')}"
    includes = [f"-I{output}", f"-I{source}", f"-I{sysconfig.get_path('include')}"]
    files = [str(standins), *(str(source / name) for name in SOURCES)]
    subprocess.run(
        ["gcc", "-std=gnu17", "-O1", "-w", "-fPIC", "-shared", *includes, *files, "-o", str(module)], check=True
    )
    return module


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, metavar="KLR_CHECKOUT")
    parser.add_argument("output", type=Path, metavar="OUTPUT_FOLDER")
    options = parser.parse_args()
    print(build(options.checkout, options.output))
