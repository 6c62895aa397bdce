def described(A):
    return A
