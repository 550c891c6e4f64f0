"""A goal or a plan worked off by a crew."""
