def doubled(x):
    return 2 * x
