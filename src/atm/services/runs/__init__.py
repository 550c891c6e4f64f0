"""Runs: making one, looking after it, and telling what came of it."""
