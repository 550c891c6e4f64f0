"""The sockets. Protocols in the verbs of the domain; adapters in `system`, twins in `testing`."""
