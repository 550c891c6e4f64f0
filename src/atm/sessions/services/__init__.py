"""Sessions, one use case in each function."""
