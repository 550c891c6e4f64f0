"""Demonstrations that prove themselves: a storm of mail, a crew at a board."""
