"""Roster, the machine."""
