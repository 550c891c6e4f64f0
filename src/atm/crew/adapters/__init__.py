"""Crew, the machine."""
