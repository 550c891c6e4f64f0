"""Checkup, one use case in each function."""
