"""Who is in a team, where it stands, who is there and where their sessions run."""
