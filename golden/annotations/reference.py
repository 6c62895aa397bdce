def raised(x):
    return x + x
