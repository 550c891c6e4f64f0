"""Mail, what it needs of a machine."""
