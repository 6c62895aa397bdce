def handed_over(A):
    return A
