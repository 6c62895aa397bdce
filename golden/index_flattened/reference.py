def groups_copied(x):
    return x
