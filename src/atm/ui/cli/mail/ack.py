"""`atm ack`: acknowledge a message; with a reply, both happen or neither."""

from __future__ import annotations

from atm.core.untrusted_text import one_line
from atm.mail.services.conversations import Acknowledged, acknowledge
from atm.mail.services.spooling import drain_on_the_way
from atm.team.services.standing import check_member
from atm.ui.cli.arguments import TEAM, Args, Argument, Command, Option
from atm.ui.cli.mail.send import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

COMMAND = Command(
    "ack",
    "acknowledge a message, with or without a reply",
    arguments=(
        Argument("message-id", "the id, or the beginning of it", complete="message"),
        Argument("reply", "what to answer", required=False),
    ),
    options=(
        TEAM,
        Option(
            "--as", "--identity", value="NAME", help="whose inbox it lies in (default: ATM_IDENTITY, settings, human)"
        ),
    ),
    examples=('atm ack 3f0c1f4e "port 8080"', "atm ack 3f0c1f4e-7a52-4a63-9d2f-0c9be0a6b111"),
)


def execute(args: Args, session: Session) -> int:
    drain_on_the_way(session.room)
    reply, team, me = args.text("reply"), session.team(args), session.identity(args)
    check_member(session.room, team, me, "acknowledge this")
    done = acknowledge(
        session.room,
        team,
        me,
        args.need("message_id"),
        None if reply is None else clean(reply),
    )
    if done.outcome == "queued":
        session.warn("Warning: Message queued for delivery (could not write to inbox immediately)")
    verb = "queued for" if done.outcome == "queued" else "sent to"
    to = f"; reply {verb} {'@'.join(done.reply_to)}" if done.reply_to else ""
    session.tell(_as_json(done), one_line(f"acknowledged {(done.message.id or '')[:8]} from {done.message.sender}{to}"))
    return 0


def _as_json(done: Acknowledged) -> dict[str, object]:
    result: dict[str, object] = {
        "action": "ack",
        "team": done.team,
        "agent": done.agent,
        "message_id": done.message.id,
        "reply_sent": done.reply is not None,
        "outcome": done.outcome,
    }
    if done.reply is not None and done.reply_to is not None:
        result |= {"reply_id": done.reply.id, "reply_target": "@".join(done.reply_to)}
    if done.spool_path:
        result["spool_path"] = done.spool_path
    return result
