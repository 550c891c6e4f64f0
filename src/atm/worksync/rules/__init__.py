"""Worksync, rules: pure, time is an argument."""
