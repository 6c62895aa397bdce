def halves(A):
    return A / 2
