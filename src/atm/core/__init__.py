"""Errors, names, identifiers, plain values, redaction, untrusted text: what every room uses."""
