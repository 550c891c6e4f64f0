"""Merges, rules: pure, time is an argument."""
