"""The board on the command line."""
