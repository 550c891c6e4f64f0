"""Merges, one use case in each function."""
