"""A tensor operation and its operands become instructions of Beta 2, a declaration becomes tiles with addresses."""
