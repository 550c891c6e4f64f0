"""
Two copies of a state, and which of them counts: the higher sequence, never the newer file (D16).

A team whose folder is lost comes back from the branch of checkpoints: its roster, state, ledgers, open tasks, and the
mail that nobody had read. Nothing that is there is written over, except a state that is older than its copy.
"""

from __future__ import annotations

from dataclasses import dataclass

from atm.board.formats.task_history import decode_past, gone_in
from atm.board.rules.tasks import COMPLETED
from atm.core.errors import AtmError, UnreadableFile
from atm.files.formats.json_record import NotJson, encode, to_bytes
from atm.mail.formats.inbox import EMPTY, only
from atm.mail.formats.journal import MESSAGE, decode_lines
from atm.mail.rules.receipts import standing
from atm.sessions.formats.checkpoint import checkpointed, lead_member_in, open_tasks_in, sequence_in, teammates_in
from atm.sessions.services.checkpointing import HISTORY, LEDGER, STATE
from atm.team.formats.lead_fields import text_in
from atm.team.formats.team_config import detached_entry, new_member, new_team, with_member
from atm.team.rules.team import Member
from atm.team.services.leading import lead_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.sessions.services.sessionroom import SessionRoom

HOME, GIT = "home", "git"
SHOWN = ("surfaced", "read", "answered")


@dataclass(slots=True, kw_only=True)
class Copies:
    """What the two copies of a team's state say."""

    home: int | None = None
    """Sequences; None where a copy is missing or cannot be read."""
    git: int | None = None
    common: str = ""
    is_home_torn: bool = False
    is_divergent: bool = False
    """The same sequence, and different content."""

    @property
    def better(self) -> str:
        return GIT if self.git is not None and (self.home is None or self.git > self.home) else HOME


def compare(desk: SessionRoom, team: str, common: str) -> Copies:
    """Reads both."""
    found = Copies(common=common)
    home = desk.room.states.read(team)
    there = _latest(desk, team, common)
    found.home, found.is_home_torn = _sequence(home)
    copy = there.get(STATE) if there is not None else None
    found.git, _ = _sequence(copy)
    found.is_divergent = found.home is not None and found.home == found.git and _differs(home or b"", copy or b"")
    return found


def _latest(desk: SessionRoom, team: str, common: str) -> dict[str, bytes] | None:
    """None too where the repository is gone: then the home has the only copy."""
    try:
        return desk.git.latest(common, team) if common else None
    except AtmError as error:
        desk.room.troubles.note(f"the checkpoints of {team} in {common} cannot be read: {error}")
        return None


def _sequence(data: bytes | None) -> tuple[int | None, bool]:
    if data is None:
        return None, False
    try:
        return sequence_in(data), False
    except NotJson:
        return None, True


def _differs(home: bytes, copy: bytes) -> bool:
    """In what a checkpoint says. Who leads it now may have changed since, without a new checkpoint."""
    return checkpointed(home) != checkpointed(copy)


def bring_back(desk: SessionRoom, team: str, common: str) -> list[str]:
    """Everything of a lost team that its branch of checkpoints has. What was put back."""
    files = desk.git.latest(common, team) or {}
    state = files.get(STATE)
    if state is None:
        raise UnreadableFile(f"the checkpoints of {team!r} hold no state", "look at its branch with git", common)
    room, done = desk.room, []
    try:
        people, tasks = teammates_in(state), open_tasks_in(state)
        lead = lead_member_in(state)
    except NotJson as error:
        raise UnreadableFile(
            f"the checkpoint of {team!r} cannot be read: {error}", "try an older one", common
        ) from None
    room.files.prepare(team)
    for name, data in files.items():
        done += [name] if room.files.put(team, name, data) else []
    now = room.clock.now()
    roster = new_team(team, description="brought back from its checkpoints", lead=lead or "team-lead", now=now)
    for one in people:
        known = detached_entry(encode(one.entry)) if one.entry else ""
        made = Member(one.id, agent_type=one.role, quantum=one.quantum)
        roster = with_member(roster, known or new_member(made, team, now))
    numbered = {int(id): to_bytes(encode(one) + "\n") for one in tasks if (id := text_in(one, "id")).isdecimal()}
    numbered = {**_finished(files.get(HISTORY, b"")), **numbered}
    came, _ = room.files.put_tasks(team, numbered, max(numbered, default=0))
    done += [f"task {number}" for number in came]
    unread = _unread(files.get(LEDGER, b""))
    for agent, content in {**{one.id: EMPTY for one in people}, **unread}.items():
        done += [f"inbox of {agent}"] if room.files.put(team, f"inboxes/{agent}.json", content) else []
    done += ["config.json"] if room.rosters.create(team, roster) else []  # last: from now on there is a team
    return [*done, *([HISTORY] if HISTORY in files and HISTORY not in done else [])]


def _finished(history: bytes) -> dict[int, bytes]:
    """Tasks that were completed, as far as the history tells of them: others wait for them, and they count."""
    found: dict[int, bytes] = {}
    for number, (card, is_gone) in gone_in(decode_past(history)[0]).items():
        if card.status == COMPLETED and not is_gone:
            task = {"id": str(number), "subject": card.subject, "description": "", "status": COMPLETED}
            found[number] = to_bytes(encode({**task, "blocks": [], "blockedBy": [], "owner": card.owner}) + "\n")
    return found


def _unread(ledger: bytes) -> dict[str, bytes]:
    """Mail that nobody was shown, as inboxes."""
    entries, _ = decode_lines(ledger)
    states: dict[tuple[str, str], list[str]] = {}
    rows: dict[tuple[str, str], str] = {}
    for entry in sorted(entries, key=lambda one: one.seq):
        for id in entry.ids:
            states.setdefault((id, entry.agent), []).append(entry.state)
            if entry.kind == MESSAGE and entry.raw:
                rows.setdefault((id, entry.agent), entry.raw)
    found: dict[str, list[str]] = {}
    for (id, agent), raw in rows.items():
        if standing(states[id, agent]) not in SHOWN:
            found.setdefault(agent, []).append(raw)
    return {agent: only(kept) for agent, kept in found.items()}


def take_better(desk: SessionRoom, team: str, copies: Copies) -> str:
    """Which copy counts now; the one in git takes the place of an older or a torn one at home."""
    if copies.better == HOME:
        if copies.is_home_torn:
            raise UnreadableFile(f"the state of {team!r} cannot be read, and there is no copy", "mend or remove it")
        return HOME
    content = (desk.git.latest(copies.common, team) or {}).get(STATE)
    if content is None:
        return HOME
    desk.room.states.change(team, lambda data: content if _is_older(data, copies.git or 0) else None)
    return GIT


def _is_older(data: bytes | None, sequence: int) -> bool:
    found, _ = _sequence(data)
    return found is None or found < sequence


def repository_for(desk: SessionRoom, team: str) -> str:
    """Where its checkpoints lie: where its lead worked, else around whoever asks."""
    try:
        known = lead_of(desk.room, team).common
    except AtmError:
        known = ""
    return known or desk.git.repository(desk.caller.folder)
