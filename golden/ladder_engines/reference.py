def turned(x):
    return x.T, x[:32, :32].T
