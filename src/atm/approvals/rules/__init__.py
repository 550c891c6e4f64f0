"""Approvals, rules: pure, time is an argument."""
