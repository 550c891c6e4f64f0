"""The composition root, a module for each topic: the only place that sees both services and system."""
