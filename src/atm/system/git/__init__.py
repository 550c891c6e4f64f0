"""Git. For mail only the remote's address is read, from git's own files: no process is started."""
