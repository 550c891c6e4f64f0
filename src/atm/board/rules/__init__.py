"""Board, rules: pure, time is an argument."""
