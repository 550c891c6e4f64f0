"""Finished work becomes one branch: queue, order, conflicts, checks, radar."""
