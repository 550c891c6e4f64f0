"""Agents that atm starts."""
