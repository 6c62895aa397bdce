def four_times(x):
    return 4 * x
