def squared(x):
    return x * x
