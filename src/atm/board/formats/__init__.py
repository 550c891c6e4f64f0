"""Board, bytes and values; unknown fields survive."""
