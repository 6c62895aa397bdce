def halved(x, width=16):
    return (x * 0.5).astype(x.dtype)
