"""What a team was and can be again: checkpoints, handover, resume."""
