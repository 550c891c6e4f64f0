"""Git, rules: pure, time is an argument."""
