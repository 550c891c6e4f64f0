"""The page: `atm web`. A server in the daemon, on this machine only, and the files that a browser gets of it."""
