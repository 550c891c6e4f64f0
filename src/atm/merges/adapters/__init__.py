"""Merges, the machine."""
