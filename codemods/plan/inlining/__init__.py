"""Nested functions that one statement calls: what they do stands where they are called."""
