"""
What the page reads. A team as a whole is composed here; of one thing it shows what a command prints with `--json`.

Threads take turns at what is kept of boards and books; commands are processes of their own, three at a time.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atm.core.errors import AtmError
from atm.core.untrusted_text import one_line, shell_word
from atm.core.work_errors import NoSuchAgent
from atm.crew.services.ending import agent_named
from atm.crew.services.looking import last_output
from atm.files.formats.json_record import NotJson, decode_object
from atm.mail.rules.receipts import JOURNEY
from atm.mail.services.bookkeeping import all_told
from atm.snapshot.services.replay import TeamPast, activity
from atm.snapshot.services.threads import threads_in
from atm.ui.faces.commands import run_atm
from atm.ui.views.letters import in_one_line
from atm.ui.views.team.attention import NEEDS, PROBLEMS, attention
from atm.ui.views.team.seen import Eyes
from atm.ui.web.whole import whole_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.core.plain import Plain
    from atm.crew.services.crewroom import Crewroom
    from atm.snapshot.services.composing import Snapshots
    from atm.snapshot.services.threads import MailSent
    from atm.ui.cli.session import Session
    from atm.ui.views.team.seen import TeamSeen
    from atm.ui.web.doors import Visitor
    from atm.ui.web.whole import Whole

ID, TEAM = "{id}", "{team}"
MOST_LINES = 400
NOTHING = 3
"""The exit code of a command that found nothing: no error."""

COMMANDS: dict[str, tuple[str, ...]] = {
    "approvals": ("approvals", "list", "--all"),
    "daemon": ("daemon", "status"),
    "diagnose": ("sync", "diagnose", ID),
    "diff": ("peek", ID, "--diff"),
    "logs": ("logs",),
    "merge": ("merge", "show", ID),
    "merges": ("merge", "queue"),
    "receipts": ("receipts", ID),
    "run": ("runs", "show", ID),
    "runs": ("runs", "list"),
    "session": ("session", "show", TEAM),
    "sessions": ("session", "list", "--all"),
    "sync": ("sync", "status"),
    "task": ("tasks", "show", ID),
}
"""What can be read of one thing, and the command that says it."""
OF_ALL_TEAMS = ("daemon", "logs", "session", "sessions")


@dataclass(slots=True)
class PageReader:
    """Reads for everybody who looks at the page."""

    session: Session
    snapshots: Snapshots
    crew: Crewroom
    eyes: Eyes = field(default_factory=Eyes)
    turn: threading.Lock = field(default_factory=threading.Lock)
    places: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(3))

    # Teams.

    def teams(self) -> list[Plain]:
        """All of them, in figures; one that cannot be read says so."""
        return [self._brief(team) for team in self.snapshots.teams()]

    def _brief(self, team: str) -> dict[str, Plain]:
        try:
            with self.turn:
                seen = self.eyes.see(self.snapshots.of(team))
        except (AtmError, OSError) as error:
            return {"name": team, "status": "unknown", "problem": str(error)}
        rows = attention(seen, self.session.room.clock.now())
        return {
            "name": seen.team,
            "status": seen.status,
            "members": len(seen.members),
            "tasks": len(seen.tasks),
            "done": sum(task.state == "completed" for task in seen.tasks),
            "needs": sum(row.group == NEEDS for row in rows),
            "problems": sum(row.group == PROBLEMS for row in rows),
        }

    def whole(self, team: str) -> Whole:
        with self.turn:
            fields = self.snapshots.of(team)
            seen = self.eyes.see(fields)
        return whole_of(fields, seen, self.session.room.clock.now())

    def seen(self, team: str) -> TeamSeen:
        with self.turn:
            return self.eyes.see(self.snapshots.of(team))

    # One thing.

    def read(self, team: str, what: str, id: str, visitor: Visitor) -> dict[str, Plain]:
        """With the command that says the same. Raises AtmError if there is no such thing, or it cannot be read."""
        at = self.session.room.clock.now()
        if id.startswith("-"):
            raise AtmError(f"there is no {what} {one_line(id)}")  # which would be an option, and no id
        own = OWN.get(what)
        if own is not None:
            with self.turn:
                value = own(self, team, id)
            return {"command": "", "at": at, "value": value}
        words = [*(_filled(word, team, id) for word in COMMANDS[what])]
        words += [] if what in OF_ALL_TEAMS else ["--team", team]
        code, out, err = self.run([*words, "--json"], visitor)
        if code not in (0, NOTHING):
            raise _refused(out, err)
        return {"command": _typed(words), "at": at, "value": decode_object(out) if out.strip() else None}

    def run(self, words: list[str], visitor: Visitor) -> tuple[int, str, str]:
        """A command of `atm`, as whoever opened the page would type it where it was opened."""
        with self.places:
            return run_atm({**self.session.environment, **visitor.environment}, words, folder=visitor.folder)

    def _threads(self, team: str, _: str) -> Plain:
        found = threads_in(all_told(self.session.room, team))
        return [
            {"key": one.key, "people": [*one.people], "messages": [_sent(message) for message in one.messages]}
            for one in found
        ]

    def _output(self, team: str, id: str) -> Plain:
        try:
            return {"lines": [*last_output(self.crew, agent_named(self.crew, team, id), MOST_LINES)]}
        except NoSuchAgent:
            said = f"atm did not start {one_line(id)}, so it cannot see what it says; look at its own terminal."
            return {"lines": [], "why": said}

    def _happenings(self, team: str, _: str) -> Plain:
        return [mark.fields() for mark in self.past(team).marks()[-1000:]]

    def _activity(self, team: str, _: str) -> Plain:
        past = self.past(team)
        return activity(past.marks(), past.events, self.session.room.clock.now())

    # The past.

    def past(self, team: str) -> TeamPast:
        from atm.wiring.approvals import build_approvalroom
        from atm.wiring.runs import build_runs

        session = self.session
        tasks, runs = session.boardroom.tasks, build_runs(session.layout)
        approvals = build_approvalroom(
            session.layout, session.settings, session.room, lambda: session.boardroom
        ).approvals
        return TeamPast(
            entries=all_told(session.room, team),
            past=tasks.past(team)[0],
            audit=approvals.audit(team),
            events=[event for name in runs.names(team) for event in runs.events(team, name)],
            waits={card.id: [*card.blocked_by] for card in tasks.board(team).sorted()},
            commands={one.id: one.command for one in approvals.all(team)},
        )


def _sent(one: MailSent) -> dict[str, Plain]:
    return {
        "id": one.id,
        "sender": one.sender,
        "at": one.at,
        "text": one.text,
        "words": in_one_line(one.text)[:MOST_WORDS],
        "summary": one.summary,
        "journeys": {
            name: {state: {"at": event.at, "evidence": event.evidence} for state, event in journey.items()}
            for name, journey in one.journeys.items()
        },
        "stands": {state: one.stand(state) for state in JOURNEY},
    }


MOST_WORDS = 200
"""Characters of a message in a list."""

OWN: dict[str, Callable[[PageReader, str, str], Plain]] = {
    "activity": PageReader._activity,
    "happenings": PageReader._happenings,
    "output": PageReader._output,
    "threads": PageReader._threads,
}
READABLE = (*sorted({*COMMANDS, *OWN}),)
NEEDS_ID = (*(what for what, words in COMMANDS.items() if ID in words), "output")


def _filled(word: str, team: str, id: str) -> str:
    return {ID: id, TEAM: team}.get(word, word)


def _typed(words: list[str]) -> str:
    return " ".join(["atm", *(shell_word(word) for word in words)])


def _refused(out: str, err: str) -> AtmError:
    """What the command said, with `--json` or in words."""
    try:
        said = decode_object(out.strip().rpartition("\n")[2]).get("error")
    except NotJson:
        said = None
    if not isinstance(said, dict):
        return AtmError(one_line((err or out).strip().rpartition("\n")[2])[:500] or "the command failed")
    return AtmError(str(said.get("message")), str(said.get("remedy") or ""))
