"""Source text and trees: what a file says by itself, edits to it, names, comments, formatting."""
