"""Worksync, one use case in each function."""
