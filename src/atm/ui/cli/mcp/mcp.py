"""`atm mcp`: the MCP server, through which agents of every vendor reach mail, board and work-sync."""

from __future__ import annotations

import os

from atm.core.errors import AtmError, UsageError
from atm.ui.cli.arguments import WHOLE, Args, Argument, Command, Option
from atm.ui.cli.mcp.install import COMMAND as INSTALL
from atm.ui.cli.session import working_folder
from atm.wiring.files import interruptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.ui.cli.session import Session
    from atm.ui.mcp.hello import IdentityClaim
    from atm.ui.mcp.stdio.early import EarlyWords

ROLES = ("teammate", "lead", "human", "observer")
_TEAM = Option("--team", "-t", value="TEAM", help="the agent's team (default: ATM_TEAM, settings, or the only one)")
_AS = Option("--as", value="NAME", help="who the agent is (default: ATM_IDENTITY or core.identity; nobody: observer)")
_ROLE = Option(
    "--role", value="ROLE", choices=ROLES, help="what it may do at most (default: ATM_ROLE, or what the roster says)"
)

TOKEN = Command(
    "mcp token",
    "tokens for `atm mcp --http`: new, list, revoke",
    default="list",
    subcommands=(
        Command(
            "mcp token new",
            "make a token for one member; it is shown this once",
            options=(_TEAM, Option("--as", value="NAME", help="the member that it speaks for"), _ROLE),
            examples=("atm mcp token new --team backend --as bob",),
        ),
        Command("mcp token list", "which tokens there are, and for whom", examples=("atm mcp token list",)),
        Command(
            "mcp token revoke",
            "make a token worthless, at once",
            arguments=(Argument("id", "which one: see `atm mcp token list`"),),
            examples=("atm mcp token revoke 3f9c2a71",),
        ),
    ),
    examples=("atm mcp token new --team backend --as bob", "atm mcp token list"),
)
COMMAND = Command(
    "mcp",
    "the MCP server for agents of every vendor",
    text=(
        "Agent CLIs start it themselves and speak to it over standard input and output. The daemon does the work (it "
        "is started if need be); without one it is done here. Who the agent is comes from these flags or the "
        "environment, never from what it says, and it gets no more than its roster entry allows."
    ),
    options=(
        _TEAM,
        _AS,
        _ROLE,
        Option("--http", help="serve streamable HTTP on this machine only, for bearers of tokens, until Ctrl-C"),
        Option("--port", value="N", kind=WHOLE, default=8765, help="the port for --http; 0 for any free one"),
    ),
    subcommands=(INSTALL, TOKEN),
    examples=("atm mcp --team backend --as bob", "atm mcp --http --port 8765"),
)


def execute(args: Args, session: Session) -> int:
    if args.command is INSTALL:
        from atm.ui.cli.mcp.install import run as run_install

        return run_install(session, args)
    if args.command.name.startswith("mcp token"):
        from atm.ui.cli.mcp.tokens import run as run_token

        return run_token(args, session)
    if args.flag("http"):
        _refuse_names(args)
        return _serve(args.whole("port") or 0, session)
    return _pump(args, session)


def _serve(port: int, session: Session) -> int:
    from atm.ui.cli.session import working_folder
    from atm.ui.views.extras import check_mcp

    check_mcp()
    from atm.ui.mcp.http.serve import HttpServer, serve

    def ready(url: str, port: int) -> None:
        session.need_daemon("changes to tell clients of")
        session.tell({"action": "mcp http", "url": url, "port": port}, f"serving {url}; stop with Ctrl-C")

    interruptions.always()
    serve(HttpServer(session.layout, session.environment, working_folder()), port, ready)
    return 0


def _pump(args: Args, session: Session) -> int:
    import select

    if not hasattr(select, "poll") or os.name == "nt":
        raise AtmError("this system has no sockets that `atm mcp` could use", "use `atm mcp --http`")
    _check_streams(session)
    from atm.ui.mcp.stdio.pump import Pump
    from atm.ui.mcp.stdio.reaching import Reaching

    def may_autostart() -> bool:
        return session.may_start_daemon

    claim = claim_of(args, session.environment)
    interruptions.always()  # it only carries; what is done is done elsewhere
    reaching = Reaching(session.layout, session.environment, claim, may_autostart, session.warn)

    def early() -> EarlyWords | None:
        from atm.ui.mcp.stdio.early import early_words

        return early_words(session.layout, claim)

    return Pump(reaching, early=early, is_own=lambda: reaching.is_own).run()


def _check_streams(session: Session) -> None:
    """A stream that is closed would be replaced by the first socket that we open, and we would talk to ourselves."""
    for number, name in enumerate(("input", "output")):
        try:
            os.fstat(number)
        except OSError:
            raise AtmError(f"standard {name} is closed", "agent programs start this; see `atm mcp install`") from None
    if os.isatty(0):
        session.warn("waiting for MCP on standard input: agent programs start this; see `atm mcp install`")


def claim_of(args: Args, environment: Mapping[str, str]) -> IdentityClaim:
    """What the launcher says: flags first, then the environment."""
    from atm.core.names import check_known_name, check_sender
    from atm.ui.mcp.hello import IdentityClaim

    team, member = args.text("team"), args.text("as")
    if team is not None:
        check_known_name(team, "team")
    if member is not None:  # an empty name is a variable that was not set, and not nobody
        check_sender(member)
    role = args.text("role") or environment.get("ATM_ROLE", "")
    if role and role not in ROLES:
        raise UsageError(f"ATM_ROLE is {role[:40]!r}", f"use one of {', '.join(ROLES)}")
    if member is None:
        from atm.wiring.delivery import environment_of_speaker

        environment = environment_of_speaker(environment)
    config = environment.get("ATM_CONFIG", "")
    return IdentityClaim(
        team=team or environment.get("ATM_TEAM", ""),
        member=member or environment.get("ATM_IDENTITY", ""),
        role=role,
        folder=working_folder(),
        config=os.path.abspath(config) if config else "",
    )


def _refuse_names(args: Args) -> None:
    """Over HTTP each request brings its own token, and the token says who it is."""
    given = [f"--{name}" for name in ("team", "as", "role") if args.given(name)]
    if given:
        raise UsageError(f"{given[0]} and --http do not go together", "make tokens: `atm mcp token new --as NAME`")
