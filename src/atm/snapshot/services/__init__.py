"""Snapshot, one use case in each function."""
