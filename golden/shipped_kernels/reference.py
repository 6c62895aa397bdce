"""What the kernel computes, in NumPy."""


def halved(x):
    return x * x.dtype.type(0.5)
