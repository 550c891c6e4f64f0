"""`atm plugins enable` and `disable`: one key in a settings file, everything else in it stays."""

from __future__ import annotations

import os

from atm import config
from atm.core.errors import BadSetting, RequestError
from atm.core.untrusted_text import one_line
from atm.files.formats.json_record import encode
from atm.files.formats.layout import REPO_FILES
from atm.files.formats.settings_text import NotSettings, read_settings
from atm.teamd.places import is_yes, listed_repositories, load_places, read_daemon_settings
from atm.teamd.plugins.discovery import check_installed, check_name
from atm.ui.cli.setup.consent import change_file
from atm.wiring.files import change_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.files.formats.settings_text import Table
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

AUTOMATIC = "a running daemon takes it over by itself"


def _enable(args: Args, session: Session) -> int:
    name = args.need("name")
    check_installed(name)
    return _set(args, session, name, True)


def _disable(args: Args, session: Session) -> int:
    name = args.need("name")
    problem = check_name(name)
    if problem:
        raise RequestError(problem, "see `atm plugins list`")
    return _set(args, session, name, False)


def _set(args: Args, session: Session, name: str, enabled: bool) -> int:
    given = args.text("repo")
    repo = _repository(given) if given is not None else None
    path = session.layout.settings if repo is None else _repo_file(repo)
    changed = _current(path, name) is not enabled
    if changed:
        change_file(session, path, lambda text: with_enabled(text, path, name, enabled), is_repos=repo is not None)
    listed = _put_on_the_list(session, repo) if repo is not None and enabled else False
    verb = "enabled" if enabled else "disabled"
    words = f"{name} is {verb} in {path}" if changed else f"{name} is {verb} in {path} already"
    more = f"; {repo} is on the daemon's list now" if listed else ""
    result: dict[str, object] = {"action": f"plugins {args.command.word}", "plugin": name, "enabled": enabled}
    result |= {"file": path, "repo": repo, "changed": changed, "listed": listed}
    session.tell(result, one_line(f"{words}{more}; {AUTOMATIC}" if changed or listed else words))
    if enabled:
        session.need_daemon("plugins")
    return 0


def _repository(given: str) -> str:
    """The repository around a folder, or that folder itself."""
    folder = os.path.abspath(os.path.expanduser(given))
    if not os.path.isdir(folder):
        raise RequestError(f"{given!r} is not a folder", "give the folder of a repository")
    return config.find_repo_file(folder)[0]


def _repo_file(repo: str) -> str:
    there = [f"{repo}/{name}" for name in REPO_FILES if os.path.isfile(f"{repo}/{name}")]
    return there[0] if there else f"{repo}/{REPO_FILES[0]}"


def _current(path: str, name: str) -> bool | None:
    """What the file says now; None if nothing. A file that is wrong is an error: we never write over it."""
    if not os.path.exists(path):
        return False
    value = config.read_file(path).get(f"plugins.{name}.enabled", False)
    return is_yes(value) if isinstance(value, bool) or is_yes(value) else None


def with_enabled(text: str, path: str, name: str, enabled: bool) -> str:
    """The file's text with one key set; comments and everything else stay."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        plugins = document.setdefault("plugins", tomlkit.table(is_super_table=True))
        plugins.pop(f"{name}.enabled", None)  # as `atm config set` writes it
        plugins.setdefault(name, tomlkit.table())["enabled"] = enabled
        changed = tomlkit.dumps(document)
    except (TOMLKitError, TypeError, AttributeError) as error:
        raise BadSetting(f"{path}: [plugins.{name}] cannot be set: {error}", "mend the file by hand", path) from None
    return _checked(changed, path, name, enabled)


def _checked(text: str, path: str, name: str, enabled: bool) -> str:
    """Read it again before it is written: a settings file is not the place for surprises."""
    try:
        plugins = read_settings(text).get("plugins")
    except NotSettings as error:
        plugins = {"error": str(error)}
    section = plugins.get(name) if isinstance(plugins, dict) else None
    if not isinstance(section, dict) or section.get("enabled") is not enabled:
        raise BadSetting(f"{path}: [plugins.{name}] cannot be set", "set `enabled` by hand", path)
    return text


def _put_on_the_list(session: Session, repo: str) -> bool:
    """Let the daemon look at a repository; False if it does already."""
    places, _ = load_places(session.layout, session.environment)
    if any(place.repo and os.path.realpath(place.repo) == os.path.realpath(repo) for place in places):
        return False
    path = session.layout.daemon_settings
    change_settings(session.layout, path, lambda text: with_repository(text, path, repo))
    return repo in listed_repositories(read_daemon_settings(path))


def with_repository(text: str, path: str, repo: str) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    known = _table(text, path).get("repos")
    if known is None:
        return f"repos = [{encode(repo)}]\n{text}"  # before any section, or it would belong to that
    try:
        document = tomlkit.parse(text)
        repos = document["repos"]
        as_tables = isinstance(known, list) and bool(known) and all(isinstance(one, dict) for one in known)
        repos.append(tomlkit.table().add("path", repo) if as_tables else repo)
        changed = tomlkit.dumps(document)
    except (TOMLKitError, TypeError, AttributeError, ValueError) as error:
        raise BadSetting(f"{path}: repos cannot be changed: {error}", f"add {repo} by hand", path) from None
    if repo not in listed_repositories(_table(changed, path)):
        raise BadSetting(f"{path}: repos cannot be changed", f"add {repo} by hand", path)
    return changed


def _table(text: str, path: str) -> Table:
    try:
        return read_settings(text)
    except NotSettings as error:
        raise BadSetting(f"{path} is not a settings file: {error}", "mend that line", path) from None


VERBS = {"plugins enable": _enable, "plugins disable": _disable}
