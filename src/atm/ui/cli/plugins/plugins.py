"""`atm plugins`: which there are, where they work, how they fare, and making a new one."""

from __future__ import annotations

from atm.ui.cli.arguments import Args, Argument, Command, Option
from atm.ui.cli.log_view import OPTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

_NAME = Argument("name", "the plugin's name")
_REPO = Option("--repo", value="PATH", help="in this repository (`.` for the one here), instead of the whole machine")

LIST = Command(
    "plugins list",
    "plugins that are installed or enabled, and how they fare",
    text="The state is the running daemon's; without a daemon no plugin runs.",
    examples=("atm plugins list", "atm plugins list --json"),
)
INFO = Command(
    "plugins info",
    "everything about one plugin",
    arguments=(_NAME,),
    examples=("atm plugins info webhook",),
)
ENABLE = Command(
    "plugins enable",
    "let the daemon run a plugin",
    text=(
        "Writes `enabled = true` into the plugin's section of your settings, or of a repository's. A repository is "
        "also put on the daemon's list (daemon.toml). Comments and everything else in these files stay."
    ),
    arguments=(_NAME,),
    options=(_REPO,),
    examples=("atm plugins enable digest", "atm plugins enable webhook --repo ."),
)
DISABLE = Command(
    "plugins disable",
    "let the daemon stop a plugin",
    arguments=(_NAME,),
    options=(_REPO,),
    examples=("atm plugins disable digest",),
)
LOGS = Command(
    "plugins logs",
    "what a plugin and the daemon said about its work",
    text="Also what it printed. Exit code 3: no log.",
    arguments=(_NAME,),
    options=tuple(option for option in OPTIONS if option.key != "source"),
    examples=("atm plugins logs webhook -n 100", "atm plugins logs webhook --follow"),
)
NEW = Command(
    "plugins new",
    "write a package with a small plugin of your own, and its test",
    arguments=(Argument("name", "its name: a-z, 0-9 and -"),),
    options=(Option("--into", value="DIR", help="where the new folder goes (default: here)"),),
    examples=("atm plugins new greeter", "atm plugins new greeter --into ~/code"),
)
COMMAND = Command(
    "plugins",
    "what the daemon can do more: list, enable, write your own",
    default="list",
    subcommands=(LIST, INFO, ENABLE, DISABLE, LOGS, NEW),
    examples=("atm plugins", "atm plugins enable digest", "atm plugins new greeter"),
)

MODULES = {
    "plugins list": "showing",
    "plugins info": "showing",
    "plugins logs": "showing",
    "plugins enable": "changing",
    "plugins disable": "changing",
    "plugins new": "making",
}


def execute(args: Args, session: Session) -> int:
    """Only the module of that verb is imported."""
    verb = args.command.name
    module = __import__(f"atm.ui.cli.plugins.{MODULES[verb]}", fromlist=["VERBS"])
    code: int = module.VERBS[verb](args, session)
    return code


def daemon_states(session: Session) -> list[dict[str, object]] | None:
    """How every plugin fares, from the running daemon; None if none runs."""
    from atm.wiring.daemon import ask_daemon

    answer = ask_daemon(session.layout, "plugins")
    return [{**one} for one in answer if isinstance(one, dict)] if isinstance(answer, list) else None
