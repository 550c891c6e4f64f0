"""Sessions, what it needs of a machine."""
