"""What ``codemods.syntax.node_index`` finds in trees is what ``ast`` finds, but for the contexts of names."""

import ast

import pytest
from module_imports import ROOT
from nki_migrate.codemods.syntax.node_index import children, of_kinds, walk

EVERY_KIND = """
import a.b as c
from . import d
@e
class F(g, metaclass=h):
    i: int = 1
@j
async def k(l, /, m: int = 2, *n, o=3, **p) -> None:
    global q
    async for r in s: await t
    async with u as v, w: yield x
    yield from y
def z(): pass
def aa(*, bb, cc=lambda dd: dd):
    nonlocal_ = {**ee, 'ff': [gg for hh in ii if jj if kk]}
    del ll[mm:nn:oo], pp.qq
    try: raise rr from ss
    except (tt, uu) as vv: assert ww, f"{xx!r:{yy}}"
    else: zz += -1 + ~2
    finally: ab = ac if ad else (ae := af)
    while ag and not ah or ai < aj <= ak: continue
    with al: break_ = {am, *an}, {ao: ap for aq in ar}, (as_ for at in au)
    match av:
        case {"aw": 1, **ax} if ay: pass
        case az(1, bc=2) | [bd, *be] as bf: pass
        case None: return ...
"""


SOURCES = {"every kind of node": EVERY_KIND}
SOURCES |= {str(p.relative_to(ROOT)): p.read_text() for p in sorted((ROOT / "golden").glob("*/before.py"))}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_children_are_those_of_ast_but_for_contexts(source):
    tree = ast.parse(source)
    everything = [node for node in ast.walk(tree) if not isinstance(node, ast.expr_context)]
    assert list(walk(tree)) == everything
    assert list(of_kinds(tree, ast.Name)) == [node for node in everything if isinstance(node, ast.Name)]
    for node in everything:
        assert children(node) == [n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr_context)]
