"""`atm init`: enter our hooks and our MCP server in the settings of agent CLIs, look at them, take them out again."""

from __future__ import annotations

from dataclasses import replace

from atm.core.untrusted_text import one_line, shell_words
from atm.team.rules.team import AGENT
from atm.ui.cli.arguments import MANY, Args, Command, Option
from atm.vendors.settings import KINDS, USER, WITHOUT_SERVER
from atm.vendors.settings_files import settings_of, with_hooks_of_ours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.setup.ports import VendorFiles
    from atm.setup.services.planning import SetupOrder
    from atm.ui.cli.session import Session
    from atm.ui.cli.setup.view import Doing
    from atm.vendors.settings import SettingsOf, Surroundings

COMMAND = Command(
    "init",
    "set up agent CLIs, so that mail reaches them by itself",
    text="Shows which files would change, and asks. Hooks and the MCP server are entered in the settings of Claude "
    "Code, Codex, Gemini CLI, OpenCode and Antigravity CLI (by its documentation; never tried). Everything else in "
    "these files stays as it is, and --remove leaves them as they were.\n"
    "Exit code 3 if no agent CLI is found, 2 if some of the files could not be changed, 1 if you said no.",
    options=(
        Option(
            "--vendor",
            value="NAME",
            kind=MANY,
            help=f"only these: {', '.join(with_hooks_of_ours())} (default: all that are here)",
        ),
        Option("--user", help="in your own settings, for all projects (default)"),
        Option("--project", help="in the settings of this repository"),
        Option("--no-mcp", help="only the hooks, not the MCP server"),
        Option("--check", help="only look; exit code 1 if something is missing or out of date"),
        Option("--remove", help="take out again what is ours"),
        Option("--dry-run", help="show what would change, and write nothing"),
        Option("--diff", help="show every line that changes, and not only which files"),
        Option("--yes", "-y", help="write without being asked; without a terminal nobody is asked"),
        Option("--crew", help="write a commented crew.toml for `atm up --crew` instead, in this folder"),
    ),
    examples=("atm init", "atm init --dry-run", "atm init --vendor claude,codex --project", "atm init --remove"),
)

REFUSED, NOTHING = 1, 3
NO_SERVER = "the MCP server is left out: this atm was installed without its extra `mcp`"


def execute(args: Args, session: Session) -> int:
    if args.flag("crew"):
        from atm.ui.cli.setup.crew_file import write_crew

        return write_crew(session)
    from atm.setup.services.planning import SetupOrder, check, detect
    from atm.ui.cli.setup.view import Doing, names_of, scope_of, show_standing
    from atm.wiring.setup import build_vendor_files

    known = with_hooks_of_ours()
    remove, scope, project = args.flag("remove"), scope_of(args), session.settings.root
    files = build_vendor_files(session.layout, session.environment, session.settings)
    vendors = names_of(args, "vendor", known) or (list(known) if remove else list(detect(files, project)))
    if not vendors:
        return _say_nothing_found(session, files)
    # A server that cannot start would be an error message at every start of every agent.
    left_out = not remove and not files.can_serve() and not args.flag("no_mcp")
    order = SetupOrder(WITHOUT_SERVER if left_out or args.flag("no_mcp") else KINDS, remove)
    notes = (_no_server(),) if left_out else ()
    doing = Doing("init", scope, remove, args.flag("dry_run"), notes, is_short=not args.flag("diff"))
    if args.flag("check"):
        return show_standing(session, doing, check(files, vendors, scope, project, order))
    return _change(session, files, vendors, doing, order, is_said=args.flag("yes"))


def set_up(session: Session, vendors: list[str]) -> int:
    """For whoever was asked already: `atm init --vendor …` in the user's own settings."""
    from atm.setup.services.planning import SetupOrder
    from atm.ui.cli.setup.view import Doing
    from atm.wiring.setup import build_vendor_files

    files = build_vendor_files(session.layout, session.environment, session.settings)
    kinds, notes = (KINDS, ()) if files.can_serve() else (WITHOUT_SERVER, (_no_server(),))
    doing = Doing("init", USER, notes=notes, is_short=True)
    return _change(session, files, vendors, doing, SetupOrder(kinds, False), is_said=True)


def _no_server() -> str:
    from atm.ui.views.extras import extra_command

    return f"{NO_SERVER}; {extra_command('mcp')}, then `atm init` again"


