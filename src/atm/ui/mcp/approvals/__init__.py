"""What agents ask for, over MCP."""
