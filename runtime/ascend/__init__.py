"""Kernels of TileLang-Ascend: plans of memory (:mod:`.plans`), and an emulator that runs kernels at planned addresses.

The emulator is ours: no part of the vendor's tools ran to make it. What it is checked against is in the tests.
"""
