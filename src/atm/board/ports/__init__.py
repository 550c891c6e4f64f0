"""Board, what it needs of a machine."""
