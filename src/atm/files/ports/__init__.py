"""Files, what it needs of a machine."""
