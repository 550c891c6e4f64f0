"""`atm deliver`: what the daemon's delivery does, once and now."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.untrusted_text import one_line
from atm.delivery.services.pushing import Pushed, push
from atm.mail.services.mailroom import find_recipient
from atm.mail.services.spooling import drain_on_the_way
from atm.mail.services.tracing import trace
from atm.team.services.registry import find_team
from atm.ui.cli.arguments import TEAM, Args, Argument, Command, Option
from atm.ui.cli.waiting import Spinner
from atm.ui.views.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.delivery.services.pushing import Channels
    from atm.team.rules.team import Team
    from atm.ui.cli.session import Session

COMMAND = Command(
    "deliver",
    "put waiting mail before the agents now",
    text=(
        "For each member with unread mail: through its own server, its terminal, or by telling an idle agent that mail "
        "waits; where its hooks or its owner will show it, nothing is done and the reason is said. The daemon does the "
        "same by itself. Exit code 3: nobody has unread mail."
    ),
    arguments=(Argument("agent", "only this member", required=False, complete="member"),),
    options=(Option("--message", value="ID", help="only to whom this message waits for"), TEAM),
    examples=("atm deliver", "atm deliver ann --json", "atm deliver --message 4f0c19"),
)


def execute(args: Args, session: Session) -> int:
    from atm.wiring.delivery import build_channels

    named = args.text("agent")
    team_name = session.address(named, args)[1] if named else session.team(args)
    team = find_team(session.room, team_name)
    drain_on_the_way(session.room)
    channels = build_channels(session.settings)
    names = [find_recipient(session.room, team.name, session.address(named, args)[0]).agent] if named else team.names
    if args.text("message"):
        names = [one.agent for one in trace(session.room, args.need("message"), [team.name])]
    with Spinner(session, "putting mail before the agents"):
        done = [pushed for name in names if (pushed := _push(session, channels, team, name)) is not None]
    if session.as_json:
        session.print_json({"action": "deliver", "team": team.name, "members": [_as_json(one) for one in done]})
    elif done:
        rows = [[one_line(one.member), one.outcome, one_line(one.evidence)] for one in done]
        session.print("\n".join(table(["member", "outcome", "how, or why not"], rows)))
    else:
        session.print("nobody has unread mail")
    return 0 if done else 3


def _push(session: Session, channels: Channels, team: Team, name: str) -> Pushed | None:
    """One member's trouble is no other's."""
    try:
        return push(session.room, channels, team, name, grace=0.0)
    except AtmError as error:
        return Pushed(team.name, name, "failed", str(error))


def _as_json(pushed: Pushed) -> dict[str, object]:
    return {"member": pushed.member, "outcome": pushed.outcome, "evidence": pushed.evidence, "ids": pushed.ids}
