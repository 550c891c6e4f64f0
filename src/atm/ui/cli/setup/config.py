"""`atm config`: show settings with their origin, and change them."""

from __future__ import annotations

import os

from atm import config as settings_module
from atm.config import known
from atm.core.errors import BadSetting
from atm.core.untrusted_text import one_line
from atm.files.formats.settings_edit import with_setting, without_setting
from atm.ui.cli.arguments import Args, Argument, Command, Option
from atm.ui.cli.session import working_folder
from atm.ui.cli.setup.naming import check_named
from atm.ui.views.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.config import Setting
    from atm.files.formats.settings_text import Value
    from atm.setup.rules.context import SystemContext
    from atm.ui.cli.session import Session

LIST = Command(
    "config list", "every setting, its value and where that comes from", examples=("atm config list --json",)
)
GET = Command(
    "config get",
    "one setting",
    arguments=(Argument("key", "section.name", complete="setting"),),
    examples=("atm config get core.default_team",),
)
SET = Command(
    "config set",
    "change one setting; comments and everything else in the file stay",
    text="A team, member, plugin or runtime that is not there is refused, except with --repo.",
    arguments=(Argument("key", "section.name", complete="setting"), Argument("value", "the new value")),
    options=(Option("--repo", help="in this repository's file instead of your own"),),
    examples=(
        "atm config set core.default_team backend",
        'atm config set messaging.offline_action "" --repo',
    ),
)
UNSET = Command(
    "config unset",
    "take one setting out of the file: what stands below it counts again",
    arguments=(Argument("key", "section.name", complete="setting"),),
    options=SET.own[:1],
    examples=("atm config unset core.default_team", "atm config unset messaging.offline_action --repo"),
)
COMMAND = Command(
    "config",
    "show and change settings",
    text="Highest first: flags, environment, the ATM_CONFIG file, the repository's .atm.toml, your own file, defaults.",
    subcommands=(LIST, GET, SET, UNSET),
    default="list",
    examples=("atm config", "atm config get core.identity", "atm config set core.default_team backend"),
)


def execute(args: Args, session: Session) -> int:
    verbs = {"config get": _get, "config set": _set, "config unset": _unset}
    return verbs.get(args.command.name, _list)(args, session)


def _list(args: Args, session: Session) -> int:  # noqa: ARG001 - every command has this signature
    from atm.wiring.setup import build_context

    all_of_them = session.settings.all()
    context = build_context(session.layout, session.settings, session.environment, working_folder())
    if session.as_json:
        values = {key: _as_json(session, key, setting) for key, setting in all_of_them.items()}
        session.print_json(
            {
                "action": "config",
                "settings": values,
                "files": session.settings.files,
                "context": context_json(context),
            }
        )
        return 0
    rows = [[key, _shown(setting.value), _origin(session, key, setting)] for key, setting in all_of_them.items()]
    session.print("\n".join(table(["Setting", "Value", "Origin"], rows, drop=(2,))))
    session.print("")
    for name, value in _context_lines(context):
        session.print(f"  {name:<12} {one_line(value)}")
    return 0


def _as_json(session: Session, key: str, setting: Setting) -> dict[str, object]:
    ignored = {"ignored": "untrusted"} if key in session.settings.repo.ignored else {}
    if setting.passed_over:
        ignored = {"ignored": setting.passed_over}
    return {"value": setting.value, "origin": setting.origin, **ignored}


def _origin(session: Session, key: str, setting: Setting) -> str:
    is_ignored = key in session.settings.repo.ignored
    if setting.passed_over:
        return f"{setting.origin} ({setting.passed_over} may only lower it)"
    return f"{setting.origin} (the repository's is not trusted)" if is_ignored else setting.origin


def context_json(context: SystemContext) -> dict[str, object]:
    repo, schema = context.repo, context.schema_version
    provider = repo.provider if repo else None
    return {
        "hostname": context.hostname,
        "platform": context.platform,
        "claude_root": context.claude_root,
        "root": context.root,
        "claude_version": schema.claude_version or None,
        "schema_version": schema.maturity.value,
        "repo": repo
        and {
            "name": repo.name,
            "path": repo.path,
            "remote_url": repo.remote_url,
            "provider": provider
            and {
                "kind": provider.kind,
                "host": provider.host,
                "namespace": provider.namespace,
                "project": provider.project or None,
                "repo": provider.repo,
            },
        },
    }


