"""`atm sync watch`: the table, redrawn on a terminal; a line for each change elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from atm.core.names import same_name
from atm.team.services.standing import is_proven_boss
from atm.ui.cli.mail.inbox_view import is_live
from atm.ui.cli.mail.inbox_watch import CLEAR, REDRAW_EVERY
from atm.ui.cli.worksync.showing import known_identity, local_clock, status_table
from atm.ui.cli.worksync.sync import open_plane
from atm.wiring.events import build_watch
from atm.worksync.rules.sentences import Times
from atm.worksync.services.reading import views

if TYPE_CHECKING:
    from atm.team.rules.team import Team
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session
    from atm.worksync.services.reading import View
    from atm.worksync.services.syncroom import SyncRoom


def watch(args: Args, session: Session) -> int:
    syncroom, team = open_plane(args, session)
    clock, limit = session.room.clock, args.number("for")
    end = clock.monotonic() + limit if limit is not None else float("inf")
    shown: dict[str, tuple[str, str]] = {}
    layout = session.layout
    while clock.monotonic() < end:
        paths = [layout.tasks(team.name), layout.sync_folder(team.name), layout.heartbeats(team.name)]
        with build_watch([*paths, layout.team_config(team.name), layout.state(team.name)]) as changes:
            _show(session, syncroom, open_plane(args, session)[1], shown, known_identity(args, session))
            changes.wait(max(0.0, min(REDRAW_EVERY, end - clock.monotonic())))
    return 0


def _show(session: Session, syncroom: SyncRoom, team: Team, shown: dict[str, tuple[str, str]], me: str) -> None:
    found = views(syncroom, team, team.names)
    if is_live() and not session.as_json:
        lines = status_table(found, syncroom.now())
        sys.stdout.write(CLEAR + "\n".join([f"{team.name}", "", *lines, "", "  Ctrl-C ends."]) + "\n")
    else:
        leads = is_proven_boss(session.room, team, me)
        for one in found:
            _say_if_new(session, one, shown, leads or same_name(me, one.member))
    session.flush()


def _say_if_new(session: Session, one: View, shown: dict[str, tuple[str, str]], with_agenda: bool) -> None:
    now = (one.label, one.seen.fingerprint if one.seen is not None else "")
    if shown.get(one.member) == now:
        return
    shown[one.member] = now
    if session.as_json:
        session.print_json(one.fields(with_agenda=with_agenda))
    else:
        session.print(f"{one.member}: {one.label}. {one.said(Times(local_clock))}")


VERBS = {"sync watch": watch}
