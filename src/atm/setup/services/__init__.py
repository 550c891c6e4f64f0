"""Setup, one use case in each function."""
