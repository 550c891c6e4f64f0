"""The verbs of the board."""
