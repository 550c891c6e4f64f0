"""Roster, bytes and values; unknown fields survive."""
