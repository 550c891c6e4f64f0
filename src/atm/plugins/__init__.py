"""Rules about the health of plugins."""
