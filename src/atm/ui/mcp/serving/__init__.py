"""Serving a connection: the SDK, sessions, who may call."""
