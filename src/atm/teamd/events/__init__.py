"""What changed, told to whoever listens; watching folders."""
