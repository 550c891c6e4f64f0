"""`atm snapshot`: everything that is known, for programs."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.untrusted_text import one_line
from atm.ui.cli.arguments import NUMBER, TEAM, Args, Command, Option
from atm.ui.views.looks import counts_in_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.snapshot.services.composing import Snapshots
    from atm.ui.cli.session import Session

COMMAND = Command(
    "snapshot",
    "everything that is known of teams at this moment, for programs",
    text=(
        "One JSON object: members, tasks, mail, work-sync, sessions, agents, the daemon. With --watch one object a "
        "line, a new one for each team that changed; `version` rises with every change of that team."
    ),
    options=(
        TEAM,
        Option("--watch", "-w", help="go on with what changes, until interrupted"),
        Option("--for", value="SECONDS", kind=NUMBER, help="with --watch: end after so many seconds"),
    ),
    examples=("atm snapshot --json", "atm snapshot --team backend --json", "atm snapshot --json --watch"),
)

LOOK_EVERY = 2.0
"""Seconds: who falls silent changes no file."""


def execute(args: Args, session: Session) -> int:
    from atm.wiring.snapshot import build_snapshots, daemon_facts

    snapshots = build_snapshots(session.layout, session.settings, session.boardroom, session.environment)
    if args.flag("watch"):
        return _watch(args, session, snapshots)
    teams = [_one(snapshots, name) for name in _names(args, session, snapshots)]
    result: dict[str, object] = {"action": "snapshot", "teams": teams, "daemon": daemon_facts(session.layout)}
    session.tell(result, "\n".join(map(_words, teams)) or "No teams yet: atm teams create NAME")
    return 0


def _names(args: Args, session: Session, snapshots: Snapshots) -> list[str]:
    """The team that is named; else all: who only looks need not choose."""
    return [session.team(args)] if args.text("team") else snapshots.teams()


def _one(snapshots: Snapshots, team: str) -> dict[str, Plain]:
    try:
        return snapshots.of(team)
    except AtmError as error:
        return {"team": team, "error": {"code": error.code, "message": str(error)}}


def _words(team: dict[str, Plain]) -> str:
    if "error" in team:
        return f"{one_line(str(team['team']))}: cannot be read; see --json"
    members, counts = team["members"], team["task_counts_shown"]
    tasks = counts_in_words(counts if isinstance(counts, dict) else {})
    there = [one for one in members if isinstance(one, dict)] if isinstance(members, list) else []
    online = sum(one.get("liveness") == "online" for one in there)
    return f"{one_line(str(team['team']))} is {team['status']}: {online} of {len(there)} online; {tasks}"


def _watch(args: Args, session: Session, snapshots: Snapshots) -> int:
    """A line for each team that changed; the last has `action`."""
    from atm.wiring.events import build_watch
    from atm.wiring.snapshot import watched

    clock, limit = session.room.clock, args.number("for")
    end = clock.monotonic() + limit if limit is not None else float("inf")
    seen: dict[str, Plain] = {}
    while clock.monotonic() < end:
        names = _names(args, session, snapshots)
        with build_watch([path for name in names for path in watched(session.layout, name)]) as changes:
            for name in names:
                found = _one(snapshots, name)
                if seen.get(name) != found.get("version", found):
                    seen[name] = found.get("version", found)
                    session.print_json(found)
            session.flush()
            changes.wait(max(0.0, min(LOOK_EVERY, end - clock.monotonic())))
    session.print_json({"action": "snapshot", "teams": len(seen)})
    return 0
