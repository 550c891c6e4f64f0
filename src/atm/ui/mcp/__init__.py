"""The MCP server: mail, board and work-sync for agents of every vendor."""
