"""Merges, bytes and values; unknown fields survive."""
