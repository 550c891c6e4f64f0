"""Daemon, the machine."""
