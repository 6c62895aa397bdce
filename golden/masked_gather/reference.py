def reversed_rows(x):
    return x[:, ::-1].copy()
