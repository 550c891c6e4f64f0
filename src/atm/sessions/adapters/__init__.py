"""Sessions, the machine."""
