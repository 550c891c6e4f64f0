"""Plugins, rules: pure, time is an argument."""
