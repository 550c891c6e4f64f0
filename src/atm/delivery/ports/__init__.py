"""Delivery, what it needs of a machine."""
