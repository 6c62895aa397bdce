"""The rules of TileLang-Ascend: one file each, with a code, its documents as docstring, and examples as data."""
