"""How a Beta 2 kernel that loops over a launch grid is told its sizes."""

GRID_PARAMETERS = ("grid", "launch_grid")
"""Names of the parameter that takes the sizes of a Beta 1 launch grid, as a tuple: the first that is free."""
