"""Mail, the machine."""
