def incremented(x):
    return x + 1


def decremented(x):
    return x - 1
