"""Roster, what it needs of a machine."""
