"""A plugin's own process."""
