"""Agents that atm starts: what they are, how they live and end."""
