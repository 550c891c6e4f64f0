"""Agent programs and atm's entries in their settings."""
