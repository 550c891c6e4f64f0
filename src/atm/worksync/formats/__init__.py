"""Worksync, bytes and values; unknown fields survive."""
