"""Delivery, the machine."""
