"""What crashes leave: stale locks, torn files."""
