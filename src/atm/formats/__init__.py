"""The bytes. Pure codecs between bytes and the domain; what we do not know survives a round trip."""
