"""Which team a command means."""
