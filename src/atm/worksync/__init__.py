"""Does each member know its current work: agenda, reports, leases, nudges."""
