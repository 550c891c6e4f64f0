"""Daemon, bytes and values; unknown fields survive."""
