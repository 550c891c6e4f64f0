"""Who is in a team, where it is, who is there, where their sessions run."""
