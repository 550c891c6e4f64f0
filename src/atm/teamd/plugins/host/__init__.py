"""The daemon's side of plugins: a process for each, watched."""
