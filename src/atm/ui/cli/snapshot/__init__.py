"""The command that prints a snapshot."""
