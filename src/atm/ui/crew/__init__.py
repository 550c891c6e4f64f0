"""A crew of real processes that works off a board, is killed at random, and proves from the history what it did."""
