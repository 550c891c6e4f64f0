"""Crew, what it needs of a machine."""
