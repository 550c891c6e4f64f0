"""
Reading for the screen: the snapshot as files change, and what a view needs when it is looked at.

Read only. Nothing here waits for a lock longer than a command would; what cannot be read is said in words, and the
rest is there all the same.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from atm.approvals.formats.records import approval_json
from atm.board.rules.dependencies import Board
from atm.core.errors import AtmError
from atm.core.plain import counted
from atm.core.untrusted_text import many_lines, one_line
from atm.core.work_errors import NoSuchAgent
from atm.crew.services.ending import agent_named
from atm.crew.services.looking import last_output
from atm.files.formats.dataclass_record import made_from
from atm.mail.services.bookkeeping import all_told
from atm.merges.rules.shown_state import shown_item
from atm.runs.services.starting import run_line
from atm.sessions.services.listing import list_teams
from atm.snapshot.services.happenings import happenings
from atm.snapshot.services.threads import threads_in
from atm.ui.faces.commands import run_atm
from atm.ui.faces.looking import looks
from atm.ui.tui import needs
from atm.ui.tui.model import Page
from atm.ui.views.team.seen import ApprovalSeen, Eyes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.crew.services.crewroom import Crewroom
    from atm.snapshot.services.composing import Snapshots
    from atm.ui.cli.session import Session
    from atm.ui.views.team.seen import TeamSeen

MOST_LINES = 5000


@dataclass(slots=True)
class TeamLook:
    """What one look at a team brought."""

    teams: list[str]
    seen: TeamSeen | None = None
    at: float = 0.0
    trouble: str = ""


@dataclass(slots=True)
class Fetched:
    """One part or page that a view needs."""

    part: str = ""
    value: object = None
    page: Page | None = None


@dataclass(slots=True)
class TeamReader:
    """Looks at teams for as long as somebody watches."""

    session: Session
    snapshots: Snapshots
    crew: Crewroom
    eyes: Eyes = field(default_factory=Eyes)
    turn: threading.Lock = field(default_factory=threading.Lock)
    """Threads take turns: what is kept of boards and books is for one reader at a time."""

    def look(self, team: str) -> TeamLook:
        """A team that is gone, or cannot be read, is a sentence and no end."""
        now = self.session.room.clock.now()
        try:
            with self.turn:
                teams = self.snapshots.teams()
                seen = self.eyes.see(self.snapshots.of(team)) if team else None
            return TeamLook(teams, seen, now)
        except (AtmError, OSError) as error:
            return TeamLook([], at=now, trouble=str(error))

    def watch(self, team: str, go_on: Callable[[], bool], told: Callable[[TeamLook], None]) -> None:
        """Tell of every look, until it is enough: at once when a file changes, else now and then."""
        for _ in looks(self.session.layout, team, go_on):
            told(self.look(team))

    def read(self, team: str, part: str) -> Fetched:
        try:
            with self.turn:
                return Fetched(part, PARTS[part](self, team))
        except (AtmError, OSError) as error:
            return Fetched(part, f"cannot be read: {error}")

    def page(self, team: str, command: tuple[str, ...]) -> Fetched:
        """What the command prints, as text. What an agent says is read here: it is asked for again and again."""
        at = self.session.room.clock.now()
        if command[0] == "peek" and "--diff" not in command:
            return self._output(team, command, at)
        code, out, err = run_atm(self.session.environment, _with_team(command, team))
        lines = many_lines(out).rstrip("\n").split("\n")[:MOST_LINES] if out.strip() else []
        trouble = many_lines(err).strip().partition("\n")[0] if code not in (0, 3) and not lines else ""
        return Fetched(page=Page(command, lines, at, trouble))

    def _output(self, team: str, command: tuple[str, ...], at: float) -> Fetched:
        try:
            with self.turn:
                record = agent_named(self.crew, team, command[1])
            return Fetched(page=Page(command, last_output(self.crew, record, int(command[-1])), at))
        except NoSuchAgent:
            said = f"atm did not start {one_line(command[1])}, so it cannot see what it says; look at its own terminal."
            return Fetched(page=Page(command, [said], at))
        except (AtmError, OSError) as error:
            return Fetched(page=Page(command, [], at, str(error)))

    # Parts.

    def threads(self, team: str) -> object:
        return threads_in(all_told(self.session.room, team))

    def approvals(self, team: str) -> object:
        from atm.approvals.services.looking import everything_in
        from atm.wiring.approvals import build_approvalroom

        session = self.session
        room = build_approvalroom(session.layout, session.settings, session.room, lambda: session.boardroom)
        now = room.clock.now()
        found = [made_from(ApprovalSeen, approval_json(one, now)) for one in everything_in(room, team)]
        return [one for one in found if one is not None]

    def merges(self, team: str) -> object:
        from atm.wiring.runs import build_merges

        queue, tasks = build_merges(self.session.layout).read(team), self.session.boardroom.tasks
        board = (tasks.board(team) if tasks.exists(team) else Board({})).with_merges(queue)
        shown = {item.task: shown_item(item, board) for item in (queue.items if queue is not None else ())}
        return [
            {
                "task": item.task,
                "status": shown[item.task].state,
                "word": shown[item.task].word,
                "agent": item.agent,
                "subject": item.subject,
                "about": item.commit[:12] or item.reason or ", ".join(f"waits for #{id}" for id in item.waits_for),
            }
            for item in (queue.items if queue is not None else ())
        ]

    def runs(self, team: str) -> object:
        from atm.wiring.runs import build_runs

        runs = build_runs(self.session.layout)
        is_held = runs.is_held(team)
        rows = [run_line(runs, team, name, is_held=is_held) for name in runs.names(team)]
        return [
            {
                "id": str(row["run"]),
                "state": {"running": "working", "success": "done"}.get(str(row["state"]), str(row["state"])),
                "said": f"{row['state']}, {row['done']} of {row['tasks']} done  {row['goal'] or ''}",
            }
            for row in reversed(rows)
        ]

    def sessions(self, team: str) -> object:  # noqa: ARG002 - of all teams
        from atm.wiring.sessions import build_sessionroom, find_caller

        session = self.session
        caller = find_caller(session.environment, "")
        desk = build_sessionroom(session.layout, session.settings, self.crew, caller, session.environment)
        return [
            {
                "id": one.team,
                "said": f"{one.status}, {one.online} of {one.members} online, led by {one.session or one.lead}",
            }
            for one in list_teams(desk, all=True)
        ]

    def happenings(self, team: str) -> object:
        from atm.wiring.approvals import build_approvalroom

        session = self.session
        room = build_approvalroom(session.layout, session.settings, session.room, lambda: session.boardroom)
        past = session.boardroom.tasks.past(team)[0]
        return happenings(all_told(session.room, team), past, room.approvals.audit(team))

    def daemon(self, team: str) -> object:  # noqa: ARG002 - of this home
        from atm.wiring.snapshot import daemon_facts

        facts = daemon_facts(self.session.layout)
        if not facts["runs"]:
            return "does not run: mail waits in inboxes until agents look (atm daemon start)"
        if not facts.get("answers"):
            return f"runs, and does not answer: {facts.get('problem')}"
        problems = facts.get("problems")
        return f"runs, process {facts['pid']}" + (
            f"; {counted(len(problems), 'problem')}: atm daemon status"
            if isinstance(problems, list) and problems
            else ""
        )


PARTS: dict[str, Callable[[TeamReader, str], object]] = {
    needs.THREADS: TeamReader.threads,
    needs.ALL_APPROVALS: TeamReader.approvals,
    needs.QUEUE: TeamReader.merges,
    needs.ALL_RUNS: TeamReader.runs,
    needs.ALL_SESSIONS: TeamReader.sessions,
    needs.HAPPENINGS: TeamReader.happenings,
    needs.DAEMON: TeamReader.daemon,
}


def _with_team(command: tuple[str, ...], team: str) -> list[str]:
    return [*command] if command[0] == "session" else [*command, "--team", team]
