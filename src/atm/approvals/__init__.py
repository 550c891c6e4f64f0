"""What an agent may do by itself, what its lead or a person must grant."""