def _context_lines(context: SystemContext) -> list[tuple[str, str]]:
    schema, repo = context.schema_version, context.repo
    lines = [("Claude files", context.claude_root), ("workspace", context.root)]
    lines.append(
        (
            "Claude Code",
            f"{schema.claude_version} ({schema.maturity.value})" if schema.claude_version else "not found (Unknown)",
        )
    )
    if repo is not None:
        provider = f", {repo.provider.kind} {repo.provider.namespace}/{repo.provider.repo}" if repo.provider else ""
        lines.append(("repository", f"{repo.name}{provider}"))
    return lines


def _get(args: Args, session: Session) -> int:
    key = args.need("key")
    setting = session.settings.setting(key)
    if session.as_json:
        session.print_json({"action": "config", "key": key, "value": setting.value, "origin": setting.origin})
    else:
        session.print(_shown(setting.value))
    return 0


def _set(args: Args, session: Session) -> int:
    key = settings_module.check_key(args.need("key"))
    value = _meant(key, args.need("value"))
    settings_module.checked(key, value)
    path = _file(args, session)
    _check_limit(session, key, value, path)
    is_made_now = "ATM_CONFIG" in session.environment and not os.path.exists(path)  # there are no settings before it
    if not args.flag("repo") and not is_made_now:
        check_named(session, key, value, session.home_team())
    if os.path.exists(path):
        settings_module.read_file(path)  # an error here names the line; we never write over it
    from atm.ui.cli.setup.consent import change_file

    change_file(session, path, lambda text: with_setting(text, path, key, value), is_repos=args.flag("repo"))
    result: dict[str, object] = {"action": "config", "key": key, "value": value, "file": path}
    session.tell(result, f"{key} = {_shown(value)} in {path}")
    return 0


def _unset(args: Args, session: Session) -> int:
    key, path = args.need("key"), _file(args, session)
    held = settings_module.read_file(path) if os.path.exists(path) else {}
    if key not in held:
        settings_module.check_key(key)
    else:
        from atm.ui.cli.setup.consent import change_file

        change_file(session, path, lambda text: without_setting(text, path, key), is_repos=args.flag("repo"))
    said = f"{key} is not in {path} any more" if key in held else f"{key} was not in {path}"
    session.tell({"action": "config", "key": key, "value": None, "file": path, "changed": key in held}, said)
    return 0


def _check_limit(session: Session, key: str, value: Value, path: str) -> None:
    """What would not count is not written."""
    if key not in known.LIMITS or path == session.layout.settings:
        return
    own = settings_module.read_file(session.layout.settings) if os.path.exists(session.layout.settings) else {}
    most = own.get(key, known.KNOWN[key][1])
    if settings_module.is_more(value, most):
        raise BadSetting(
            f"{path} may only lower {key}, which is {_shown(most)}",
            "raise it in your own file: without --repo, and without ATM_CONFIG",
            path,
        )


def _file(args: Args, session: Session) -> str:
    if args.flag("repo"):
        return session.settings.repo_file or f"{session.settings.root}/.atm.toml"
    named = session.environment.get("ATM_CONFIG")
    return os.path.abspath(named) if named else session.layout.settings


def _meant(key: str, given: str) -> Value:
    kind = known.KNOWN[key][0] if key in known.KNOWN else known.TEXT
    if kind == known.YES_NO:
        if given.lower() not in ("true", "false"):
            raise BadSetting(f"{key} must be true or false, not {given!r}", "write true or false")
        return given.lower() == "true"
    if kind in (known.WHOLE, known.NUMBER):
        try:
            return int(given) if kind == known.WHOLE or given.isdecimal() else float(given)
        except ValueError:
            raise BadSetting(f"{key} must be a {kind}, not {given!r}", "write a number") from None
    return _guessed(given) if key.startswith("plugins.") else given


def _guessed(given: str) -> Value:
    """Nobody but the plugin knows the kinds of its settings; a number in a file is a number, and true is true."""
    if given.lower() in ("true", "false"):
        return given.lower() == "true"
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 16 else given


def _shown(value: Value | None) -> str:
    if value is None:
        return "(none)"
    if isinstance(value, list) and any(isinstance(one, dict) for one in value):
        return f"{len(value)} of them"
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if value == "" else str(value)
