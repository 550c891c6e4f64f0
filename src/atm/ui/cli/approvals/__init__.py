"""`atm approvals`: what agents ask for, and answers."""
