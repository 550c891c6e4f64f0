"""
Places where plugins work: the whole machine, and each repository that `daemon.toml` lists.

The machine's place has the user's own settings; a repository's has its own file over them. A plugin is enabled in a
place when that place's *own* file says so: what is enabled for the machine is not started once more for every
repository. Nothing here raises: what cannot be read is told, and stays as it was.

The daemon serves everybody on the machine, so the variables of the shell that started it (`ATM_TEAM`, `ATM_CONFIG` …)
change nothing here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from atm.config import Setting, Settings, open_file, read_file, read_repository
from atm.core.errors import BadSetting
from atm.core.untrusted_text import shell_word
from atm.files.formats.layout import REPO_FILES, Layout
from atm.files.formats.settings_text import NotSettings, read_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.files.formats.settings_text import Table, Value

USER_FILE, REPO_FILE = "user file", "repo file"
PLUGINS = "plugins."


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere plugins work."""

    root: str
    """The repository, or the home folder."""
    repo: str | None
    """None for the whole machine."""
    settings: Settings

    @property
    def name(self) -> str:
        """How it is called in lists and logs."""
        return self.repo or "machine"

    def enabled(self) -> list[str]:
        """Plugins that this place's own file enables."""
        own = f"{REPO_FILE if self.repo else USER_FILE} "
        found = []
        for key, setting in self.settings.all().items():
            plugin = key.removeprefix(PLUGINS).removesuffix(".enabled")
            is_plugin = key == f"{PLUGINS}{plugin}.enabled" and "." not in plugin  # else a setting of its own
            if is_plugin and is_yes(setting.value) and setting.origin.startswith(own):
                found.append(plugin)
        return sorted(found)

    def section(self, plugin: str) -> dict[str, Value]:
        """The plugin's settings as they hold here, key by key as all settings do, as plain data."""
        prefix = f"{PLUGINS}{plugin}."
        values = {key: setting.value for key, setting in self.settings.all().items() if key.startswith(prefix)}
        table: dict[str, Value] = {}
        for key, value in values.items():
            if value is not None:
                _put(table, key.removeprefix(prefix).split("."), _plain(value))
        return table


def is_yes(value: object) -> bool:
    """True, or the word: `atm config set` writes words."""
    return value is True or (isinstance(value, str) and value.casefold() == "true")


def _put(table: dict[str, Value], keys: list[str], value: Value) -> None:
    for key in keys[:-1]:
        inner = table.setdefault(key, {})
        table = inner if isinstance(inner, dict) else {}  # `a = 1` beside `a.b = 2` cannot come from one TOML file
    table[keys[-1]] = value


