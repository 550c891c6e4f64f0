"""The verbs of `atm plugins`, by subject."""
