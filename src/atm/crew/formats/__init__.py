"""Crew, bytes and values; unknown fields survive."""
