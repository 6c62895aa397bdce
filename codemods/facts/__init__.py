"""What can be known about a module from its source alone."""
