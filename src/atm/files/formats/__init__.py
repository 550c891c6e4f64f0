"""Files, bytes and values; unknown fields survive."""
