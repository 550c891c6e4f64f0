"""What changed, told to subscribers."""
