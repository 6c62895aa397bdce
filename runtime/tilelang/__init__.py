"""TileLang on NumPy: kernels are traced to statements, planned as the compiler plans them, and run."""
