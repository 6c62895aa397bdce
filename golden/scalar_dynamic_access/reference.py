def window(table, start):
    first = int(start[0, 0])
    return table[first:first + 32]
