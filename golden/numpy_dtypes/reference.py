import numpy as np


def rounded(x, kept=np.float16):
    wide = x.astype(np.float16).astype(np.float32)
    return wide, np.rint(wide * 8).astype(np.int32)
