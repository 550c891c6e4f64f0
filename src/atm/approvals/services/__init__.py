"""Approvals, one use case in each function."""
