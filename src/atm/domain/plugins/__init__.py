"""How plugins fare, and what they may see."""
