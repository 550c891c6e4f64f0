"""A team at one moment, composed once for everybody who shows it (D28)."""
