"""Create, join, leave, end, back up, restore, clean up: verbs over all files of a team."""
