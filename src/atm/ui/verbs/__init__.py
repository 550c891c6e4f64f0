"""Verbs that every surface offers: described once, done once."""
