"""Delivery, one use case in each function."""
