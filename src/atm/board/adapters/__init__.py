"""Board, the machine."""
