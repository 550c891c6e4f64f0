"""
The daemon's log as people see it: `12:30:01 warn  spool  3 messages wait  team=crew`. For `atm logs` and
`atm daemon logs`.

What is in a log was said by agents, plugins and networks: it is shown as text, never obeyed (D22).
"""

from __future__ import annotations

from atm.core.untrusted_text import one_line
from atm.files.formats.json_record import encode
from atm.files.formats.times import from_iso
from atm.ui.cli.arguments import NUMBER, WHOLE, Option
from atm.ui.cli.render import Style
from atm.ui.views.style import BOLD, DIM, RED, YELLOW
from atm.wiring.daemon import follow_daemon_log, has_daemon_log, read_daemon_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

    Record = dict[str, Plain]

LEVELS = ("debug", "info", "warn", "error")
COLOURS = {"debug": (DIM,), "warn": (YELLOW,), "error": (RED, BOLD)}

LONGEST = 2000
"""Characters of a text, and of a field, that are shown. `--json` shows all."""

NOTHING = 3

_ON_THE_LINE = ("v", "ts", "level", "source", "text", "pid", "host")

OPTIONS = (
    Option("--follow", "-f", help="go on showing new lines, until interrupted"),
    Option("--level", value="LEVEL", choices=LEVELS, help="only lines of this level and above"),
    Option("--source", value="SOURCE", help="only lines of this part: spool, plugin:NAME, or plugin for all of them"),
    Option("--since", value="TIME", help="only what came after this: ISO 8601, or 30m, 2h, 7d"),
    Option("--limit", "-n", value="N", kind=WHOLE, default=50, help="at most so many lines, the newest (50)"),
    Option("--for", value="SECONDS", kind=NUMBER, help="with --follow: end after so many seconds"),
)
"""What a command that shows the log takes."""


def show_log(args: Args, session: Session) -> int:
    """A command with `OPTIONS`, from the words of the user to the exit code."""
    path = session.layout.daemon_log
    if not has_daemon_log(session.layout):
        session.warn(f"the daemon has not run here: there is no log at {path}")
        if session.as_json and not args.flag("follow"):
            session.print_json({"action": "logs", "path": path, "count": 0, "lines": []})
        return NOTHING
    return _follow(args, session) if args.flag("follow") else _show(args, session)


def _show(args: Args, session: Session) -> int:
    found = read_daemon_log(
        session.layout,
        last=args.whole("limit"),
        level=args.text("level"),
        source=args.text("source"),
        since=_since(args, session),
    )
    if session.as_json:
        session.print_json(
            {"action": "logs", "path": session.layout.daemon_log, "count": len(found), "lines": list(found)}
        )
    else:
        style = Style(session)
        for record in found:
            session.print(log_line(style, record), is_folded=False)
    return 0


def _follow(args: Args, session: Session) -> int:
    clock, limit = session.room.clock, args.number("for")
    end = None if limit is None else clock.monotonic() + limit
    style = Style(session)
    for record in follow_daemon_log(
        session.layout,
        last=args.whole("limit"),
        level=args.text("level"),
        source=args.text("source"),
        since=_since(args, session),
        ended=lambda: end is not None and clock.monotonic() >= end,
    ):
        if session.as_json:
            session.print_json(record)
        else:
            session.print(log_line(style, record), is_folded=False)
        session.flush()
    return 0


def _since(args: Args, session: Session) -> float | None:
    from atm.ui.cli.since import since

    return since(args, session)


def log_line(style: Style, record: Record) -> str:
    """One record as one line, safe for a terminal."""
    level = one_line(str(record.get("level")))[:8]
    codes = COLOURS.get(level, ())
    fields = [f"{_short(key)}={_value(value)}" for key, value in record.items() if key not in _ON_THE_LINE]
    parts = [
        f"{style(_time(record), DIM)} {style(f'{level:<5}', *codes)}",
        style(_short(str(record.get("source"))), BOLD),
        style(_short(str(record.get("text"))), *codes),
        *([style(" ".join(fields), DIM)] if fields else []),
    ]
    return "  ".join(parts)


def _time(record: Record) -> str:
    """The time of the day here; with the day, unless that is today."""
    from datetime import datetime

    at = from_iso(str(record.get("ts")))
    if at is None:
        return "unknown "
    when = datetime.fromtimestamp(at).astimezone()
    today = when.date() == datetime.now().astimezone().date()
    return when.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S")


def _value(value: Plain) -> str:
    """As it stands, or as JSON where it could be taken for something else."""
    if isinstance(value, str) and value and not any(c.isspace() or c in "\"'=" for c in value):
        return _short(value)
    return _short(encode(value))


def _short(text: str) -> str:
    return one_line(text if len(text) <= LONGEST else f"{text[:LONGEST]} …")
