"""Sessions, rules: pure, time is an argument."""
