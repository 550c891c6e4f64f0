"""
Putting a backup back beside what is there now. What lives wins: nothing that exists is overwritten.

- The lead's entry and session stay as they are. Others who are missing come back, without the runtime of the past.
- A message comes back unless the ledger shows that its owner had it since, or that it was archived: nobody gets one
  twice (G2).
- A task comes back under its number if that is free; one that a member worked on is pending again, unless that
  member is online. The high-water mark never falls.
- A team that is gone altogether is made anew. Its roster is written last: until then there is no team.

Restoring twice changes nothing the second time. It is written down while it is made, so a crash in the middle is
finished by the next roster command.
"""

from __future__ import annotations

from atm.core.errors import RequestError, TeamNotOurs
from atm.core.names import check_new_name, is_claudes_team
from atm.core.untrusted_text import shell_word, shell_words
from atm.roster.services.recovery import RESTORING, recover
from atm.roster.services.restore_pass import Restored, RestorePass
from atm.team.rules.team import check_open
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.roster.services.teamroom import Teamroom


def restore(
    room: Teamroom, team: str, given: str | None = None, *, dry_run: bool = False, skip_tasks: bool = False
) -> Restored:
    """Put a backup back: the newest, or the one given by name or path."""
    if is_claudes_team(team):
        raise TeamNotOurs(f"{team!r} is a team of Claude Code, which makes its own", "restore into a team of your own")
    existing = room.rosters.find(team)
    if existing is not None:
        found = find_team(room, existing)
        team = found.name
        check_open(found) if dry_run else recover(room, found)
    else:
        check_new_name(team, "team")
    contents = room.backups.read(team, given)
    if contents.manifest.team != team:
        raise RequestError(
            f"{contents.path} is a backup of team {contents.manifest.team!r}, not of {team!r}",
            f"restore it with `atm teams restore --from {shell_word(contents.path)} "
            f"{shell_words(contents.manifest.team)}`",
        )
    if dry_run:
        return RestorePass(room, team, contents, skip_tasks=skip_tasks, dry_run=True).run()
    with room.rosters.undertaking(team, "restore", RESTORING, _note(contents.path, skip_tasks)):
        return RestorePass(room, team, contents, skip_tasks=skip_tasks).run()


def _note(path: str, skip_tasks: bool) -> str:
    return f"{'without-tasks' if skip_tasks else 'all'}:{path}"
