"""Tasks, claims, plans, reviews, proof, stalls."""
