"""Every fact about a team, composed once."""
