"""Runs, bytes and values; unknown fields survive."""
