def transposed(x):
    return x.T


def centered(x):
    return x - x.min(axis=1, keepdims=True)


def centered_columns(x):
    return centered(centered(x.T))
