"""Board, one use case in each function."""
