"""Sessions that survive their lead: checkpoints, resuming, time-outs, consolidation."""
