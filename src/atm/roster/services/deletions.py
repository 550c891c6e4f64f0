"""Bringing the deletion of a team to its end, also one that a killed process began."""

from __future__ import annotations

from atm.roster.ports.team_files import Deletion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.roster.services.teamroom import Teamroom


def finish_deletions(room: Teamroom) -> None:
    """Finish what killed deletions began. One that had not moved the team yet did not happen."""
    for deletion in room.files.cut_off():
        with room.files.deleting(deletion.team, deletion.aside):
            if room.files.is_set_aside(deletion):
                finish_deletion(room, deletion, begin=room.rosters.find(deletion.team) is None)


def finish_deletion(room: Teamroom, deletion: Deletion, *, begin: bool) -> None:
    """
    Without `begin` nothing more is moved: a new team of that name exists, and its tasks are its own.

    Mail may have come in between the backup and the move. It was reported as delivered, so it must be in a backup
    before it is removed (G1).
    """
    if begin:
        room.files.set_aside(deletion)
    if not room.backups.covers(deletion.team, deletion.aside):
        room.backups.make(deletion.team, room.clock.now(), aside=deletion.aside)
    room.files.clear(deletion)
