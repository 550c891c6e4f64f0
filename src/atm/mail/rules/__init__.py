"""Mail, rules: pure, time is an argument."""
