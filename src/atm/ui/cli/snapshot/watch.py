"""`atm watch`: what changes, as lines: mail as it comes, the board, who comes and goes, who asks."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.plain import counted
from atm.core.untrusted_text import many_lines, one_line
from atm.files.formats.times import to_iso
from atm.mail.formats.protocol_message import idle_sender
from atm.mail.services.following import Followers
from atm.ui.cli.arguments import NUMBER, TEAM, Args, Command, Option
from atm.ui.cli.render import Style
from atm.ui.views.changes import changes
from atm.ui.views.letters import sentence
from atm.ui.views.looks import look
from atm.ui.views.style import BOLD, DIM, YELLOW
from atm.ui.views.team.seen import Eyes
from atm.ui.views.team.spans import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.rules.messages import Message
    from atm.snapshot.services.composing import Snapshots
    from atm.ui.cli.session import Session
    from atm.ui.views.changes import TeamChange
    from atm.ui.views.team.seen import TeamSeen

COMMAND = Command(
    "watch",
    "what changes, as lines: mail as it comes, the board, who comes and goes",
    text="All teams, or the one that is named, until Ctrl-C. The screen is `atm top`; whole snapshots: `atm snapshot`.",
    options=(
        TEAM,
        Option("--for", value="SECONDS", kind=NUMBER, help="end after so many seconds"),
    ),
    examples=("atm watch", "atm watch --team backend", "atm watch --json"),
)

LOOK_EVERY = 2.0
"""Seconds: who falls silent changes no file."""


def execute(args: Args, session: Session) -> int:
    from atm.wiring.events import build_watch
    from atm.wiring.snapshot import build_snapshots, watched

    snapshots = build_snapshots(session.layout, session.settings, session.boardroom, session.environment)
    watcher, clock = _Watcher(session, snapshots), session.room.clock
    limit = args.number("for")
    end = clock.monotonic() + limit if limit is not None else float("inf")
    while clock.monotonic() < end:
        names = [session.team(args)] if args.text("team") else snapshots.teams()
        paths = [session.layout.teams, *(path for name in names for path in watched(session.layout, name))]
        with build_watch(paths) as news:
            watcher.look(names)
            news.wait(max(0.0, min(LOOK_EVERY, end - clock.monotonic())))
    if session.as_json:
        session.print_json({"action": "watch", "teams": len(watcher.seen)})
    return 0


class _Watcher:
    """What was seen last, and what was said of it."""

    def __init__(self, session: Session, snapshots: Snapshots) -> None:
        self._session, self._snapshots, self._style = session, snapshots, Style(session)
        self._eyes, self._followers = Eyes(), Followers()
        self._begun = False
        self.seen: dict[str, TeamSeen] = {}

    def look(self, names: list[str]) -> None:
        """At the first look it is said how things are, and nothing of it is news."""
        if not self._begun:
            for name in names:
                self._mail(name, begins=True)  # before a word is said: what comes after it is news
        for name in names:
            try:
                now = self._eyes.see(self._snapshots.of(name))
            except (AtmError, OSError):
                continue  # being rewritten, or gone: the next look tells
            was, self.seen[name] = self.seen.get(name), now
            if was is None:
                self._say_how_it_is(now)
            else:
                for change in changes(was, now):
                    self._say(now, change)
            self._mail(name)
        if not self._begun and not names and not self._session.as_json:
            self._session.print("No teams yet: atm teams create NAME")
        self._begun = True
        self._session.flush()

    def _say_how_it_is(self, seen: TeamSeen) -> None:
        if self._session.as_json:
            return
        done = sum(task.state == "completed" for task in seen.tasks)
        there = sum(member.liveness == "online" for member in seen.members)
        board = f"{done} of {counted(len(seen.tasks), 'task')} done" if seen.tasks else "no tasks yet"
        words = f"{one_line(seen.team)}: {there} of {counted(len(seen.members), 'member')} online, {board}"
        self._session.print(self._style(words, DIM))

    def _say(self, seen: TeamSeen, change: TeamChange) -> None:
        if self._session.as_json:
            facts = {
                "kind": change.kind,
                "subject": change.subject,
                "from": change.was or None,
                "to": change.now or None,
            }
            self._session.print_json({"team": seen.team, **facts, "at": to_iso(self._session.room.clock.now())})
            return
        codes = {"task": look(change.shown).codes, "approval": (BOLD, YELLOW)}.get(change.kind, ())
        self._session.print(f"{self._head(seen.team)}{self._style(one_line(change.words), *codes)}")

    def _mail(self, team: str, *, begins: bool = False) -> None:
        for agent, message in self._followers.news(self._session.room.inboxes, team, begins=begins):
            self._say_message(team, agent, message)

    def _say_message(self, team: str, agent: str, message: Message) -> None:
        if self._session.as_json:
            facts = {"kind": "message", "subject": message.id, "from": message.sender, "to": agent}
            self._session.print_json({"team": team, **facts, "text": message.text, "at": message.timestamp})
        elif idle_sender(message) is None:  # that is said of the member
            first, *rest = sentence(message.text) or many_lines(message.text).strip().split("\n")
            head = self._head(team)
            who = self._style(f"✉ {one_line(message.sender)} → {one_line(agent)}", BOLD)
            self._session.print("\n".join([f"{head}{who}  {first}", *(f"{' ' * 10}{line}" for line in rest)]))

    def _head(self, team: str) -> str:
        at = clock(to_iso(self._session.room.clock.now()))
        return self._style(f"{at}  " + (f"{one_line(team)}  " if len(self.seen) > 1 else ""), DIM)
