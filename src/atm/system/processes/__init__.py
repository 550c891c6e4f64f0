"""Programs that we start, and how we make sure that they end."""
