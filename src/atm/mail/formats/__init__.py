"""Mail, bytes and values; unknown fields survive."""
