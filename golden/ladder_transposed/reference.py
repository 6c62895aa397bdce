def turned(x):
    return x[:, 0, 0, :].T
