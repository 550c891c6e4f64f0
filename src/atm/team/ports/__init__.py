"""Team, what it needs of a machine."""
