"""Crew, rules: pure, time is an argument."""
