"""The sum in NumPy."""


def vector_add(A, B, C):
    return A + B
