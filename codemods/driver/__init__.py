"""The run: rounds over all modules, one walk over the statements of each function, the answers of the port."""
