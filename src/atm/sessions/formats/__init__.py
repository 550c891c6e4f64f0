"""Sessions, bytes and values; unknown fields survive."""
