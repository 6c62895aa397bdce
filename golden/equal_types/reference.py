def blended(a, b, c, d):
    return (a + b) * c - d
