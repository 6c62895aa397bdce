"""Launch grids of several programs: who asks for them, who launches on them, and a kernel that loops over its own."""
