"""`atm read`: show mail, and mark exactly what was shown."""

from __future__ import annotations

from atm.core.errors import BadMessage, NoSuchMember, NoSuchTeam, UnreadableFile, UsageError
from atm.core.plain import counted
from atm.mail.rules.messages import TYPES
from atm.mail.services.mailroom import find_addressee, find_recipient
from atm.mail.services.putting_back import put_back_dropped
from atm.mail.services.reading import Filter, Reading, ShownMail, peek
from atm.mail.services.spooling import drain_on_the_way
from atm.ui.cli.arguments import NUMBER, TEAM, WHOLE, Args, Argument, Command, Option
from atm.ui.cli.mail.view import message_json
from atm.ui.cli.since import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.mail.services.mailroom import Recipient
    from atm.ui.cli.session import Session

COMMAND = Command(
    "read",
    "read mail",
    text=(
        "Without a name it is your own inbox: ATM_IDENTITY, or core.identity. Messages are marked as read only "
        "when you are the inbox's owner, or say --mark: a person who peeks must not hide mail from the agent."
    ),
    arguments=(Argument("agent", "whose inbox: member or member@team", required=False, complete="member"),),
    options=(
        TEAM,
        Option("--all", "-a", help="also what was read before"),
        Option("--no-mark", help="leave everything unread"),
        Option("--mark", help="mark as read even if the inbox is not yours"),
        Option("--limit", "-n", value="N", kind=WHOLE, help="only the last N"),
        Option("--since", value="TIME", help="only what came after this: ISO 8601, or 30m, 2h, 7d"),
        Option("--from", value="NAME", help="only from this sender"),
        Option("--type", value="TYPE", choices=TYPES, help="only messages of this type"),
        Option("--wait", value="SECONDS", kind=NUMBER, help="if there is nothing, wait this long for something"),
        Option("--as", "--identity", value="NAME", help="who is reading (default: ATM_IDENTITY, settings, human)"),
    ),
    examples=("atm read", "atm read ann --all --limit 20", "atm read --wait 60 --json"),
)


DRAIN_EVERY = 1.0


def execute(args: Args, session: Session) -> int:
    owner, is_mine = whose(args, session)
    if args.flag("mark") and args.flag("no_mark"):
        raise UsageError("--mark and --no-mark contradict each other", "leave one of them out")
    marking = (is_mine or args.flag("mark")) and not args.flag("no_mark")
    if marking and owner.team.completed:
        marking = False
        session.warn(f"team {owner.team_name} is complete: its mail can be read, and nothing is marked")
    drain_on_the_way(session.room)
    put_back_dropped(session.room, owner.team, about=owner.agent)
    wanted = _wanted(args, session)
    with Reading(session.room, owner.team_name, owner.agent, wanted) as reading:
        mail = _look(args, session, owner, reading.take if marking else lambda: _peek(session, owner, wanted))
        _show(session, owner, mail)
        session.flush()
        reading.shown()
    for warning in mail.warnings:
        session.warn(f"Warning: {warning}")
    if mail.too_large:
        raise BadMessage(
            f"{counted(len(mail.too_large), 'message is', 'messages are')} too large to show "
            f"({len(mail.too_large[0].raw):,} characters)",
            f"look at them in {session.layout.inbox(owner.team_name, owner.agent)}",
        )
    return 3 if args.given("wait") and not mail.messages else 0


def whose(args: Args, session: Session) -> tuple[Recipient, bool]:
    """The inbox that is meant, and whether the reader owns it (D11)."""
    me = session.identity(args)
    given = args.text("agent")
    agent, team = session.address(given, args) if given else (me, session.team(args))
    try:
        owner = (find_addressee if given else find_recipient)(session.room, team, agent)
    except NoSuchMember as error:
        if given:
            raise
        hint = "say who you are with ATM_IDENTITY or --as, or whose inbox you mean: atm read NAME"
        raise NoSuchMember(f"you are {me!r}, and {error}", hint, error.path) from None
    home = session.home_team()
    at_home = home is None or args.text("team") is not None or home.casefold() == owner.team_name.casefold()
    return owner, at_home and owner.agent.casefold() == me.casefold()


def _wanted(args: Args, session: Session) -> Filter:
    return Filter(
        everything=args.flag("all"),
        sender=args.text("from"),
        since=since(args, session),
        limit=args.whole("limit"),
        types=[args.need("type")] if args.text("type") else None,
    )


def _peek(session: Session, owner: Recipient, wanted: Filter) -> ShownMail:
    return peek(session.room, owner.team_name, owner.agent, wanted)


def _look(args: Args, session: Session, owner: Recipient, look: Callable[[], ShownMail]) -> ShownMail:
    wait = args.number("wait")
    if not wait:
        return look()
    from atm.ui.cli.waiting import Spinner

    with Spinner(session, f"waiting for mail to {owner.agent}@{owner.team_name}"):
        return _wait(session, owner, look, wait)


def _wait(session: Session, owner: Recipient, look: Callable[[], ShownMail], seconds: float) -> ShownMail:
    """Look until there is something. An inbox that cannot be read at the moment may be whole at the next look."""
    from atm.wiring.events import build_watch

    clock = session.room.clock
    deadline = clock.monotonic() + seconds
    with build_watch([session.layout.inbox(owner.team_name, owner.agent)]) as watch:
        while True:
            left = deadline - clock.monotonic()
            try:
                mail = look()
                if mail.messages or mail.too_large:
                    return mail
                _check_still_there(session, owner)
                if left <= 0:
                    return mail
            except UnreadableFile:
                if left <= 0:
                    raise
            watch.wait(max(0.0, min(left, DRAIN_EVERY)))
            drain_on_the_way(session.room)  # nobody else may come by, and the reader has time


def _check_still_there(session: Session, owner: Recipient) -> None:
    """An inbox that is gone looks like an empty one: whoever waits for mail there would wait in vain."""
    try:
        find_recipient(session.room, owner.team_name, owner.agent)
    except NoSuchTeam as error:
        what = f"team {owner.team_name!r} was removed while you waited: {error.path} is gone"
        raise NoSuchTeam(what, "see `atm teams`, and `atm teams restore` for its backup", error.path) from None
    except NoSuchMember as error:
        what = f"{owner.agent} has left team {owner.team_name!r} while you waited"
        raise NoSuchMember(what, "see `atm members`", error.path) from None


def _show(session: Session, owner: Recipient, mail: ShownMail) -> None:
    if session.as_json:
        session.heed()
        mail.begun = mail.messages
        session.print_json(_as_json(owner, mail))
    else:
        from atm.ui.cli.mail.view import show_mail

        show_mail(session, owner, mail)


def _as_json(owner: Recipient, mail: ShownMail) -> dict[str, object]:
    return {
        "action": "read",
        "team": owner.team_name,
        "agent": owner.agent,
        "count": len(mail.messages),
        "marked": mail.marked,
        "malformed_rows": mail.malformed,
        "messages": [message_json(message, in_doubt=mail.is_doubted(message)) for message in mail.messages],
    }
