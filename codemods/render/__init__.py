"""Expressions of the source as text of the output, with what that text needs: names, assertions, functions."""
