"""Approvals: what an agent may do by itself, what its lead may grant, what only a person may; silence means no."""
