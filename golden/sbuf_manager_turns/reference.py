"""What the kernel computes, with NumPy."""


def smoothed(x):
    return x[:-1] * 0.5 + x[1:]
