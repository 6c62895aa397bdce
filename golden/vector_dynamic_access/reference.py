def gathered(table, rows):
    return table[rows[:, 0]]
