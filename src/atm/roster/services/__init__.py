"""Roster, one use case in each function."""
