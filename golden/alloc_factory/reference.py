def products(a, b):
    return a * b
