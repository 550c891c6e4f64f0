"""`atm send`: one message to one member."""

from __future__ import annotations

import sys

from atm.core.errors import BadMessage, UsageError
from atm.core.names import check_known_name, same_name
from atm.mail.rules.messages import INFO, INTENTS, LARGEST_TEXT, PLAIN, SENT_BY_HAND
from atm.mail.services.posting import Draft, Posted
from atm.mail.services.sending import broadcast, plan, send
from atm.team.rules.team import EVERYBODY
from atm.ui.cli.arguments import MANY, NUMBER, TEAM, Args, Argument, Command, Option
from atm.wiring.files import interruptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

URGENCY = (
    Option("--urgent", help="put it before the agent even if that keeps it from ending its turn"),
    Option("--require-ack", help="tell the lead, then a human, if it is not acknowledged in time"),
    Option("--ack-within", value="MINUTES", kind=NUMBER, help="the time for that (default: delivery.ack_minutes)"),
)

SENDER = Option(
    "--from", "--as", "--identity", value="NAME", help="the sender (default: ATM_IDENTITY, settings, human)"
)
KIND = Option("--kind", value="KIND", choices=INTENTS, help="what it is meant as (default: info)")

TYPE = (
    Option("--type", value="TYPE", choices=SENT_BY_HAND, help="what it is, for programs that read it (default: text)"),
    Option("--meta", value="K=V", kind=MANY, help="what a message of that type carries; see docs/messages.md"),
)


COMMAND = Command(
    "send",
    "send a message to a member",
    arguments=(
        Argument("agent", "member, member@team, lead, '*' for everybody, or an alias", complete="member"),
        Argument("message", "the text; - reads it from standard input", required=False),
    ),
    options=(
        TEAM,
        Option("--file", "-f", value="PATH", help="refer to a file; its content is never put into the message"),
        Option("--add-dir", value="DIR", help="allow --file to name files in this folder too"),
        Option("--stdin", help="read the text from standard input"),
        Option("--summary", value="TEXT", help="a summary instead of the first words"),
        Option("--offline-action", value="TEXT", help='tag for a recipient who is away; "" for none'),
        SENDER,
        KIND,
        *TYPE,
        Option("--reply-to", value="ID", help="the message that this one answers"),
        *URGENCY,
        Option("--dry-run", help="show what would be written, and write nothing"),
    ),
    examples=(
        'atm send ann "the parser is done"',
        "git diff --stat | atm send ann@backend --stdin --from bob",
        'atm send ann "please review" --file notes/plan.md',
        'atm send lead "no schema yet" --type status_update --meta state=blocked',
        'atm send ann "stop: main is broken" --urgent --require-ack --ack-within 5',
    ),
)


def execute(args: Args, session: Session) -> int:
    given = args.need("agent")
    if given.partition("@")[0] == EVERYBODY:
        return send_to_everybody(args, session, _team_of_all(args, session, given))
    agent, team = session.address(given, args)
    letter = write_letter(args, session, team, agent)
    if letter.reply_to:
        from atm.team.services.standing import check_member

        check_member(session.room, letter.home or team, letter.sender.partition("@")[0], "answer this")
    if args.text("file"):
        refer_to_file(args, session, letter, agent, team)
    if args.flag("dry_run"):
        return _show_plan(session, plan(session.room, team, agent, letter))
    sent = send(session.room, team, agent, letter)
    watch_for_ack(session, letter)
    report_warnings(session, sent)
    asks = session.question_before(sent.team, sent.agent)
    session.tell({**as_json(sent), **({"asks": asks} if asks else {})}, _words(sent))
    if asks:
        session.warn(_question_in_words(sent, asks))
    return 0


