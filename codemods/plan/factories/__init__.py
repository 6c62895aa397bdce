"""Kernels that functions of the host make: they move to the module, and what they close over becomes parameters."""
