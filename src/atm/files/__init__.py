"""Bytes kept safely: disk, locks, exchange, JSON in place, records, layout, times."""
