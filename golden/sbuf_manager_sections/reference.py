def copied_in_turns(x):
    return x
