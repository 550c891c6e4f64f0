"""Team, the machine."""
