"""Mail, one use case in each function."""
