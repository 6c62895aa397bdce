def turned(x):
    return x.transpose(0, 2, 1)
