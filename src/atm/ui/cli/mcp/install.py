"""
`atm mcp install`: enter the MCP server in the settings of agent programs, look at it, take it out again.

The same machinery as `atm init`, for one kind of entry, with names if they are given, and for editors too. What is
imported at the top is light: the table is read on every `atm mcp`.
"""

from __future__ import annotations

from atm.core.errors import UsageError
from atm.ui.cli.arguments import MANY, Args, Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.setup.ports import VendorFiles
    from atm.ui.cli.session import Session
    from atm.vendors.server_entries import Identity

_CLIENTS = "claude, codex, gemini, agy, opencode, cursor, vscode"
_ROLES = ("teammate", "lead", "human", "observer")
"""These two as `domain.vendor_setup` and `ui.mcp.tool` have them, whose imports cost more than `atm mcp` may."""

COMMAND = Command(
    "mcp install",
    "enter the MCP server in the settings of an agent program",
    text="Everything else in the file stays as it is, comments too, and --remove leaves it as it was.\n"
    "In your own settings the server has no name: ATM_TEAM and ATM_IDENTITY in each agent's environment say who it is, "
    "or the .atm.toml of its repository. In a project's settings --team, --as and --role can name one agent.\n"
    "Exit code 2 if some of the files could not be changed.",
    options=(
        Option("--client", value="NAME", kind=MANY, help=f"which programs: {_CLIENTS}"),
        Option("--user", help="in your own settings, for all projects (default)"),
        Option("--project", help="in the settings of this repository"),
        Option("--team", "-t", value="TEAM", help="with --project: the team that the agent belongs to"),
        Option("--as", value="NAME", help="with --project: whom the agent acts as"),
        Option(
            "--role",
            value="ROLE",
            choices=_ROLES,
            help="with --project: what it may do at most (default: the roster's)",
        ),
        Option("--check", help="only look; exit code 1 if it is missing or out of date"),
        Option("--remove", help="take it out again (without --client: of all programs)"),
        Option("--dry-run", help="show what would change, and write nothing"),
    ),
    examples=(
        "atm mcp install --client claude,codex",
        "atm mcp install --client cursor --project --team backend --as bob",
        "atm mcp install --client vscode --check",
        "atm mcp install --remove",
    ),
)
"""For `COMMAND.subcommands` of `atm mcp`; `run` does it."""

NO_SERVER = "this atm was installed without its extra `mcp`, so the server cannot start yet"


def run(session: Session, args: Args) -> int:
    from atm.setup.services.planning import SetupOrder, apply, check, plan
    from atm.ui.cli.setup.view import Doing, scope_of, show_changes, show_standing
    from atm.vendors.settings import SERVER
    from atm.wiring.setup import build_vendor_files

    scope, project = scope_of(args), session.settings.root
    clients, identity = _clients(args), _identity(args, scope)
    files = build_vendor_files(session.layout, session.environment, session.settings)
    order = SetupOrder((SERVER,), args.flag("remove"), identity)
    notes = (_no_server(),) if not order.remove and not files.can_serve() else ()
    doing = Doing("mcp install", scope, order.remove, args.flag("dry_run"), notes)
    if args.flag("check"):
        return show_standing(session, doing, check(files, clients, scope, project, order))
    changes = plan(files, clients, scope, project, order)
    if not doing.dry_run:
        changes = apply(files, changes, order)
    return show_changes(session, doing, changes, _next_steps(files, scope, identity))


def _no_server() -> str:
    from atm.ui.views.extras import extra_command

    return f"{NO_SERVER}: {extra_command('mcp')}"


def _clients(args: Args) -> list[str]:
    from atm.ui.cli.setup.view import names_of
    from atm.vendors.settings_files import clients

    known = clients()
    named = names_of(args, "client", known)
    if not named and not args.flag("remove"):
        raise UsageError("--client is missing", f"choose from {', '.join(known)}")
    return named or list(known)


def _identity(args: Args, scope: str) -> Identity | None:
    """The names that were given, checked; None if there are none."""
    from atm.vendors.server_entries import Identity
    from atm.vendors.settings import PROJECT

    given = [f"--{name}" for name in ("team", "as", "role") if args.given(name)]
    if not given:
        return None
    if args.flag("remove"):
        raise UsageError(f"{given[0]} has no meaning with --remove", "leave it out")
    if scope != PROJECT:
        raise UsageError(
            f"{given[0]} was given, but your own settings are those of all your agents",
            "use --project, or let ATM_TEAM and ATM_IDENTITY in each agent's environment say who it is",
        )
    identity = Identity(args.text("team") or "", args.text("as") or "", args.text("role") or "")
    if len(identity.words) != 2 * len(given):
        raise UsageError("a name that was given is empty", "leave the option out, or give a name")
    return identity


def _next_steps(files: VendorFiles, scope: str, identity: Identity | None) -> Callable[[set[str]], list[str]]:
    from atm.ui.cli.setup.view import words_about_the_path
    from atm.vendors.settings import PROJECT
    from atm.vendors.settings_files import clients, settings_of

    def steps(changed: set[str]) -> list[str]:
        lines = ["Next:", "  Restart what is running: servers are started at the beginning of a session."]
        for name, client in clients().items():
            where, words = settings_of(name).after_server
            if name in changed and words and where in ("", scope):
                lines.append(f"  {client.title} {words}")
        if identity is None or not identity.member:
            lines.append("  Tell each agent who it is: ATM_TEAM and ATM_IDENTITY in its environment,")
            lines.append("  or core.default_team and core.identity in its repository's .atm.toml, after `atm trust`.")
        elif scope == PROJECT:
            lines.append(f"  Every agent that reads these files acts as {identity.member}: one agent to a repository.")
        return [*lines, *words_about_the_path(files, scope)]

    return steps
