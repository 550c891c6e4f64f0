"""Mail into an agent's context."""
