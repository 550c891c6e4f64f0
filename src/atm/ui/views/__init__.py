"""What every surface shows in the same way."""
