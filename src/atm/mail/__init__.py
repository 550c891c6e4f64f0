"""Messages, inboxes, ledger, spool, reading, showing once."""
