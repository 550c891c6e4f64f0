"""Team, one use case in each function."""
