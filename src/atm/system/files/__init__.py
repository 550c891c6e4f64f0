"""Files that are shared with programs we do not control, and how not to damage them."""
