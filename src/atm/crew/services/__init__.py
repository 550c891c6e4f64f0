"""Crew, one use case in each function."""
