"""Runs: a goal in, verified work out. What is decided, and when."""
