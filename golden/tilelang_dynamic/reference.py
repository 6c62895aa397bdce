def negative(A):
    return -A
