"""Making, ending, backing up and restoring teams."""
