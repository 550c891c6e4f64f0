"""`atm spool`: messages that wait for delivery."""

from __future__ import annotations

from atm.core.errors import NoSuchMessage, UsageError
from atm.files.formats.times import to_iso
from atm.mail.services.spooling import drain, drop
from atm.ui.cli.arguments import Args, Argument, Command, Option
from atm.ui.cli.render import when_epoch
from atm.ui.cli.waiting import Spinner
from atm.ui.views.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.formats.spool_entry import Spooled
    from atm.ui.cli.session import Session

_ID = Argument("message-id", "the id, or the beginning of it", required=False, complete="message")
LIST = Command("spool list", "what waits, and what was given up", examples=("atm spool list --json",))
RETRY = Command(
    "spool retry",
    "try to deliver now, without waiting for the next turn",
    options=(Option("--failed", help="also what was given up"),),
    examples=("atm spool retry --failed",),
)
DROP = Command(
    "spool drop",
    "throw spooled messages away",
    text="Shows what would be dropped; --yes does it. A dropped message is gone: nobody has received it.",
    arguments=(_ID,),
    options=(
        Option("--all-failed", help="everything that was given up"),
        Option("--yes", "-y", help="do it"),
    ),
    examples=("atm spool drop 3f0c1f4e --yes",),
)
COMMAND = Command(
    "spool",
    "messages that wait for delivery",
    subcommands=(LIST, RETRY, DROP),
    default="list",
    examples=("atm spool", "atm spool retry --failed"),
)


def execute(args: Args, session: Session) -> int:
    verbs = {"spool retry": _retry, "spool drop": _drop}
    return verbs.get(args.command.name, _list)(args, session)


def _of(args: Args, found: list[Spooled]) -> list[Spooled]:
    return [one for one in found if args.may_mean(one.entry.team)]


def _list(args: Args, session: Session) -> int:
    waiting, failed = _of(args, session.room.spool.pending()), _of(args, session.room.spool.failed())
    if session.as_json:
        session.print_json(
            {
                "action": "spool",
                "pending": [_as_json(s) for s in waiting],
                "failed": [_as_json(s) for s in failed],
                "unreadable": session.room.spool.unreadable(),
            }
        )
        return 0
    unreadable = session.room.spool.unreadable()
    for path in unreadable:
        session.print(f"{path} is no message of ours; it is left alone")
    if not waiting and not failed:
        if not unreadable:
            session.print("Nothing waits.")
        return 0
    rows = [_row(session, "pending", one) for one in waiting] + [_row(session, "failed", one) for one in failed]
    session.print("\n".join(table(["Id", "To", "State", "Tries", "Since", "Reason"], rows, right=(3,), drop=(3, 4))))
    return 0


def _row(session: Session, state: str, one: Spooled) -> list[str]:
    entry = one.entry
    to = f"{entry.agent}@{entry.team}"
    return [
        entry.message_id[:8],
        to,
        state,
        str(entry.tries),
        when_epoch(session, entry.created_at),
        entry.reason,
    ]


def _as_json(one: Spooled) -> dict[str, object]:
    entry = one.entry
    return {
        "message_id": entry.message_id,
        "team": entry.team,
        "agent": entry.agent,
        "tries": entry.tries,
        "created_at": to_iso(entry.created_at),
        "next_attempt": to_iso(entry.next_attempt) if entry.next_attempt else None,
        "reason": entry.reason,
        "path": one.path,
    }


def _retry(args: Args, session: Session) -> int:
    if args.flag("failed"):
        for one in _of(args, session.room.spool.failed()):
            one.entry.tries, one.entry.next_attempt = 0, 0.0
            session.room.spool.revive(one)
    with Spinner(session, "delivering what waits"):
        done = drain(session.room, everything=True)
    counts = {"delivered": done.delivered, "waiting": done.waiting, "failed": done.failed}
    words = f"{done.delivered} delivered, {done.waiting} waiting, {done.failed} given up"
    session.tell({"action": "spool-retry", **counts}, words)
    return 0 if not done.waiting and not done.failed else 2


def _drop(args: Args, session: Session) -> int:
    meant = _meant(args, session)
    doing = args.flag("yes")
    if doing:
        for one in meant:
            drop(session.room, one)
    if session.as_json:
        session.print_json({"action": "spool-drop", "dry_run": not doing, "dropped": [_as_json(one) for one in meant]})
        return 0
    rows = [_row(session, "dropped" if doing else "would drop", one) for one in meant]
    session.print(
        "\n".join(table(["Id", "To", "", "Tries", "Since", "Reason"], rows, drop=(3, 4)))
        if rows
        else "Nothing to drop."
    )
    if rows and not doing:
        session.wants_yes = True
        session.print("\n  nothing was changed; add --yes to do it")
    return 0


def _meant(args: Args, session: Session) -> list[Spooled]:
    id = args.text("message_id")
    if args.flag("all_failed"):
        return _of(args, session.room.spool.failed())
    if not id:
        raise UsageError("which message?", "give an id, or --all-failed")
    spooled = _of(args, [*session.room.spool.pending(), *session.room.spool.failed()])
    found = [s for s in spooled if s.entry.message_id.startswith(id)]
    if not found:
        raise NoSuchMessage(f"no spooled message begins with {id!r}", "see `atm spool list`")
    if len({s.entry.message_id for s in found}) > 1:
        raise NoSuchMessage(f"{len(found)} spooled messages begin with {id!r}", "give more of the id")
    return found
