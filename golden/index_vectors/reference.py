def shifted_sum(x):
    half = x.shape[1] // 2
    total = (x[:, :half] + x[:, half:2 * half]) + x[:, half // 2:half // 2 + half]
    total[:, -1] *= 2
    return total
