"""Messages of a type: sent by hand, and taken by programs that act on them."""
