"""A copy."""


def through(N, A):
    return A
