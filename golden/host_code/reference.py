def doubled(x):
    return x * x.dtype.type(2)


def halved(x):
    return x * x.dtype.type(0.5)
