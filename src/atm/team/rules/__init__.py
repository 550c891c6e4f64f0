"""Team, rules: pure, time is an argument."""
