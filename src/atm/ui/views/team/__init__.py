"""A team as every face shows it: the snapshot with types, and who must act first."""