def send_to_everybody(args: Args, session: Session, team: str) -> int:
    """A copy for each member but the sender: `atm broadcast`."""
    from atm.ui.cli.mail.copies import show_copies

    letter = write_letter(args, session, team, EVERYBODY)
    message_id, copies = broadcast(session.room, team, letter)
    watch_for_ack(session, letter)
    for sent in copies:
        report_warnings(session, sent)
        if asks := session.question_before(sent.team, sent.agent):
            session.warn(_question_in_words(sent, asks))
    return show_copies(session, message_id, copies)


def _team_of_all(args: Args, session: Session, given: str) -> str:
    """The team of `*` or `*@team`. What a broadcast has no use for is said, not dropped."""
    for option in ("file", "reply_to", "dry_run"):
        if args.given(option):
            said = f"--{option.replace('_', '-')} is for one recipient, and {EVERYBODY!r} is everybody"
            raise UsageError(said, "name one member")
    named, flagged = given.partition("@")[2], args.text("team")
    if named and flagged and not same_name(named, flagged):
        raise UsageError(f"{given!r} names one team and --team another", "leave one of them out")
    return check_known_name(named, "team") if "@" in given else session.team(args)


def write_letter(args: Args, session: Session, team: str, agent: str) -> Draft:
    """The sender, the text and the tag for a recipient who is away: flag, then settings, then default."""
    sender = session.identity(args, "from")
    from atm.mail.services.mailroom import home_of, sender_address

    home = session.home_team() or home_of(session.room, sender, team)
    if home is not None and not same_name(home, team):
        sender = sender_address(session.room, sender, home, team)
    action = args.text("offline_action")
    letter = Draft(
        sender=sender,
        text=read_text(args),
        summary=clean(args.text("summary") or "") or None,
        action=session.settings.text("messaging.offline_action") if action is None else clean(action),
        reply_to=args.text("reply_to"),
        home=home,
        is_urgent=args.flag("urgent"),
        ack_minutes=ack_minutes(args, session),
        intent=args.text("kind") or INFO,
    )
    if args.given("type") or args.given("meta"):
        from atm.mail.services.typed.letters import give_type

        pairs = [clean(pair) for pair in args.many("meta")]
        give_type(session.room, team, agent, letter, args.text("type") or PLAIN, pairs)
    return letter


def watch_for_ack(session: Session, letter: Draft) -> None:
    """The daemon must be there to notice that no acknowledgement comes."""
    if letter.ack_minutes is not None:
        session.need_daemon("an acknowledgement that does not come")


def ack_minutes(args: Args, session: Session) -> float | None:
    """How long an acknowledgement may take, if one is wanted."""
    minutes = args.number("ack_within")
    if minutes is None and not args.flag("require_ack"):
        return None
    minutes = session.settings.number("delivery.ack_minutes") if minutes is None else minutes
    if not 0 < minutes <= 10_080:
        raise UsageError(f"an acknowledgement within {minutes:g} minutes cannot be had", "give 1 to 10080 (a week)")
    return minutes


def read_text(args: Args) -> str:
    _give_back_text(args)
    given, piped = args.text("message"), args.flag("stdin")
    if given == "-":
        given, piped = None, True
    if piped and given is not None:
        raise UsageError("both a message and --stdin were given", "leave one of them out")
    if piped and args.text("file"):
        raise UsageError("--stdin and --file cannot be combined", "leave one of them out")
    if piped:
        return _piped()
    if given is None and not args.text("file") and (args.text("type") or PLAIN) == PLAIN:
        from atm.ui.cli.asking import answer_to, at_terminal

        given = answer_to("message:") if at_terminal() and not args.flag("json") else ""
        if given:
            return clean(given)
        raise UsageError("there is no message", 'write one: atm send ann "hello", or use --stdin or --file')
    return clean(given or "")


def _give_back_text(args: Args) -> None:
    """`--meta state=idle "all done"`: the list has eaten the text."""
    words = args.many("meta")
    if args.text("message") is None and len(words) > 1 and "=" not in words[-1]:
        args.values["message"], args.values["meta"] = words[-1], words[:-1]


