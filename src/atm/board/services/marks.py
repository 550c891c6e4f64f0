"""
Whose commands a task's checks are (D25).

A check that runs a command runs with the rights of whoever completes the task, so it matters who wrote it. What a
member entered through atm carries a mark that only this team's secret makes: over the command, the task and its
folder, the member in this life, and whether that was a person when it was entered; what becomes of a name afterwards
changes nothing. What came in by another way, a plan's file or an editor, has none and waits for a person's yes.

Where it runs counts as much as what runs: `make test` is whatever lies in the folder, and a member's folder in the
roster is no secret of the member's. The claimant's own process runs commands in its own folder. The daemon, which acts
for others, runs a person's alone, and only in the folder that the person's mark covers.
"""

from __future__ import annotations

from atm.board.rules.acceptance import about, is_command, kind_of
from atm.board.rules.tasks import Change, task_id
from atm.board.services.boardroom import open_team, working_folder
from atm.core.errors import AtmError
from atm.core.names import same_name
from atm.core.untrusted_text import shell_word
from atm.core.work_errors import NotTrusted
from atm.files.formats.json_record import encode, to_bytes
from atm.team.rules.team import HUMAN, is_boss, is_human
from atm.team.services.lifecycle import life_of
from atm.team.services.standing import check_person, members_above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.board.rules.tasks import Task
    from atm.board.services.boardroom import Boardroom
    from atm.core.plain import Plain, Record
    from atm.team.rules.team import Team

PURPOSE = "atm acceptance 2"
"""What this mark is for: a mark made with the same secret for something else says nothing here."""

PERSON, MEMBER = "person", "member"
"""What whoever entered a command was at that moment."""

OURS = ("by", "mark", "folder")
"""What a mark adds to a check. `folder` is where a person's yes lets the daemon run it, where the task names none."""


class CommandAuthor:
    """In whose name commands are entered."""

    __slots__ = ("name", "tier")

    def __init__(self, name: str = "", tier: str = MEMBER) -> None:
        self.name = name
        """Empty for a stranger."""
        self.tier = tier


class Entered:
    """A command whose mark is true: who entered it, as what, and for which folder."""

    __slots__ = ("by", "folder", "tier")

    def __init__(self, by: str, tier: str, folder: str) -> None:
        self.by = by
        self.tier = tier
        self.folder = folder
        """Empty for wherever its claimant works."""


class Marker:
    """Marks the commands of tasks in the name of whoever entered them."""

    __slots__ = ("_author", "_life", "_secret")

    def __init__(self, boardroom: Boardroom, team: Team, author: CommandAuthor) -> None:
        self._author = author
        self._secret = boardroom.room.secrets.secret(team.name) if author.name else b""
        self._life = life_of(boardroom.room, team, author.name) if author.name else ""

    def marked(self, task: str, folder: str, checks: Sequence[Record], place: str = "") -> list[Record]:
        """`folder` is the task's own; `place` is where it will run, as far as that is known where the task has none."""
        return [self._one(task, folder, check, place) if is_command(check) else check for check in checks]

    def _one(self, task: str, folder: str, check: Record, place: str) -> Record:
        bare = {key: value for key, value in check.items() if key not in OURS}
        if not self._author.name:
            return bare
        said: Record = {**bare, "folder": place} if place and not folder else bare
        mark = _mark(self._secret, self._life, task, folder, said, self._author.name, self._author.tier)
        return {**said, "by": self._author.name, "mark": mark}


def author_of(boardroom: Boardroom, team: Team, who: str) -> CommandAuthor:
    """A name gives nobody more than the process has, nor does what the roster says of it today."""
    for _, owner in members_above(boardroom.room) if is_boss(team, who) else ():
        return CommandAuthor(owner.member if same_name(owner.team, team.name) else "")
    member = team.member(who)
    name = member.name if member is not None else who if is_boss(team, who) else ""
    return CommandAuthor(name, PERSON if is_human(team, who) else MEMBER)


def marker_for(boardroom: Boardroom, team: Team, who: str, checks: Sequence[Record]) -> Marker:
    """Without commands nothing is marked, and no secret is needed."""
    has_author = bool(who) and any(map(is_command, checks))
    return Marker(boardroom, team, author_of(boardroom, team, who) if has_author else CommandAuthor())


def written_by(boardroom: Boardroom, team: str, task: Task, check: Record) -> str:
    """The member whose mark a command carries; empty if it carries none that is true."""
    try:
        found = entered(boardroom, boardroom.room.rosters.load(team), task, check)
    except (AtmError, OSError):
        return ""
    return found.by if found is not None else ""


