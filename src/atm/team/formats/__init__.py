"""Team, bytes and values; unknown fields survive."""
