"""Git, the machine."""
