"""What the kernels of this golden compute, in NumPy."""


def first_tiles(x, bias, count):
    trips = int(count[0, 0])
    return x[:trips].sum(axis=0), bias[trips - 1 : trips]
