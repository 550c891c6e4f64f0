"""Setup, rules: pure, time is an argument."""
