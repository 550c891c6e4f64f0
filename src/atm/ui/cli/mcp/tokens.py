"""`atm mcp token`: new, list, revoke."""

from __future__ import annotations

from atm.access.services import issue, revoke
from atm.core.errors import UsageError
from atm.core.names import check_sender
from atm.core.untrusted_text import one_line
from atm.files.formats.times import to_iso
from atm.team.rules.team import is_boss
from atm.team.services.registry import find_team
from atm.team.services.standing import check_person
from atm.wiring.daemon import build_access_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.access.rules import AccessToken
    from atm.core.plain import Plain
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session


def run(args: Args, session: Session) -> int:
    return {"new": _new, "revoke": _revoke}.get(args.command.word, _list)(args, session)


def _new(args: Args, session: Session) -> int:
    check_person(session.room, "make tokens")
    team = find_team(session.room, session.team(args))
    named = args.text("as")
    if named is None:
        raise UsageError("--as is missing: a token speaks for one member", "add --as NAME")
    member = team.member(check_sender(named))
    if member is None and not is_boss(team, named):
        raise team.lacks(named)
    name, role = member.name if member is not None else named, args.text("role") or ""
    tokens = build_access_tokens(session.layout)
    secret, made = issue(tokens, session.room, team=team, member=name, role=role)
    said = f"{secret}\n  token {made.id} for {name}@{team.name}; it is shown this once. Whoever has it is {name}."
    session.tell({"action": "mcp token new", "token": secret, **_facts(made)}, said)
    return 0


def _revoke(args: Args, session: Session) -> int:
    check_person(session.room, "revoke tokens")
    gone = revoke(build_access_tokens(session.layout), args.need("id"))
    session.tell({"action": "mcp token revoke", **_facts(gone)}, f"revoked {gone.id}, of {gone.member}@{gone.team}")
    return 0


def _list(args: Args, session: Session) -> int:
    tokens = [token for token in build_access_tokens(session.layout).all() if args.may_mean(token.team)]
    if session.as_json:
        session.print_json({"tokens": [_facts(token) for token in tokens]})
        return 0
    if not tokens:
        session.print("there are no tokens; make one with `atm mcp token new --as NAME`")
        return 0
    from atm.ui.cli.render import when_epoch
    from atm.ui.views.tables import table

    rows = [
        [
            one_line(token.id),
            one_line(f"{token.member}@{token.team}"),
            token.role or "-",
            when_epoch(session, token.created),
        ]
        for token in tokens
    ]
    session.print("\n".join(table(["id", "for", "at most", "made"], rows, drop=(3, 2))))
    return 0


def _facts(token: AccessToken) -> dict[str, Plain]:
    return {
        "id": token.id,
        "team": token.team,
        "member": token.member,
        "role": token.role,
        "created": to_iso(token.created),
    }
