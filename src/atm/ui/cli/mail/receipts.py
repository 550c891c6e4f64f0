"""`atm receipts`: where a message is, and how that is known."""

from __future__ import annotations

from atm.core.untrusted_text import one_line
from atm.mail.services.spooling import drain_on_the_way
from atm.mail.services.tracing import Trace, trace
from atm.team.services.registry import find_team
from atm.ui.cli.arguments import TEAM, Args, Argument, Command
from atm.ui.cli.render import Style, when
from atm.ui.views.fitting import glimpse
from atm.ui.views.letters import in_one_line
from atm.ui.views.style import BOLD, DIM, GREEN, YELLOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

COMMAND = Command(
    "receipts",
    "where a message is, and how that is known",
    text=(
        "queued → written → surfaced → read → answered. A step that nobody observed is shown as unknown. Without an "
        "id: what waits for an acknowledgement (exit code 3: nothing does)."
    ),
    arguments=(Argument("message-id", "the id, or the beginning of it", required=False, complete="message"),),
    options=(TEAM,),
    examples=("atm receipts 3f0c1f4e", "atm receipts 3f0c1f4e --json", "atm receipts --team crew"),
)


def execute(args: Args, session: Session) -> int:
    drain_on_the_way(session.room)
    flagged = args.text("team")
    teams = [find_team(session.room, flagged).name] if flagged else session.room.rosters.teams()
    message_id = args.text("message_id")
    if message_id is None:
        return _show_waiting(session, teams)
    traces = trace(session.room, message_id, teams)
    if session.as_json:
        session.print_json(
            {
                "action": "receipts",
                "message_id": traces[0].message_id,
                "recipients": [_as_json(t) for t in traces],
            }
        )
    else:
        session.print("\n\n".join("\n".join(_lines(session, one)) for one in traces))
    return 0


def _show_waiting(session: Session, teams: list[str]) -> int:
    """Messages that their sender wants to have acknowledged, oldest first."""
    from atm.files.formats.times import to_iso
    from atm.mail.services.escalation import unacknowledged
    from atm.ui.views.tables import table

    waiting = [one for team in teams for one in unacknowledged(session.room, team)]
    if session.as_json:
        fields = ("team", "agent", "id", "sender", "summary", "minutes")
        rows = [{**{name: getattr(one, name) for name in fields}, "since": to_iso(one.since)} for one in waiting]
        told_json = [{**row, "told": one.said or None} for row, one in zip(rows, waiting, strict=True)]
        session.print_json({"action": "receipts", "waiting": told_json})
    elif waiting:
        cells = [
            [
                one.id[:8],
                f"{one.agent}@{one.team}",
                one.sender,
                when(session, to_iso(one.since)),
                one.said or "nobody yet",
            ]
            for one in waiting
        ]
        heads = ["id", "waits for", "from", "sent", "told"]
        session.print("\n".join(table(heads, cells, drop=(3, 2))))
    else:
        session.print("nothing waits for an acknowledgement")
    return 0 if waiting else 3


def _as_json(one: Trace) -> dict[str, object]:
    return {
        "team": one.team,
        "agent": one.agent,
        "seq": one.seq,
        "state": one.standing,
        "now": one.now,
        "journey": [
            {
                "state": state,
                "at": event.at if event else None,
                "evidence": event.evidence if event else "unknown",
            }
            for state, event in one.journey()
        ],
        "events": [{"seq": e.seq, "state": e.state, "at": e.at, "evidence": e.evidence} for e in one.events],
    }


def _lines(session: Session, one: Trace) -> list[str]:
    style = Style(session)
    seq = f"  seq {one.seq}" if one.seq is not None else "  not in the ledger"
    lines = [f"{style(one_line(one.message_id), BOLD)} to {one_line(f'{one.agent}@{one.team}')}{seq}"]
    if one.message is not None:
        lines.append(
            style(
                f"  from {one_line(one.message.sender)}: "
                f"{glimpse(one.message.summary or in_one_line(one.message.text))}",
                DIM,
            )
        )
    for state, event in one.journey():
        if event is None and state == "queued" and one.standing != "unknown":
            lines.append(style(f"  ○ {state:<9} not needed: it went straight to the inbox", DIM))
        elif event is None:
            lines.append(style(f"  ○ {state:<9} unknown", DIM))
        else:
            lines.append(f"  {style('●', GREEN)} {state:<9} {when(session, event.at):<10} {one_line(event.evidence)}")
    for event in one.events:
        if event.state not in [state for state, _ in one.journey()]:
            lines.append(
                f"  {style('!', YELLOW)} {event.state:<9} {when(session, event.at):<10} {one_line(event.evidence)}"
            )
    return [*lines, f"  now: {one_line(one.now)}"]
