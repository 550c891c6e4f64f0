"""Merging finished work."""
