"""What others leave in the middle of a rewrite: rows of writers without locks, and what killed processes displaced."""
