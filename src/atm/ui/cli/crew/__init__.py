"""Commands that start, see and end agents."""
