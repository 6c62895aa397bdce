import numpy as np


def bounds(segments):
    ids = segments[0]
    starts = [next(j for j in range(i + 1) if (ids[j : i + 1] == ids[i]).all()) for i in range(len(ids))]
    ends = [next(j for j in range(len(ids), i, -1) if (ids[i:j] == ids[i]).all()) for i in range(len(ids))]
    padding = ids == 0
    starts, ends = np.where(padding, len(ids), starts), np.where(padding, -1, ends)
    return np.stack([starts, ends])[None].astype(segments.dtype)
