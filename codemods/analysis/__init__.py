"""What one expression or name of a kernel is: asked of the source, answered with a value, or with a reason."""
