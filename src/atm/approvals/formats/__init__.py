"""Approvals, bytes and values; unknown fields survive."""
