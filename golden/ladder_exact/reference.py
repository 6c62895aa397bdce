def moved(x):
    return x
