"""Looking around for doctor: locks, modes, owners, room on the disk, what runs."""
