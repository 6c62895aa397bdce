def scale(A):
    return A * 3 + 1
