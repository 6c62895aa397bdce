def reversed_planes(volume):
    return volume[::-1]
