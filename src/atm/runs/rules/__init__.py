"""Runs, rules: pure, time is an argument."""
