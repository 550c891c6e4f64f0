"""Checkup, the machine."""
