"""The merge queue: how finished work becomes one branch, decided without a look at any disk."""
