"""The planned edits, applied to the LibCST tree in one pass: untouched code keeps its bytes, comments their statements.

The ``ast`` tree that the rules read and the LibCST tree that is written have the same statements in the same order,
so the two are walked side by side; no positions are needed.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from ..expr.emission import New
from ..project.origins import Marks, Origin, Origins, Place
from ..project.program import Module
from ..project.reaching_definitions import every_statement
from ..project.usage import first_use
from ..syntax.comments import (
    Lines,
    Statement,
    comment_lines,
    comments_of,
    is_directive,
    is_heading,
    is_note,
    joined_lines,
    lines_above,
    split_comments,
    two_blank_lines,
    without_blank_end,
    without_blank_top,
    without_index_comment,
)
from ..syntax.format import formatted, line_width
from ..syntax.node_index import tree_of
from ..syntax.nodes import default_values
from ..syntax.source import written
from .argument_comments import ArgumentComments
from .guarded import append
from .moved_comments import MovedComments
from .parameters import bare, by_lines, further_parameter, without_stars, written_parameter
from .parsed_statements import statements_of

_SPACE = 2
"""Blanks in front of a comment that is not aligned with others."""


def applied(module: Module) -> tuple[str, ast.Module, Origins]:
    """The module's new text, its tree, and where its statements come from. No edit: the old text has no origins."""
    if not module.plan.edits and not module.names.support:
        return module.source.text, module.source.tree, {}
    tree = module.concrete.module()
    rebuild = _Rebuild(module, tree)
    body = rebuild.block(module.source.tree.body, tree.body)
    text = tree.with_changes(body=body, **_no_dangling_header(tree, body)).code
    new = tree_of(text)
    return text, new, rebuild.marks.origins(body, new)


def _no_dangling_header(tree: cst.Module, body: Sequence[Statement]) -> dict[str, object]:
    return {} if body else {"footer": [*tree.header, *tree.footer], "header": []}


