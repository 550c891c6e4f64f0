"""`atm status`: a team at a glance."""

from __future__ import annotations

import sys

from atm.core.untrusted_text import one_line
from atm.files.formats.times import to_iso
from atm.mail.services.overview import InboxFacts, inbox_facts
from atm.mail.services.putting_back import put_back_dropped
from atm.mail.services.spooling import drain_on_the_way
from atm.snapshot.services.tasks import task_counts, task_counts_shown
from atm.team.services.activity import activity
from atm.ui.cli.arguments import NUMBER, TEAM, Args, Argument, Command, Option
from atm.ui.cli.render import Style, when, when_epoch
from atm.ui.cli.roster.last_run import last_runs_of, show_last_run
from atm.ui.cli.roster.member_views import (
    member_json,
    progress_lines,
    question_lines,
    questions_of,
    suspended_lines,
    suspended_of,
    team_meant,
)
from atm.ui.views.looks import counts_in_words
from atm.ui.views.roster.members import state_words
from atm.ui.views.style import DIM
from atm.ui.views.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.board.rules.dependencies import Board
    from atm.core.plain import Plain
    from atm.mail.services.overview import InboxProblem
    from atm.team.rules.team import Team
    from atm.ui.cli.session import Session

COMMAND = Command(
    "status",
    "a team at a glance",
    arguments=(Argument("team-name", "the team", required=False, complete="team"),),
    text="With --watch it is drawn anew on a terminal; elsewhere it is printed again when something has changed.",
    options=(
        TEAM,
        Option("--watch", "-w", help="go on, until interrupted"),
        Option("--for", value="SECONDS", kind=NUMBER, help="with --watch: end after so many seconds"),
    ),
    examples=("atm status", "atm status backend --json", "atm status --watch"),
)

CLEAR = "\x1b[H\x1b[2J"
LOOK_EVERY = 3.0
"""Seconds: ages grow, and who falls silent, or a run that dies, changes no file."""


def execute(args: Args, session: Session) -> int:
    return _watch(args, session) if args.flag("watch") else _look(args, session)


def _watch(args: Args, session: Session) -> int:
    from atm.wiring.events import build_watch
    from atm.wiring.snapshot import build_snapshots, watched

    team, clock, limit = team_meant(args, session).name, session.room.clock, args.number("for")
    end = clock.monotonic() + limit if limit is not None else float("inf")
    snapshots = build_snapshots(session.layout, session.settings, session.boardroom, session.environment)
    is_drawn, seen = sys.stdout.isatty() and not session.as_json, None
    while clock.monotonic() < end:
        with build_watch(watched(session.layout, team)) as news:
            version = snapshots.of(team)["version"]
            if is_drawn:
                sys.stdout.write(CLEAR)
            if is_drawn or version != seen:
                _look(args, session)
                if not session.as_json:
                    session.print("\n  Ctrl-C ends." if is_drawn else "")
            seen = version
            session.flush()
            news.wait(max(0.0, min(LOOK_EVERY, end - clock.monotonic())))
    return 0


def _look(args: Args, session: Session) -> int:
    drain_on_the_way(session.room)
    team = team_meant(args, session)
    put_back_dropped(session.room, team)
    from atm.wiring.board import build_tasks
    from atm.wiring.runs import board_with_merges

    mail = {facts.agent: facts for facts in inbox_facts(session.room, team)}
    board = board_with_merges(session.layout, build_tasks(session.layout).board(team.name), team.name)
    runs = last_runs_of(session, team, board)
    if session.as_json:
        session.print_json({**_as_json(session, team, mail, board), "runs": runs})
    else:
        show_last_run(session, runs)
        _show(session, team, mail, task_counts_shown(board))
    return 0


def _as_json(
    session: Session, team: Team, mail: Mapping[str, InboxFacts | InboxProblem], board: Board
) -> dict[str, object]:
    now, questions, suspended = session.room.clock.now(), questions_of(session, team), suspended_of(session, team)
    members = []
    for member in team.members:
        facts = mail.get(member.name)
        counts = (facts.unread, facts.total) if isinstance(facts, InboxFacts) else (None, None)
        known = member_json(session, team, member, questions.get(member.name, ""), suspended.get(member.name, ""))
        members.append({**known, "unread": counts[0], "total": counts[1]})
    return {
        "action": "status",
        "team": team.name,
        "description": team.description or None,
        "createdAt": to_iso(team.created_at) if team.created_at is not None else None,
        "members": members,
        "paused": _paused(session, team),
        "tasks": task_counts(board),
        "tasks_shown": task_counts_shown(board),
        "spool": {"pending": _waiting(session, team.name)},
        "source": team.read_from,
        "read_at": to_iso(now),
    }


def _paused(session: Session, team: Team) -> list[str]:
    """Members whom atm has stopped reminding, each with the command that begins anew."""
    from atm.wiring.worksync import build_syncroom
    from atm.worksync.services.reading import views

    syncroom = build_syncroom(session.layout, session.settings, session.boardroom)
    return [one_line(one.why) for one in views(syncroom, team, team.names) if one.is_paused]


def _waiting(session: Session, team: str) -> int:
    if session.room.spool.is_empty():  # also where nobody can look
        return 0
    return sum(spooled.entry.team == team for spooled in session.room.spool.pending())


def _show(
    session: Session, team: Team, mail: Mapping[str, InboxFacts | InboxProblem], tasks: Mapping[str, Plain]
) -> None:
    style = Style(session)
    session.print(f"Team: {one_line(team.name)}" + (f"  {one_line(team.description)}" if team.description else ""))
    session.print(style(f"  created {when_epoch(session, team.created_at)}, roster {one_line(team.read_from)}", DIM))
    rows, questions, suspended = [], questions_of(session, team), suspended_of(session, team)
    for member in team.members:
        facts = mail.get(member.name)
        unread, latest = ("?", "unreadable")
        if isinstance(facts, InboxFacts):
            unread, latest = str(facts.unread), when(session, facts.latest) if facts.latest else "-"
        rows.append(
            [
                *(member.name, member.agent_type or "-"),
                *state_words(
                    activity(session.room, team, member),
                    asks=member.name in questions,
                    is_suspended=member.name in suspended,
                ),
                *(unread, latest),
            ]
        )
    session.print("")
    session.print(
        "\n".join(table(["Agent", "Type", "State", "Liveness", "Unread", "Latest"], rows, right=(4,), drop=(1, 5)))
        if rows
        else "  no members yet"
    )
    for line in progress_lines(session, team):
        session.print(line)
    for line in [*suspended_lines(suspended), *question_lines(team, questions)]:
        session.print(f"\n  {line}")
    for text in _paused(session, team):
        session.print(f"\n  Paused: {text}")
    waiting = _waiting(session, team.name)
    session.print(f"\n  tasks: {counts_in_words(tasks)}")
    session.print(f"  spool: {waiting} waiting" + ("  (atm spool list)" if waiting else ""))
