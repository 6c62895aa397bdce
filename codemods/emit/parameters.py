"""The parameters of a function that a rewrite changes, on the LibCST tree."""

from __future__ import annotations

import ast

import libcst as cst

from ..syntax.source import written


def without_stars(old: ast.FunctionDef, node: cst.FunctionDef) -> dict[str, object]:
    """The variable arguments of a function without those that became parameters."""
    named = old.args.vararg is None and isinstance(node.params.star_arg, cst.Param)
    return {"star_kwarg": None} | ({"star_arg": cst.MaybeSentinel.DEFAULT} if named else {})


def written_parameter(argument: ast.arg) -> cst.Param:
    """A parameter for a key of the dictionary, or an element of the tuple, that the function had."""
    name, equal, default = (written(argument) or "").partition("=")
    if not equal:
        return cst.Param(cst.Name(name))
    no_space = cst.SimpleWhitespace("")
    return cst.Param(cst.Name(name), default=cst.parse_expression(default), equal=cst.AssignEqual(no_space, no_space))


def further_parameter(name: str, optional: bool) -> cst.Param:
    """A parameter that every rewritten call gives; behind optional ones it needs a default."""
    if not optional:
        return cst.Param(cst.Name(name))
    no_space = cst.SimpleWhitespace("")
    return cst.Param(cst.Name(name), default=cst.Name("None"), equal=cst.AssignEqual(no_space, no_space))


def by_lines(parameters: cst.Parameters, indent: str) -> dict[str, object]:
    """The header of a function whose parameters have a line each, the bracket at the start of the next line."""
    own_line = cst.ParenthesizedWhitespace(indent=True, last_line=cst.SimpleWhitespace(indent))
    bracket = cst.ParenthesizedWhitespace(indent=True, last_line=cst.SimpleWhitespace(""))
    ends = [own_line] * (len(parameters.params) - 1) + [bracket]
    lines = [
        parameter.with_changes(comma=cst.Comma(whitespace_after=end))
        for parameter, end in zip(parameters.params, ends, strict=True)
    ]
    return {"params": parameters.with_changes(params=lines), "whitespace_before_params": own_line}


def bare(parameter: cst.Param) -> cst.Param:
    """A parameter without the comma and line breaks of its old place."""
    return parameter.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_param=cst.SimpleWhitespace(""))
