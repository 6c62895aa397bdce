"""The module that a rewrite adds to a package, for functions that kernels need and NKI does not have."""

MARK = "nki-migrate wrote this module"
"""What its doc string says: a module without it is somebody's own."""
