"""Setup, the machine."""
