"""Runtimes of agents: the terminals and programs that they live in."""
