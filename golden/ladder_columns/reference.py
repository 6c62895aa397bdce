def last_column(x):
    return 2 * x[:, -1:]
