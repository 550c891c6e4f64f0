"""`atm run` and `atm runs`."""
