"""Runs, one use case in each function."""
