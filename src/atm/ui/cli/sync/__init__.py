"""The verbs of `atm sync`, each module imported when it is needed."""
