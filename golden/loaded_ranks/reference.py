def first_columns(x):
    return x[:, :8]


def halved(x):
    return x / 2


def doubled_rows(x):
    return x + x


def shifted(x, bias):
    return x + bias[:, None]
