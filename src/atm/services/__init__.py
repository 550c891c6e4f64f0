"""The verbs. One use case per function; ports in, results out; no print, argv or asyncio."""
