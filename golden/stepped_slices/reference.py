"""What the kernel computes."""

import numpy as np


def pooled(x, size=2):
    turned = np.empty(x.shape, np.float32)
    turned[:, :, ::2], turned[:, :, 1::2] = np.exp(x[:, :, 1::2].astype(np.float32)), x[:, :, ::2]
    even, odd = x[:, ::2], x[:, 1::2]
    squares = [even[:, :, ::2], even[:, :, 1::2], odd[:, :, ::2], odd[:, :, 1::2]]
    return np.max(np.stack([s.astype(np.float32) for s in squares]), axis=0), turned
