"""`atm trust`: look at what a repository's settings ask for, and say yes to exactly that."""

from __future__ import annotations

from atm.core.errors import BadSetting
from atm.core.untrusted_text import one_line
from atm.core.work_errors import NotTrusted
from atm.team.services.standing import check_person
from atm.trust.rules import CHANGED, FOREIGN, HARMLESS, NEEDS_CONSENT, NONE, TRUSTED, UNTRUSTED
from atm.ui.cli.arguments import Args, Argument, Command, Option
from atm.ui.cli.asking import as_it_is, can_ask, said_yes_to
from atm.ui.views.tables import table
from atm.wiring.trust import (
    Examined,
    check_not_foreign,
    examine,
    give_consent,
    given_consents,
    refuse_consent,
    revoke_consent,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.trust.rules import Ask
    from atm.ui.cli.session import Session

NOTHING = 3

COMMAND = Command(
    "trust",
    "say yes to what a repository's settings ask for",
    text="Without your yes a repository's file runs nothing, speaks as nobody, sends nothing and permits nothing.\n"
    "Consent holds for one file at one place with this content: a changed byte, and it is gone.",
    arguments=(Argument("path", "a folder or a file (default: the settings file in force)", required=False),),
    options=(
        Option("--yes", "-y", help="without being asked"),
        Option("--show", help="what it asks for, and whether it is trusted"),
        Option("--revoke", help="take the yes back"),
        Option("--list", help="everything that is trusted"),
    ),
    examples=("atm trust --show", "atm trust", "atm trust ~/src/project --yes", "atm trust --revoke"),
)

STATES = {
    TRUSTED: "trusted",
    UNTRUSTED: "not trusted",
    CHANGED: "not trusted: it has changed since you said yes",
    FOREIGN: "another user's, so it is not read",
    NONE: "not there",
}


def execute(args: Args, session: Session) -> int:
    if args.flag("list"):
        return _list(session)
    if args.flag("revoke"):
        return _revoke(session, args.text("path"))
    found = examine(session.layout, args.text("path"))
    if args.flag("show") or found.state == NONE:
        return _show(session, found)
    return _trust(session, found, is_said=args.flag("yes"))


def _list(session: Session) -> int:
    listed = given_consents(session.layout)
    if session.as_json:
        names = ("path", "file", "sha256", "at", "by")
        rows = [{**{name: getattr(one, name) for name in names}, "state": state} for one, state in listed]
        session.print_json({"action": "trust", "trusted": rows})
        return 0
    if not listed:
        session.print("nothing is trusted yet; look at a repository's settings with `atm trust --show`")
        return 0
    rows_shown = [[one_line(one.file), STATES[state], one_line(one.by), one_line(one.at)] for one, state in listed]
    session.print("\n".join(table(["file", "state", "by", "since"], rows_shown, drop=(2, 3))))
    return 0


def _show(session: Session, found: Examined) -> int:
    session.tell(as_json(found, done=found.state == TRUSTED), _words(found))
    return NOTHING if found.state == NONE else 0


def _revoke(session: Session, given: str | None) -> int:
    gone = revoke_consent(session.layout, given)
    words = f"not trusted any more: {', '.join(gone)}" if gone else "nothing there was trusted"
    try:
        now = as_json(examine(session.layout, given), done=bool(gone))
    except BadSetting:  # what lies there now is no settings file
        now = {"action": "trust", "path": given, "file": gone[0] if gone else None, "state": NONE, "done": bool(gone)}
    session.tell(now, one_line(words))
    return 0 if gone else NOTHING


def _trust(session: Session, found: Examined, *, is_said: bool) -> int:
    check_person(session.room, "trust a repository")
    check_not_foreign(found)
    if not is_said and found.state != TRUSTED and not _asked(session, found):
        raise NotTrusted(f"{found.file} is not trusted", "look at it with --show, then add --yes", found.file)
    give_consent(session.layout, found)
    session.tell(as_json(examine(session.layout, found.at), done=True), one_line(f"{found.file} is trusted"))
    return 0


def _asked(session: Session, found: Examined) -> bool:
    """At a terminal: what it asks for, and the question. Elsewhere nobody is there to say yes."""
    return can_ask(session) and ask(session, found)


def ask(session: Session, found: Examined) -> bool:
    if said_yes_to(f"{_words(found)}\n\nDo you want that?"):
        return True
    refuse_consent(session.layout, found)
    return False


def _words(found: Examined) -> str:
    if found.state == NONE:
        return one_line(f"there is no settings file at {found.path}")
    lines = [one_line(f"{found.file}: {STATES[found.state]}")]
    for one in sorted(found.asks, key=_weight):
        mark = "·" if one.kind == HARMLESS else "!"
        lines.append(f"  {mark} {as_it_is(one.key)} = {as_it_is(one.value)}")
        lines += [f"      {one_line(one.sees)}"] if one.sees else []
    if not found.asks and found.state != FOREIGN:
        lines.append("  It asks for nothing.")
    if any(one.kind == NEEDS_CONSENT for one in found.asks) and found.state != TRUSTED:
        lines.append("  What is marked with ! counts only after your yes.")
    return "\n".join(lines)


def _weight(one: Ask) -> int:
    """What runs something stands next to the question: a thousand lines above it are not read."""
    runs = one.key.startswith(("hooks.", "plugins."))
    return 0 if one.kind == HARMLESS else 2 if runs else 1


def as_json(found: Examined, *, done: bool) -> dict[str, object]:
    asks = [_ask_as_json(one) for one in found.asks]
    return {
        "action": "trust",
        "path": found.path,
        "file": found.file or None,
        "sha256": found.sha256 or None,
        "state": found.state,
        "asks": asks,
        "done": done,
    }


def _ask_as_json(one: Ask) -> dict[str, object]:
    sees = {"sees": one.sees} if one.sees else {}
    return {"key": one.key, "value": one.value, "class": one.kind, **sees}
