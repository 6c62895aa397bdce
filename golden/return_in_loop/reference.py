def shifted(x):
    return x + x.dtype.type(1)