def entered(boardroom: Boardroom, team: Team, task: Task, check: Record) -> Entered | None:
    """What the mark of a command proves; None if it carries none that is true."""
    by, mark, place = check.get("by"), check.get("mark"), check.get("folder")
    if not isinstance(by, str) or not isinstance(mark, str) or not by:
        return None
    if team.member(by) is None and not is_boss(team, by):
        return None  # has left, and nobody stands for it any more
    from hmac import compare_digest

    try:
        secret = boardroom.room.secrets.secret(team.name)
    except (AtmError, OSError):
        return None
    folder, life = task.text("folder"), life_of(boardroom.room, team, by)
    for tier in (PERSON, MEMBER):
        made = _mark(secret, life, task.id, folder, check, by, tier)
        if compare_digest(made.encode(), mark.encode("utf-8", "replace")):
            return Entered(by, tier, folder or (place if isinstance(place, str) else ""))
    return None


def check_marks(boardroom: Boardroom, team: Team, task: Task, who: str, folder: str) -> str:
    """
    Before any of them runs: each command is a member's, or a person's for this folder where we run it for others.

    The folder in which they run: the one given, or where a person's yes says so and nobody knows better.
    """
    name = f"{task.id} --as {shell_word(who)}"
    for check in filter(is_command, task.acceptance):
        found = entered(boardroom, team, task, check)
        if found is None:
            raise NotTrusted(
                f"#{task.id} has a check to which no person has said yes: {about(check)}",
                f"look at it; then a person runs: atm tasks complete {name} --allow-checks",
            )
        if not boardroom.is_server:
            continue
        if found.tier != PERSON:
            raise own_shell(f"the checks of #{task.id} are {found.by}'s, so they", team, task, who)
        folder = folder or found.folder
        if not found.folder or found.folder != folder:
            said = f"nobody has said yes to running the checks of #{task.id} in {folder or 'a folder of the daemon'}"
            raise own_shell(f"{said}, so they", team, task, who)
    return folder


def own_shell(which: str, team: Team, task: Task, who: str) -> NotTrusted:
    """What a server does not run is run by whoever completes the task, where they stand."""
    how = f"{task.id} --team {shell_word(team.name)} --as {shell_word(who)}"
    said = f"{which} run in your own shell and not in the daemon"
    return NotTrusted(said, f"run there: atm tasks complete {how}")


def check_run_marks(boardroom: Boardroom, team: Team, task: Task) -> None:
    """The same for what does the task: it runs in the claimant's own process."""
    for command in task.run:
        if not is_command(command) or entered(boardroom, team, task, command) is None:
            raise NotTrusted(
                f"#{task.id} runs a command to which no person has said yes: {about(command)}",
                f"look at it; then a person runs: atm tasks allow {task.id} --team {shell_word(team.name)}",
            )


def allow_checks(boardroom: Boardroom, team: str, who: str, id: str) -> Task:
    """A person's yes to every command of a task, as it stands now, where its checks would run now."""
    check_person(boardroom.room, "say yes to commands")
    found = open_team(boardroom, team)
    person = who if is_human(found, who) else HUMAN
    marker, by = Marker(boardroom, found, author_of(boardroom, found, person)), boardroom.stamp(person)

    def rule(task: Task) -> Change | None:
        place = working_folder(boardroom, found, task, who) or boardroom.programs.here()
        checks = marker.marked(task.id, task.text("folder"), task.acceptance, place)
        run = marker.marked(task.id, task.text("folder"), task.run, place)
        if (checks, run) == (task.acceptance, task.run):
            return None
        commands = [about(command) for command in (*run, *checks) if is_command(command)]
        own: dict[str, Plain] = {"acceptance": [*checks] or None, "run": [*run] or None}
        return Change(by.event("checks_allowed", commands=[*commands]), own=own)

    with boardroom.tasks.turn(found.name) as turn:
        done = turn.change(task_id(id), rule)
    return done if done is not None else boardroom.tasks.read(found.name, task_id(id))


def _mark(secret: bytes, life: str, task: str, folder: str, check: Record, by: str, tier: str) -> str:
    from hmac import digest

    said = encode([PURPOSE, life, task, folder, check.get("folder"), kind_of(check), about(check), by, tier])
    return digest(secret, to_bytes(said), "sha256").hex()
