"""Planned edits become text in one pass, and each name of it is shown to mean what it meant."""
