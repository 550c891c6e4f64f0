"""How members look."""
