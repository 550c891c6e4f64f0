"""The daemon's singleton lock, socket, log and client."""
