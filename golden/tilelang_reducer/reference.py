def row_sums(A):
    return (A * 2).sum(axis=1), A.max(axis=1)