def _plain(value: object) -> Value:
    """TOML knows dates and times, JSON does not."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) else str(value)


def load_places(
    layout: Layout, environment: Mapping[str, str], former: Iterable[Place] = ()
) -> tuple[list[Place], list[str]]:
    """
    Every place, and what is wrong with some of them.

    A file that cannot be read says what it said before: with `former`, the places as they were, a slip of the pen in
    a settings file stops no plugin.
    """
    loading = _Loading(layout, {place.repo: place for place in former})
    home = environment.get("ATM_HOME") or environment.get("HOME") or environment.get("USERPROFILE")
    loading.add_machine(_slashes(os.path.abspath(home)) if home else layout.config_root)
    for repo in loading.repositories(environment):
        loading.add_repository(repo)
    return loading.places, loading.problems


class _Loading:
    """One pass over all files."""

    def __init__(self, layout: Layout, former: dict[str | None, Place]) -> None:
        self._layout = layout
        self._former = former
        self._users: dict[str, Setting] = {}
        self.places: list[Place] = []
        self.problems: list[str] = []

    def add_machine(self, home: str) -> None:
        path = self._layout.settings
        found = self._read(path, USER_FILE) if os.path.exists(path) else {}
        former = self._former.get(None)
        if found is None and former is not None:
            self._users = {k: s for k, s in former.settings.all().items() if s.origin.startswith(USER_FILE)}
        else:
            self._users = found or {}
        files = [path] if os.path.exists(path) else []
        self.places.append(Place(home, None, Settings(self._users, files, None, home)))

    def add_repository(self, repo: str) -> None:
        if not os.path.isdir(repo):
            self.problems.append(f"{repo} is listed in {self._layout.daemon_settings}, but there is no such folder")
            return
        file = self._file_of(repo)
        found = self._read_repository(file) if file else {}
        files = [path for path in (self._layout.settings, file) if path and os.path.exists(path)]
        self.places.append(Place(repo, repo, Settings({**self._users, **found}, files, file, repo)))

    def _file_of(self, repo: str) -> str | None:
        there = [f"{repo}/{name}" for name in REPO_FILES if os.path.isfile(f"{repo}/{name}")]
        self.problems += [f"{path} is ignored, because there is {there[0]} too" for path in there[1:]]
        return there[0] if there else None

    def _read_repository(self, path: str) -> dict[str, Setting]:
        """What the user has said yes to (D25). A changed byte, also a slip of the pen, and its plugins stop."""
        try:
            repo = read_repository(self._layout, path)
        except BadSetting as error:
            self.problems.append(str(error))
            return {}
        if repo.owner is not None:
            self.problems.append(f"{path} is not read: it belongs to another user ({repo.owner})")
        if repo.ignored:
            look = f"atm trust --show {shell_word(path)}"
            self.problems.append(f"{path} is not trusted, so nothing in it counts; look at it: {look}")
        return {key: Setting(value, f"{REPO_FILE} {path}") for key, value in repo.values.items()}

    def _read(self, path: str, label: str) -> dict[str, Setting] | None:
        try:
            return {key: Setting(value, f"{label} {path}") for key, value in read_file(path).items()}
        except BadSetting as error:
            self.problems.append(str(error))
            return None

    def repositories(self, environment: Mapping[str, str]) -> list[str]:
        """The paths in `daemon.toml`, each once; those known before if it cannot be read."""
        path = self._layout.daemon_settings
        if not os.path.exists(path):
            return []
        try:
            listed = listed_repositories(read_daemon_settings(path))
        except BadSetting as error:
            self.problems.append(str(error))
            return [repo for repo in self._former if repo is not None]
        found: dict[str, str] = {}
        for given in listed:
            repo = _expanded(given, environment)
            if repo is None:
                self.problems.append(f"{path}: repos: {given!r} is not an absolute path")
            else:
                found.setdefault(os.path.realpath(repo), repo)
        return list(found.values())


def read_daemon_settings(path: str) -> Table:
    """`daemon.toml` as it stands. Raises BadSetting."""
    try:
        with open(path, encoding="utf-8", opener=open_file) as file:
            return read_settings(file.read())
    except OSError as error:
        raise BadSetting(f"{path}: {error.strerror}", "check its permissions", path) from None
    except (NotSettings, UnicodeDecodeError) as error:
        raise BadSetting(f"{path} is not a settings file: {error}", "mend that line", path) from None


def listed_repositories(table: Table) -> list[str]:
    """`repos = ["/path", …]` or `[[repos]] path = "/path"`. Anything else is given as it stands, to be refused."""
    repos = table.get("repos", [])
    items = repos if isinstance(repos, list) else [repos]
    return [str(item.get("path", "")) if isinstance(item, dict) else str(item) for item in items]


def _expanded(given: str, environment: Mapping[str, str]) -> str | None:
    home = environment.get("HOME") or environment.get("USERPROFILE") or ""
    path = home + given[1:] if given == "~" or given.startswith(("~/", "~\\")) else given
    return _slashes(os.path.normpath(path)) if os.path.isabs(path) and "\0" not in path else None


def _slashes(path: str) -> str:
    return path.replace(os.sep, "/")
