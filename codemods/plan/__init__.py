"""Decisions from facts, before a statement is written: grids, copies of functions, parameters, addresses, state."""
