"""What the daemon does, one file for each topic."""
