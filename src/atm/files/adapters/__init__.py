"""Files, the machine."""
