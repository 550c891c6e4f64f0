"""Events, the machine."""
