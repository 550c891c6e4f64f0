"""The machine. Adapters that implement the ports."""
