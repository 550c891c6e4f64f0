"""Drivers: how each vendor's program is spoken to."""
