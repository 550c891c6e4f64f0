"""Delivery, rules: pure, time is an argument."""
