"""MCP over HTTP, with tokens."""
