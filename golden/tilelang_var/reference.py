def count(A):
    return A + 3 + 6 * 4 - 5