def _change(
    session: Session, files: VendorFiles, vendors: list[str], doing: Doing, order: SetupOrder, *, is_said: bool
) -> int:
    from atm.setup.services.planning import apply, plan
    from atm.ui.cli.asking import can_ask, said_yes_to
    from atm.ui.cli.setup.view import changed_files, file_lines, show_changes

    scope = doing.scope
    changes = plan(files, vendors, scope, session.settings.root, order)
    todo = changed_files(changes)
    asks = bool(todo) and not doing.dry_run and not is_said and can_ask(session)
    if asks:
        shown = "\n".join(file_lines(session, replace(doing, dry_run=True), todo))
        if not said_yes_to(f"{shown}\n\nWrite this? (--diff shows every line)"):
            session.print("Nothing was changed.")
            return REFUSED
    if not doing.dry_run:
        changes = apply(files, changes, order)
    code = show_changes(session, doing, changes, lambda changed: _next_steps(files, changed, scope))
    if asks and not doing.remove and code == 0:
        _offer_more(session)
    return code


def _offer_more(session: Session) -> None:
    """What makes it complete, for a person who is at it anyway."""
    from atm.ui.cli.asking import said_yes_to
    from atm.wiring.daemon import find_daemon

    may_start = session.may_start_daemon and find_daemon(session.layout) is None
    if may_start and said_yes_to("\nStart the daemon? It wakes agents that are idle."):
        session.need_daemon("idle agents to wake")
        session.print("the daemon runs" if find_daemon(session.layout) is not None else "no daemon runs")
    _offer_message(session)


def _offer_message(session: Session) -> None:
    """To an agent of the team that is meant here, if there is one."""
    from atm.core.errors import AtmError
    from atm.mail.services.posting import Draft
    from atm.mail.services.sending import send
    from atm.team.services.choosing import choose_team
    from atm.team.services.registry import find_team
    from atm.ui.cli.asking import said_yes_to

    try:
        named = session.home_team() or choose_team(session.room, session.whereabouts).team
        team = find_team(session.room, named)
        agent = next((one.name for one in team.members if one.kind == AGENT), "")
        if not agent or not said_yes_to(f"Send {one_line(agent)} a test message?"):
            return
        me = session.settings.text("core.identity")
        sent = send(session.room, team.name, agent, Draft(sender=me, text="A test of atm: did this reach you?"))
    except AtmError as error:
        session.warn(f"Warning: no test message: {error}")
        return
    session.print(f"sent to {one_line(agent)}; when it was shown: atm receipts {shell_words(sent.message_id[:8])}")


def _say_nothing_found(session: Session, files: VendorFiles) -> int:
    places = files.places(session.settings.root)
    known = with_hooks_of_ours()
    looked = {name: [*settings_of(name).programs, *_traces(settings_of(name), places)] for name in known}
    lines = ["No agent CLI was found here. Looked for:"]
    lines += [f"  {known[name].title:<15} {one_line(', '.join(words))}" for name, words in looked.items()]
    lines.append("Name one to set it up all the same: atm init --vendor claude")
    session.tell({"action": "init", "vendors": [], "files": [], "looked_for": looked}, "\n".join(lines))
    return NOTHING


def _traces(known: SettingsOf, places: Surroundings) -> list[str]:
    root = known.root(places)
    return ([f"{root}/{name}" for name in known.evidence] or [root]) if root else []


def _next_steps(files: VendorFiles, vendors: set[str], scope: str) -> list[str]:
    from atm.ui.cli.setup.view import words_about_the_path

    known = [vendor for name, vendor in with_hooks_of_ours().items() if name in vendors]
    titles = ", ".join(vendor.title for vendor in known)
    lines = ["Next:", f"  Restart what runs of these, they read their hooks at the start: {titles}."]
    lines += [f"  {line}" for vendor in known for line in settings_of(vendor.name).after_hooks(scope)]
    lines.append("  Tell each agent who it is: ATM_TEAM and ATM_IDENTITY in its environment,")
    lines.append("  or core.default_team and core.identity in its repository's .atm.toml, after `atm trust`.")
    lines.append("  `atm up claude:ann` starts one that knows it; `atm daemon start` wakes others.")
    return [*lines, *words_about_the_path(files, scope)]
