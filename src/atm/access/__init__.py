"""Tokens for MCP over HTTP."""
