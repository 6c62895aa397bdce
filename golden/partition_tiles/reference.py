def stacked_quarters(x):
    return x
