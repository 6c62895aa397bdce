def copied_planes(volume):
    return volume
