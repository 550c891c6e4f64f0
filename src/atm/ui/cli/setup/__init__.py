"""Agent programs: versions, hooks and servers in their settings."""
