"""`atm inbox --watch`: a table that redraws itself on a terminal, and a line for each new message elsewhere."""

from __future__ import annotations

import sys

from atm.core.errors import AtmError
from atm.core.untrusted_text import one_line
from atm.mail.formats.protocol_message import idle_sender
from atm.mail.services.following import Followers
from atm.team.services.registry import find_team
from atm.ui.cli.mail.inbox_view import is_live, show_team, teams_meant
from atm.ui.cli.mail.view import message_json
from atm.ui.views.fitting import glimpse
from atm.ui.views.letters import in_one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.rules.messages import Message
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

REDRAW_EVERY = 5.0
"""Seconds: relative times grow old even when nothing changes."""

CLEAR = "\x1b[H\x1b[2J"


def follow(args: Args, session: Session) -> int:
    names = [team.name for team in teams_meant(args, session)]
    followers = Followers()
    clock = session.room.clock
    limit = args.number("for")
    end = clock.monotonic() + limit if limit is not None else float("inf")
    begun = False
    from atm.wiring.events import build_watch

    while clock.monotonic() < end:
        paths = [session.layout.inbox(team, agent) for team in names for agent in session.room.inboxes.owners(team)]
        paths += [session.layout.inboxes(team) for team in names]
        with build_watch(paths) as watch:
            show(session, names, followers, begun=begun)
            begun = True
            watch.wait(max(0.0, min(REDRAW_EVERY, end - clock.monotonic())))
    show(session, names, followers, begun=begun)
    return 0


def show(session: Session, teams: list[str], followers: Followers, *, begun: bool) -> None:
    """One look: what is new since the last one. At the first, what lies there is not new."""
    if is_live() and not session.as_json:
        try:
            tables = [show_team(session, find_team(session.room, name)) for name in teams]
        except AtmError as error:
            tables = [str(error)]
        sys.stdout.write(CLEAR + "\n\n".join(tables) + "\n\n  Ctrl-C ends.\n")
    else:
        for team in teams:
            for agent, message in followers.news(session.room.inboxes, team, begins=not begun):
                _print_line(session, team, agent, message)
    session.flush()


def _print_line(session: Session, team: str, agent: str, message: Message) -> None:
    if session.as_json:
        session.print_json({"team": team, "agent": agent, **message_json(message)})
    elif idle_sender(message) is None:
        text = glimpse(message.summary or in_one_line(message.text))
        session.print(
            f"{one_line(message.timestamp)}  {one_line(message.sender)} → {one_line(f'{agent}@{team}')}  {text}"
        )
