"""`atm merge`."""
