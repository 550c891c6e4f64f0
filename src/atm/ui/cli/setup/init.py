"""`atm init`: enter our hooks and our MCP server in the settings of agent CLIs, look at them, take them out again."""

from __future__ import annotations

from atm.domain.delivery.moments import AGY, CODEX, GEMINI
from atm.domain.setup.hooks import KINDS, KNOWN, PROJECT, WITHOUT_SERVER
from atm.domain.untrusted_text import one_line
from atm.ui.cli.arguments import MANY, Args, Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.setup.hooks import Vendor
    from atm.ports.setup import VendorFiles
    from atm.ui.cli.session import Session

COMMAND = Command(
    "init",
    "set up agent CLIs, so that mail reaches them by itself",
    text="Enters hooks and the MCP server in the settings of Claude Code, Codex, Gemini CLI, Antigravity CLI and\n"
    "OpenCode. Everything else in these files stays as it is, and --remove leaves them as they were.\n"
    "Exit code 3 if no agent CLI is found, 2 if some of the files could not be changed.",
    options=(
        Option(
            "--vendor", value="NAME", kind=MANY, help=f"only these: {', '.join(KNOWN)} (default: all that are here)"
        ),
        Option("--user", help="in your own settings, for all projects (default)"),
        Option("--project", help="in the settings of this repository"),
        Option("--no-mcp", help="only the hooks, not the MCP server"),
        Option("--check", help="only look; exit code 1 if something is missing or out of date"),
        Option("--remove", help="take out again what is ours"),
        Option("--dry-run", help="show what would change, and write nothing"),
        Option("--crew", help="write a commented crew.toml for `atm up --crew` instead, in this folder"),
    ),
    examples=("atm init", "atm init --dry-run", "atm init --vendor claude,codex --project", "atm init --remove"),
)

NOTHING = 3
NO_SERVER = "the MCP server is left out: this atm was installed without its extra `mcp`"


def execute(args: Args, session: Session) -> int:
    if args.flag("crew"):
        from atm.ui.cli.setup.crew_file import write_crew

        return write_crew(session)
    from atm.services.setup.planning import SetupOrder, apply, check, detect, plan
    from atm.ui.cli.setup.view import Doing, names_of, scope_of, show_changes, show_standing
    from atm.wiring.setup import build_vendor_files

    remove, scope, project = args.flag("remove"), scope_of(args), session.settings.root
    files = build_vendor_files(session.layout, session.environment, session.settings)
    vendors = names_of(args, "vendor", KNOWN) or (list(KNOWN) if remove else list(detect(files, project)))
    if not vendors:
        return _say_nothing_found(session, files)
    # A server that cannot start would be an error message at every start of every agent.
    left_out = not remove and not files.can_serve() and not args.flag("no_mcp")
    order = SetupOrder(WITHOUT_SERVER if left_out or args.flag("no_mcp") else KINDS, remove)
    doing = Doing("init", scope, remove, args.flag("dry_run"), (NO_SERVER,) if left_out else ())
    if args.flag("check"):
        return show_standing(session, doing, check(files, vendors, scope, project, order))
    changes = plan(files, vendors, scope, project, order)
    if not doing.dry_run:
        changes = apply(files, changes, order)
    return show_changes(session, doing, changes, lambda changed: _next_steps(files, changed, scope))


def _say_nothing_found(session: Session, files: VendorFiles) -> int:
    places = files.places(session.settings.root)
    looked = {name: [*vendor.programs, *_traces(vendor, places.root_of(name))] for name, vendor in KNOWN.items()}
    lines = ["No agent CLI was found here. Looked for:"]
    lines += [f"  {KNOWN[name].title:<15} {one_line(', '.join(words))}" for name, words in looked.items()]
    lines.append("Name one to set it up all the same: atm init --vendor claude")
    session.tell({"action": "init", "vendors": [], "files": [], "looked_for": looked}, "\n".join(lines))
    return NOTHING


def _traces(vendor: Vendor, root: str) -> list[str]:
    return ([f"{root}/{name}" for name in vendor.evidence] or [root]) if root else []


def _next_steps(files: VendorFiles, vendors: set[str], scope: str) -> list[str]:
    from atm.ui.cli.setup.view import words_about_the_path

    lines = ["Next:", "  Restart agents that are running: most read their hooks at the start."]
    if CODEX in vendors:
        lines.append(
            "  Codex runs a new or changed hook only after you trusted it: type /hooks in codex and look at them."
        )
    if GEMINI in vendors and scope == PROJECT:
        lines.append(
            "  Gemini CLI asks before it runs hooks of a project, and runs none in a folder it does not trust."
        )
    if AGY in vendors:
        lines += _words_about_agy(scope)
    lines.append("  Tell each agent who it is: ATM_TEAM and ATM_IDENTITY in its environment,")
    lines.append("  or core.default_team and core.identity in its repository's .atm.toml, after `atm trust`.")
    return [*lines, *words_about_the_path(files, scope)]


def _words_about_agy(scope: str) -> list[str]:
    """On projects: google-antigravity/antigravity-cli has open reports, 1036 and 1052, and people for whom it works."""
    lines = ["  Antigravity CLI does not say when it reads no hooks from a file: type /hooks in agy and look for atm."]
    if scope == PROJECT:
        lines.append("  It reads those of a project in a folder that it trusts; if it does not, use --user instead.")
    else:
        lines.append("  The .atm.toml of its workspace counts where agy names one; the variables below always do.")
    return lines