def _piped() -> str:
    if sys.stdin is None:
        raise UsageError(
            "standard input is closed, so there is no text in it", "pipe the text in, or give it as a word"
        )
    interruptions.until_readable(sys.stdin)
    with interruptions:
        data = sys.stdin.buffer.read(LARGEST_TEXT + 1)
    if len(data) > LARGEST_TEXT:
        raise BadMessage(
            f"standard input holds more than the {LARGEST_TEXT:,} bytes that a message may have",
            "put it in a file and send a reference with --file",
        )
    return data.decode("utf-8", "replace").rstrip("\n")


def clean(text: str) -> str:
    """Bytes of argv that are no UTF-8 become marks: a JSON file cannot hold them."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text


def refer_to_file(args: Args, session: Session, letter: Draft, agent: str, team: str) -> None:
    """Add a file reference to the text, after asking both sides' settings."""
    from atm.mail.services.mailroom import find_addressee
    from atm.wiring.mail import build_references

    to = find_addressee(session.room, team, agent)
    references = build_references(session.layout, session.settings, session.environment)
    note = references.note_for(args.need("file"), to, added=args.text("add_dir"), copy=not args.flag("dry_run"))
    letter.text = f"{letter.text}\n\n{note}" if letter.text else note


def as_json(sent: Posted) -> dict[str, object]:
    result: dict[str, object] = {
        "action": "send",
        "team": sent.team,
        "agent": sent.agent,
        "message_id": sent.message_id,
        "seq": sent.seq,
        "outcome": sent.outcome,
    }
    if sent.message.type != PLAIN:
        result["type"] = sent.message.type
    if sent.merged:
        result["merged_messages"] = sent.merged
    if sent.spool_path:
        result["spool_path"] = sent.spool_path
        result["reason"] = sent.reason
    if sent.offline:
        result["offline"] = True
    if sent.warnings:
        result["warnings"] = [*sent.warnings]
    return result


def report_warnings(session: Session, sent: Posted) -> None:
    if sent.offline:
        tagged = " Message will be queued with call-to-action." if sent.tagged else ""
        session.warn(f"Warning: Agent {sent.agent} appears offline.{tagged}")
    for warning in sent.warnings:
        session.warn(f"Warning: {warning}")


def _words(sent: Posted) -> str:
    where = f"{sent.agent}@{sent.team}"
    if sent.outcome == "queued":
        return f"queued for {where}  {sent.message_id[:8]}  {sent.spool_path}"
    if sent.outcome == "held":
        return f"held for {where} until the lead is back  {sent.message_id[:8]}"
    merged = f", {sent.merged} row{'s' * (sent.merged > 1)} of another writer kept" if sent.merged else ""
    number = "not in the ledger" if sent.seq is None else f"seq {sent.seq}"
    return f"sent to {where}  {sent.message_id[:8]}  {number}{merged}"


def _question_in_words(sent: Posted, asks: str) -> str:
    from atm.core.untrusted_text import one_line
    from atm.ui.views.team.attention import answer_command
    from atm.vendors.dialogs import asked_in_words

    answer = answer_command(sent.agent, sent.team)
    return f"{one_line(sent.agent)} reads it later: {asked_in_words(one_line(asks))}; {answer}"


def _show_plan(session: Session, sent: Posted) -> int:
    if session.as_json:
        session.print_json({**as_json(sent), "outcome": "dry_run", "dry_run": True, "message": sent.message.text})
        return 0
    from atm.core.untrusted_text import many_lines, one_line

    session.print(f"would write to {one_line(f'{sent.agent}@{sent.team}')}:")
    session.print(f"  from: {one_line(sent.message.sender)}")
    session.print(f"  summary: {one_line(sent.message.summary or '')}")
    for line in many_lines(sent.message.text).split("\n"):
        session.print(f"  {line}")
    return 0
