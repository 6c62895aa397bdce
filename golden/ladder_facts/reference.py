"""What ``largest_group`` computes, in NumPy."""


def largest_group(x, groups=4, is_shared=False):
    """The largest sum of a group, and one."""
    rows, columns = x.shape
    return x.reshape(rows, groups, columns // groups).sum(axis=2).max(axis=1, keepdims=True) + 1