class _Rebuild:
    """Builds the new statements of one module."""

    def __init__(self, module: Module, tree: cst.Module) -> None:
        self.module, self.edits, self.config = module, module.plan.edits, tree.config_for_parsing
        self.indent = tree.default_indent
        self.width = line_width(module.source.text)
        self.depth = 0
        self.anchor = first_use(module)
        self.orphans: Lines = []
        self.guards: dict[int, str] = {}
        self.tests: list[cst.BaseExpression] = []
        self.marks = Marks()
        self.moved_comments = MovedComments(self.edits)

    # Statements -------------------------------------------------------------------------------------------------

    def block(self, old: list[ast.stmt], nodes: Sequence[cst.BaseStatement]) -> list[Statement]:
        result: list[Statement] = []
        orphans: Lines = []
        vanished = False
        lines = _by_line(old, nodes)
        for (statements, node), (_, following) in zip(lines, [*lines[1:], ([], None)], strict=True):
            assert isinstance(node, cst.SimpleStatementLine | cst.BaseCompoundStatement)
            node = self.moved_comments.taken(statements, node, following)
            if vanished and node.leading_lines:
                orphans = self._without_index_comment(orphans)
                if is_heading(orphans, node.leading_lines):
                    node = node.with_changes(leading_lines=[])
            new, left = self._line(statements, node, orphans)
            if not result and new and statements[0] is not old[0]:
                new[0] = new[0].with_changes(leading_lines=without_blank_top(lines_above(new[0])))
            said = [c for s in statements for c in self.edits.comments.get(s, [])]
            if said:
                comments = [cst.EmptyLine(comment=cst.Comment(comment)) for comment in said]
                new, left = _commented(new, left, comments)
            vanished = not new and self.module.plan.needless.issuperset(statements)
            orphans = left
            for statement in new:
                append(result, statement, self.guards)
        orphans = self._without_index_comment(orphans) if vanished else orphans
        self.orphans = [line for line in orphans if line.comment is not None]
        return result

    def _without_index_comment(self, lines: Lines) -> Lines:
        """Lines above index vectors that are gone: the comment on them goes, too."""
        left, gone = without_index_comment(lines)
        self.module.plan.removed_comments += [line.comment.value for line in gone if line.comment is not None]
        return left

    def _line(self, statements: list[ast.stmt], node: Statement, orphans: Lines) -> tuple[list[Statement], Lines]:
        """The new statements for one old line, and the lines and comments that found no statement to stand above."""
        lifted = [s for old in statements for s in self._lifted(old)]
        new = self._around(statements, self.edits.before, "before")
        behind = self._around(statements, self.edits.after, "after")
        above = [line for line in node.leading_lines if line.comment is None or not self._is_lifted(statements)]
        leading = joined_lines(orphans, above)
        if any(old in self.edits.replaced for old in statements):
            body, comments = self._replaced(statements, node)
            new += [*body, *behind]
            leading = [*(two_blank_lines(leading) if lifted else leading), *comments]
        else:
            kept = self._kept(statements[0], node)
            self.marks.mark_each([kept], statements, inner=False)
            if lifted and not new:
                kept = kept.with_changes(leading_lines=two_blank_lines(leading))
            elif new:
                apart = self._is_told_before(statements)
                leading, own = split_comments(leading) if apart else (leading, [])
                kept = kept.with_changes(leading_lines=own)
            elif orphans:
                kept = kept.with_changes(leading_lines=leading)
            alone = not new
            new += [kept, *behind, *self._copies(statements[0])]
            if kept.leading_lines and alone:
                return [*lifted, *new], []
        if not new:
            return lifted, leading
        new[0] = new[0].with_changes(leading_lines=leading) if leading else new[0]
        return [*lifted, *new], []

    def _is_told_before(self, statements: list[ast.stmt]) -> bool:
        """Are there assertions and sizes of the output in front of statements? Their comments are not about that."""
        before = [new for old in statements for new in self.edits.before.get(old, [])]
        return all(new.ahead or new.asserts is not None for new in before)

    def _around(self, statements: list[ast.stmt], items: dict[ast.stmt, list[New]], place: Place) -> list[Statement]:
        found = ((item, self.statements(item, old, place)) for old in statements for item in items.get(old, []))
        return [s for item, written in found for s in self.moved_comments.given(item, written)]

    def _replaced(self, statements: list[ast.stmt], node: Statement) -> tuple[list[Statement], Lines]:
        """New statements, and the comments of the old one that have to stand above them."""
        beside = ArgumentComments(node) if self._has_comment(statements) else None
        new = [statement for old in statements for statement in self._instead(old, beside)]
        if beside is None or self._is_lifted(statements):
            return new, []  # comments of what is lifted went with it
        inner, end = comments_of(node)
        left = [comment for comment in inner if comment not in beside.placed]
        lines = [cst.EmptyLine(comment=comment) for comment in left if new or not self._goes(comment, statements)]
        if end is not None and end not in beside.placed and isinstance(node, cst.SimpleStatementLine):
            simple = [at for at in (-1, 0) if new and isinstance(new[at], cst.SimpleStatementLine)]
            if simple:
                new[simple[0]] = self._with_end(new[simple[0]], statements[-1], node.trailing_whitespace)
            elif new or not self._goes(end, statements):
                lines.append(cst.EmptyLine(comment=end))
        return new, lines

    def _with_end(self, new: Statement, old: ast.stmt, end: cst.TrailingWhitespace) -> Statement:
        """A new statement with the comment behind the old one, in its column where comments are aligned and it fits."""
        space = len(end.whitespace.value)
        if space > _SPACE:
            _, column = self.module.source.place(self.module.source.span(old)[1])
            lines = cst.Module([]).code_for_node(new).rstrip().split("\n")
            length = self.depth * len(self.indent) + len(lines[-1])
            gap = column + space - length
            fits = _SPACE < gap <= max(space, 8)
            end = end.with_changes(whitespace=cst.SimpleWhitespace(" " * (gap if fits else _SPACE)))
        return new.with_changes(trailing_whitespace=end)

    def _instead(self, old: ast.stmt, beside: ArgumentComments | None) -> list[Statement]:
        """The statements that stand for an old one, with the comments of its arguments."""
        items = self.edits.replaced.get(old, [New(self.module.source.segment(old))])
        if beside is not None and old in self.edits.replaced:
            items = [beside.given(item, self._room()) for item in items]
        return [statement for item in items for statement in self.statements(item, old)]

    def _goes(self, comment: cst.Comment, statements: list[ast.stmt]) -> bool:
        """Does a comment go with statements that are gone: what tools read of them, or what they did?"""
        served = not is_note(comment.value) and all(self._is_needless(old) for old in statements)
        if served or is_directive(comment.value):
            self.module.plan.removed_comments.append(comment.value)
        return served or is_directive(comment.value)

    def _is_needless(self, old: ast.stmt) -> bool:
        """Did a statement that is gone only serve what is gone?"""
        return old in self.module.plan.needless or isinstance(old, ast.Import | ast.ImportFrom)

    def _is_lifted(self, statements: list[ast.stmt]) -> bool:
        return any(old in self.module.plan.lifted for old in statements)

    def _has_comment(self, statements: list[ast.stmt]) -> bool:
        """Can the lines of some statements hold a comment? (A ``#`` in a string only costs time.)"""
        source = self.module.source
        start, end = source.span(statements[0])[0], source.span(statements[-1])[1]
        stop = source.text.find("\n", end)
        return "#" in source.text[start : stop if stop >= 0 else None]

    def statements(self, new: New, old: ast.stmt, place: Place = "at") -> list[Statement]:
        """What the text of one new statement becomes, which ``old`` has brought about."""
        text = new.text if new.as_is else formatted(new.text, self._room())
        body = statements_of(text, self.config)
        if new.apart:
            body[0] = body[0].with_changes(leading_lines=[cst.EmptyLine(indent=False), *lines_above(body[0])])
        self.marks.mark(body, Origin(old, place))
        if not new.guard:
            return body
        test = cst.parse_expression(new.guard)
        self.guards[id(test)] = new.guard
        self.tests.append(test)
        guarded: list[Statement] = [cst.If(test=test, body=cst.IndentedBlock(body))]
        self.marks.mark(guarded, Origin(old, place))
        return guarded

    def _room(self) -> int:
        """The columns that a statement of the block has."""
        return self.width - self.depth * len(self.indent)

    # Compound statements ----------------------------------------------------------------------------------------

    def _kept(self, old: ast.stmt, node: Statement) -> Statement:
        kept = self._changed(old, node)
        self.marks.mark([kept], Origin(old), inner=False)
        return kept

    def _changed(self, old: ast.stmt, node: Statement) -> Statement:
        changes: dict[str, object] = {}
        if isinstance(old, ast.FunctionDef) and isinstance(node, cst.FunctionDef):
            changes = self._function(old, node)
        elif isinstance(old, ast.ClassDef) and isinstance(node, cst.ClassDef):
            changes = self._class(old, node)
        elif isinstance(old, ast.For) and isinstance(node, cst.For):
            changes = self._expression("iter", old.iter, node.iter)
            changes |= self._expression("target", old.target, node.target)
        elif isinstance(old, ast.If | ast.While) and isinstance(node, cst.If | cst.While):
            changes = {name: _bare_test(test) for name, test in self._expression("test", old.test, node.test).items()}
        elif isinstance(old, ast.Assign) and isinstance(node, cst.SimpleStatementLine):
            return self._assignment(old, node)
        bodies = self._bodies(old, node)
        if isinstance(old, ast.If) and old in self.edits.dead:
            bodies |= self._without(old)
        if isinstance(old, ast.FunctionDef) and old in self.edits.flattened:
            bodies = self._flattened(old, node)
        return node.with_changes(**changes, **bodies) if changes or bodies else node

    def _class(self, old: ast.ClassDef, node: cst.ClassDef) -> dict[str, object]:
        changes: dict[str, object] = {}
        if old in self.edits.bases:
            changes["bases"] = [cst.Arg(cst.parse_expression(self.edits.bases[old]))]
        if old in self.edits.class_decorators:
            decorator = cst.Decorator(cst.parse_expression(self.edits.class_decorators[old]))
            changes["decorators"] = [*node.decorators, decorator]
        return changes

    def _without(self, old: ast.If) -> dict[str, object]:
        """The side of a condition that never runs, with what stands there instead."""
        side, new = self.edits.dead[old]
        self.depth += 1
        body = cst.IndentedBlock(self.statements(new, old))
        self.depth -= 1
        return {side: body if side == "body" else cst.Else(body=body)}

    def _assignment(self, old: ast.Assign, node: cst.SimpleStatementLine) -> cst.SimpleStatementLine:
        text = self.edits.expressions.get(old.value)
        first = node.body[0]
        if text is None or not isinstance(first, cst.Assign):
            return node
        return node.with_changes(body=[first.with_changes(value=cst.parse_expression(text)), *node.body[1:]])

    def _bodies(self, old: ast.stmt, node: cst.CSTNode) -> dict[str, object]:
        changes: dict[str, object] = {}
        body = getattr(node, "body", None)
        old_body = getattr(old, "body", None)
        if isinstance(body, cst.BaseSuite) and old_body:
            new = self._suite(old_body, body, old)
            if new is not body:
                changes["body"] = new
        orelse, old_orelse = getattr(node, "orelse", None), getattr(old, "orelse", None)
        if isinstance(orelse, cst.If) and old_orelse:
            changes["orelse"] = self._kept(old_orelse[0], orelse)
        elif isinstance(orelse, cst.Else) and old_orelse:
            changes["orelse"] = orelse.with_changes(body=self._suite(old_orelse, orelse.body))
        if isinstance(old, ast.Try) and isinstance(node, cst.Try):
            changes |= self._ends(old, node)
        return changes

    def _ends(self, old: ast.Try, node: cst.Try) -> dict[str, object]:
        """The handlers and the ``finally`` of a ``try`` that an edit changes."""
        changes: dict[str, object] = {}
        handlers = [
            new.with_changes(body=self._suite(handler.body, new.body))
            for handler, new in zip(old.handlers, node.handlers, strict=True)
        ]
        if any(new.body is not handler.body for new, handler in zip(handlers, node.handlers, strict=True)):
            changes["handlers"] = handlers
        if node.finalbody is not None:
            end = self._suite(old.finalbody, node.finalbody.body)
            if end is not node.finalbody.body:
                changes["finalbody"] = node.finalbody.with_changes(body=end)
        return changes

    def _suite(self, old: list[ast.stmt], body: cst.BaseSuite, owner: ast.stmt | None = None) -> cst.BaseSuite:
        """A body; one that stands on its header's line moves to lines of its own when anything in it changes."""
        if isinstance(body, cst.IndentedBlock):
            return self._indented(old, body, owner)
        assert isinstance(body, cst.SimpleStatementSuite)
        line = cst.SimpleStatementLine(body=body.body, trailing_whitespace=body.trailing_whitespace)
        block = cst.IndentedBlock([line])
        new = self._indented(old, block, owner)
        return body if new is block else new

    def _indented(self, old: list[ast.stmt], body: cst.IndentedBlock, owner: ast.stmt | None) -> cst.IndentedBlock:
        self.depth += 1
        new = self.block(old, body.body)
        orphans, self.orphans = self.orphans, []
        first = self._around([owner], self.edits.prologue, "prologue") if owner is not None else []
        self.depth -= 1
        if not first and len(new) == len(body.body) and all(a is b for a, b in zip(new, body.body, strict=True)):
            return body
        statements = [*first, *new] or [cst.parse_statement("pass")]
        return body.with_changes(body=statements, footer=[*orphans, *body.footer])

    def _expression(self, name: str, old: ast.expr, node: cst.BaseExpression) -> dict[str, object]:
        text = self.edits.expressions.get(old)
        return {name: cst.parse_expression(text, self.config)} if text is not None else {}

    # Functions --------------------------------------------------------------------------------------------------

    def _function(self, old: ast.FunctionDef, node: cst.FunctionDef) -> dict[str, object]:
        changes = self._decorators(old, node)
        if old in self.edits.renamed:
            changes["name"] = cst.Name(self.edits.renamed[old])
        if old.returns is not None and old.returns in self.edits.expressions:
            changes["returns"] = self._annotation(old.returns, node.returns)
        return changes | self._header(old, node)

    def _decorators(self, old: ast.FunctionDef, node: cst.FunctionDef) -> dict[str, object]:
        """The decorators of a function, and the comments of those that go."""
        changes: dict[str, object] = {}
        new = self.edits.new_decorators.get(old)
        decorators = [cst.Decorator(cst.parse_expression(new))] if new else []
        comments: Lines = []
        for expression, decorator in zip(old.decorator_list, node.decorators, strict=True):
            if expression in self.edits.dropped_decorators:
                comments += comment_lines(decorator)
                if decorator.trailing_whitespace.comment is not None:
                    comments.append(cst.EmptyLine(comment=decorator.trailing_whitespace.comment))
                continue
            text = self.edits.expressions.get(expression)
            decorators.append(decorator.with_changes(decorator=cst.parse_expression(text)) if text else decorator)
        if tuple(decorators) != tuple(node.decorators):
            changes["decorators"] = decorators
        if comments:
            changes["lines_after_decorators"] = [*comments, *node.lines_after_decorators]
        return changes

    def _header(self, old: ast.FunctionDef, node: cst.FunctionDef) -> dict[str, object]:
        """The parameters of a function, on a line each where they are new and one line does not hold them."""
        defaults = default_values(old)
        own = [argument for argument in old.args.args if written(argument) is None]
        params = self._parameters(own, node.params.params, defaults)
        others = {
            "posonly_params": self._parameters(old.args.posonlyargs, node.params.posonly_params, defaults),
            "kwonly_params": self._parameters(old.args.kwonlyargs, node.params.kwonly_params, defaults),
        }
        same = all(list(getattr(node.params, name)) == new for name, new in others.items())
        # Further parameters come last: what a call passes by position keeps its place.
        optional = any(p.default is not None for p in [*others["posonly_params"], *params])
        extra = [written_parameter(argument) for argument in old.args.args if written(argument) is not None]
        optional = optional or any(p.default is not None for p in extra)
        extra += [further_parameter(n, optional) for n in self.edits.parameters.get(old, [])]
        gone = without_stars(old, node) if old in self.edits.signatures else {}
        if not extra and not gone and same and params == list(node.params.params):
            return {}
        ordered = [bare(p) for p in [*params, *extra]] if extra or gone else params
        header = node.params.with_changes(params=ordered, **others, **gone)
        if not extra or not self._is_long(old, node.with_changes(params=header)):
            return {"params": header}
        return by_lines(header, self.indent)

    def _is_long(self, old: ast.FunctionDef, node: cst.FunctionDef) -> bool:
        """Is the line of a function's header too long?"""
        header = node.with_changes(body=cst.SimpleStatementSuite([cst.Pass()]), decorators=[], leading_lines=[])
        return max(map(len, cst.Module([header]).code.split("\n"))) > self.width + len(" pass")

    def _parameters(
        self, arguments: list[ast.arg], params: Sequence[cst.Param], defaults: dict[ast.arg, ast.expr]
    ) -> list[cst.Param]:
        """The parameters with the defaults and annotations that were rewritten."""
        result = []
        for argument, param in zip(arguments, params, strict=True):
            if argument in self.edits.dropped_parameters:
                continue
            changes: dict[str, object] = {}
            text = self.edits.expressions.get(defaults[argument]) if argument in defaults else None
            if text is not None:
                changes["default"] = cst.parse_expression(text)
            if argument.annotation is not None and argument.annotation in self.edits.expressions:
                changes["annotation"] = self._annotation(argument.annotation, param.annotation)
                if changes["annotation"] is None and param.default is not None:
                    changes["equal"] = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
            result.append(param.with_changes(**changes) if changes else param)
        return result

    def _annotation(self, old: ast.expr, node: cst.Annotation | None) -> cst.Annotation | None:
        """A rewritten annotation; ``None`` for one that goes."""
        text = self.edits.expressions[old]
        return node.with_changes(annotation=cst.parse_expression(text)) if node is not None and text else None

    def _lifted(self, old: ast.stmt) -> list[Statement]:
        """Nested functions that now stand in front of the module-level function ``old``."""
        result: list[Statement] = []
        if old is self.anchor and not self.module.names.support_home:
            for text in self.module.names.support.values():
                result += self._spaced(cst.parse_module(text, self.config).body)
        for nested in self.edits.lifted.get(old, []):
            node = self.module.concrete.function(nested, self.module.summaries.copies)
            depth, self.depth = self.depth, 0
            kept = self._kept(nested, node)
            self.depth = depth
            assert isinstance(kept, cst.FunctionDef)
            body = without_blank_end(kept.body)
            result += self._spaced([kept.with_changes(body=body, leading_lines=comment_lines(node))])
        return result

    def _copies(self, old: ast.stmt) -> list[Statement]:
        """The further variants of a function, behind it."""
        result: list[Statement] = []
        for copied in self.edits.copied.get(old, []):
            kept = self._kept(copied, self.module.concrete.function(copied, self.module.summaries.copies))
            result += [*self._lifted(copied), *self._spaced([kept.with_changes(leading_lines=[])])]
        return result

    def _spaced(self, nodes: Sequence[cst.CSTNode]) -> list[Statement]:
        """Two empty lines above each definition after the first; the first takes over what stood above its anchor."""
        blank = cst.EmptyLine(indent=False)
        return [n.with_changes(leading_lines=[blank, blank, *lines_above(n)]) for n in nodes]  # type: ignore  # statements all

    def _flattened(self, old: ast.FunctionDef, node: Statement) -> dict[str, object]:
        """A factory whose closure's body takes the place of the definition and the ``return`` of the closure."""
        inner = self.edits.flattened[old]
        assert isinstance(node, cst.FunctionDef) and isinstance(node.body, cst.IndentedBlock)
        kept: list[cst.BaseStatement] = []
        before = [s for s in old.body[:-1] if s is not inner]
        closure: cst.FunctionDef | None = None
        for statement, part in zip(old.body, node.body.body, strict=True):
            if statement is inner:
                assert isinstance(part, cst.FunctionDef)
                closure = part
            elif statement is not old.body[-1]:
                kept.append(part)
        assert closure is not None and isinstance(closure.body, cst.IndentedBlock)
        first, *rest = closure.body.body
        self.marks.mark_each([*kept, *closure.body.body], every_statement([*before, *inner.body]))
        body = [*kept, first.with_changes(leading_lines=[*closure.leading_lines, *lines_above(first)]), *rest]
        params = [bare(p) for p in [*node.params.params, *closure.params.params]]
        required = [p for p in params if p.default is None]
        optional = [p for p in params if p.default is not None]
        parameters = node.params.with_changes(params=[*required, *optional])
        return {"body": node.body.with_changes(body=body), "params": parameters}


def _commented(new: list[Statement], orphans: Lines, comments: Lines) -> tuple[list[Statement], Lines]:
    """New statements with further comments above the first one; above what follows where there is none."""
    if not new:
        return new, [*orphans, *comments]
    first = new[0].with_changes(leading_lines=[*lines_above(new[0]), *comments])
    return [first, *new[1:]], orphans


def _by_line(old: list[ast.stmt], nodes: Sequence[cst.BaseStatement]) -> list[tuple[list[ast.stmt], cst.BaseStatement]]:
    groups = []
    at = 0
    for node in nodes:
        count = len(node.body) if isinstance(node, cst.SimpleStatementLine) else 1
        groups.append((old[at : at + count], node))
        at += count
    assert at == len(old), "the two trees have different statements"
    return groups


def _bare_test(test: object) -> object:
    """``a or b``, on one line, without the brackets that its text has for other places."""
    is_long = isinstance(test, cst.BooleanOperation) and "\n" in cst.Module([]).code_for_node(test)
    return test.with_changes(lpar=(), rpar=()) if isinstance(test, cst.BooleanOperation) and not is_long else test
