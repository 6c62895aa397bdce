def shifted(x, scale=2.0):
    return x * scale + 0.5
