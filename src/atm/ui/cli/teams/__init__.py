"""The verbs of `atm teams`, in modules by subject. The tables are in `commands/teams.py`."""
