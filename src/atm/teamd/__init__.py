"""The daemon: an asyncio host for timers, the control socket and plugins."""
