"""
Settings: from flags, the environment, files and defaults, with the origin of each value.

Highest first: flags, environment, the file that `ATM_CONFIG` names, the repository's file, the user's file, defaults.
Values are taken key by key. An unknown key is an error that names the nearest known one: a setting that is silently
ignored is worse than none.

A repository's file counts as far as the user has said yes to it (D25); the rest of it is as good as absent, and told.
"""

from __future__ import annotations

import errno
import os

from atm.config.known import (
    CHOICES,
    KNOWN,
    LIMITS,
    NAMES,
    NUMBER,
    POLICY,
    RULES,
    TEXT,
    TEXTS,
    WHOLE,
    YES_NO,
)
from atm.core.errors import BadName, BadSetting
from atm.core.names import check_known_name
from atm.files.formats.layout import REPO_FILES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.files.formats.layout import Layout
    from atm.files.formats.settings_text import Table, Value

    Policies = list[tuple[str, bool, dict[str, Value]]]

REPO_FILE, USER_FILE = "repo file", "user file"
FREE_SECTIONS = ("aliases", "facts", "plugins", "runtimes")
"""Sections whose keys are the user's own: short names, what a state rests on, plugins, ways to run an agent."""

SECTIONS = {*FREE_SECTIONS, *(key.partition(".")[0] for key in KNOWN)}
DEFAULT_TEAM = "core.default_team"
FROM_ENVIRONMENT = {"ATM_TEAM": DEFAULT_TEAM, "ATM_IDENTITY": "core.identity"}


class Setting:
    """One value and where it comes from."""

    __slots__ = ("origin", "passed_over", "value")

    def __init__(self, value: Value | None, origin: str, passed_over: str = "") -> None:
        self.value = value
        self.origin = origin
        self.passed_over = passed_over
        """Where more was said of a limit than may be said there."""

    @property
    def is_of_the_repo(self) -> bool:
        return self.origin.startswith(REPO_FILE)

    @property
    def is_of_the_launcher(self) -> bool:
        """Said by whoever started this process: in its environment, or in a file that this names."""
        return self.origin.startswith(("environment", "ATM_CONFIG"))

    @property
    def is_of_the_user(self) -> bool:
        return self.origin.startswith(USER_FILE)


class RepoSettings:
    """A repository's own file: whether the user has said yes to it, and what counts for nothing without that."""

    __slots__ = ("ignored", "owner", "state", "values")

    def __init__(self, state: str = "", values: dict[str, Value] | None = None, owner: int | None = None) -> None:
        self.state = state
        """As `trust.rules` names it; empty where there is no such file."""
        self.values = values or {}
        """What counts."""
        self.ignored: dict[str, Value] = {}
        """What would count with consent."""
        self.owner = owner
        """Another user, whose file was not read."""


class Settings:
    """All settings, read once and never changed."""

    __slots__ = ("_values", "files", "folder", "own_file", "policies", "repo", "repo_file", "root")

    def __init__(
        self,
        values: dict[str, Setting],
        files: list[str],
        repo_file: str | None,
        root: str,
        repo: RepoSettings | None = None,
        policies: Policies | None = None,
        *,
        own_file: str = "",
        folder: str = "",
    ) -> None:
        self._values = values
        self.files = files
        self.repo_file = repo_file
        self.root = root
        """The repository that the current folder belongs to, or that folder itself."""
        self.repo = repo or RepoSettings()
        """What the repository's file says, and how much of it counts."""
        self.policies = policies or []
        """Which files say something of approvals, whether it is the user's own, and what."""
        self.own_file = own_file
        """The user's own file, whether it exists or not; empty where no settings were read."""
        self.folder = folder
        """The folder from which a repository's file was looked for."""

    def setting(self, key: str) -> Setting:
        check_key(key)
        found = self._values.get(key)
        return found if found is not None else Setting(KNOWN[key][1] if key in KNOWN else None, "default")

    def text(self, key: str) -> str:
        value = self.setting(key).value
        return value if isinstance(value, str) else ""

    def whole(self, key: str) -> int:
        value = self.setting(key).value
        return value if isinstance(value, int) else 0

    def number(self, key: str) -> float:
        value = self.setting(key).value
        return float(value) if isinstance(value, int | float) else 0.0

    def texts(self, key: str) -> list[str]:
        """A text, or a list of them, as a list; empty texts are none."""
        value = self.setting(key).value
        found = value if isinstance(value, list) else [value]
        return [text for text in found if isinstance(text, str) and text]

    def yes(self, key: str) -> bool:
        return self.setting(key).value is True

    def alias(self, name: str) -> str | None:
        found = self._values.get(f"aliases.{name}")
        return found.value if found is not None and isinstance(found.value, str) else None

    def all(self) -> dict[str, Setting]:
        return {key: self.setting(key) for key in [*KNOWN, *sorted(k for k in self._values if k not in KNOWN)]}


def load(
    layout: Layout, environment: Mapping[str, str], cwd: str, flags: Mapping[str, str], speaker: str | None = None
) -> Settings:
    """
    Read every layer. Files that do not exist are passed over; files that are wrong are errors.

    The `speaker` is who a command's flag says it acts as: a repository may name the team of its own members.
    """
    root, repo_file = find_repo_file(cwd)
    repo = read_repository(layout, repo_file) if repo_file else RepoSettings()
    values: dict[str, Setting] = {}
    files = []
    policies: Policies = []
    for path, label in (
        (layout.settings, USER_FILE),
        (repo_file, REPO_FILE),
        (environment.get("ATM_CONFIG"), "ATM_CONFIG"),
    ):
        if path and (label == "ATM_CONFIG" or os.path.exists(path)):
            files.append(path)
            found = repo.values if label == REPO_FILE else read_file(path)
            own, policy = path == layout.settings, {key: found[key] for key in POLICY if key in found}
            policies += [(path, own, policy)] if policy else []
            for key, value in found.items():
                if key in POLICY and not own:
                    continue
                said = Setting(value, f"{label} {path}")
                values[key] = said if key not in LIMITS or own else _lower(key, values, said)
    for name, key in FROM_ENVIRONMENT.items():
        if environment.get(name):
            values[key] = Setting(environment[name], f"environment {name}")
    for key, given in flags.items():
        values[key] = Setting(given, "flag")
    if DEFAULT_TEAM in repo.ignored:
        _take_own_team(layout, repo, values, speaker, f"{REPO_FILE} {repo_file}")
    return Settings(values, files, repo_file, root, repo, policies, own_file=layout.settings, folder=cwd)


def _lower(key: str, values: dict[str, Setting], said: Setting) -> Setting:
    """A limit as a file other than the user's own says it: it counts where it is the lower one."""
    most = values.get(key) or Setting(KNOWN[key][1], "default")
    return Setting(most.value, most.origin, said.origin) if is_more(said.value, most.value) else said


def is_more(value: Value | None, than: Value | None) -> bool:
    """Of two limits; 0 is none at all."""
    if not isinstance(value, int) or not isinstance(than, int):
        return False
    return than != 0 and (value == 0 or value > than)


def read_repository(layout: Layout, path: str) -> RepoSettings:
    """A repository's file, as far as it counts. Raises BadSetting for one that is ours to read and is wrong."""
    from atm.trust.adapters import read_repo_file
    from atm.trust.rules import FOREIGN, HARMLESS, NONE, TRUSTED, kind_of

    try:
        found = read_repo_file(layout, path)
    except OSError as error:
        raise BadSetting(f"{path}: {error.strerror}", "check its permissions", path) from None
    if found.state == FOREIGN:
        return RepoSettings(FOREIGN, owner=found.owner)
    if found.state == NONE:
        raise BadSetting(f"{path} is no settings file: too large", "remove it", path)
    said = parse_file(found.content, path)
    if found.state == TRUSTED:
        return RepoSettings(TRUSTED, said)
    repo = RepoSettings(found.state, {key: value for key, value in said.items() if kind_of(key) == HARMLESS})
    repo.ignored = {key: value for key, value in said.items() if key not in repo.values}
    return repo


def _take_own_team(
    layout: Layout, repo: RepoSettings, values: dict[str, Setting], speaker: str | None, origin: str
) -> None:
    """
    Without consent a repository may name the team of whoever asks, if that has them as a member: nothing comes of it
    that could not be had anyway.
    """
    team, stronger = repo.ignored[DEFAULT_TEAM], values.get(DEFAULT_TEAM)
    named = values.get("core.identity")
    who = speaker or (named.value if named is not None else KNOWN["core.identity"][1])
    from atm.team.adapters.team_store import is_member

    if isinstance(team, str) and isinstance(who, str) and is_member(layout, team, who):
        del repo.ignored[DEFAULT_TEAM]
        if stronger is None or stronger.is_of_the_user:
            values[DEFAULT_TEAM] = Setting(team, origin)


def find_repo_file(cwd: str) -> tuple[str, str | None]:
    """The nearest settings file between here and the repository's root, and that root (else the folder itself)."""
    folder, found = cwd.replace(os.sep, "/"), None
    while True:
        if found is None:
            found = next((f"{folder}/{name}" for name in REPO_FILES if os.path.isfile(f"{folder}/{name}")), None)
        if os.path.exists(f"{folder}/.git"):
            return folder, found
        parent = folder.rpartition("/")[0]
        if not parent or parent == folder:
            here = cwd.replace(os.sep, "/")
            return here, next((f"{here}/{name}" for name in REPO_FILES if os.path.isfile(f"{here}/{name}")), None)
        folder = parent


def read_file(path: str) -> dict[str, Value]:
    """One settings file as dotted keys, each checked."""
    try:
        with open(path, "rb", opener=open_file) as file:
            return parse_file(file.read(), path)
    except OSError as error:
        raise BadSetting(f"{path}: {error.strerror}", "check the path, or unset ATM_CONFIG", path) from None


def parse_file(content: bytes, path: str) -> dict[str, Value]:
    from atm.files.formats.settings_text import NotSettings, read_settings

    try:
        table = read_settings(content.decode("utf-8").replace("\r\n", "\n"))
    except (NotSettings, UnicodeDecodeError) as error:
        raise BadSetting(f"{path} is not a settings file: {error}", "mend that line", path) from None
    for section, said in table.items():
        if isinstance(said, dict) and not said and section not in SECTIONS:
            check_key(f"{section}.", path)
    return {key: checked(key, value, path) for key, value in _dotted(table).items()}


def open_file(path: str, flags: int) -> int:
    """
    A pipe at the place of a file would be waited at for ever; one that a shell makes (`<(…)`) is meant. A home may lie
    in `/dev/shm`.
    """
    if not path.startswith(("/dev/fd/", "/dev/stdin", "/proc/")) and os.stat(path).st_mode & 0o170000 == 0o010000:
        raise OSError(errno.EINVAL, "it is a pipe and not a file", path)
    return os.open(path, flags)


def _dotted(table: Table, prefix: str = "") -> dict[str, Value]:
    flat: dict[str, Value] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= _dotted(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def check_key(key: str, path: str = "") -> str:
    if key in KNOWN or (key.partition(".")[0] in FREE_SECTIONS and "." in key):
        return key
    from atm.core.names import nearest_name

    near = nearest_name(key, list(KNOWN)) or nearest_name(key.rpartition(".")[2], [k.partition(".")[2] for k in KNOWN])
    full = next((known for known in KNOWN if near is not None and known.endswith(near)), None)
    hint = f"did you mean {full!r}?" if full else "see the known ones with `atm config list`"
    raise BadSetting(f"unknown setting {key!r}" + (f" in {path}" if path else ""), hint, path)


def checked(key: str, value: Value, path: str = "") -> Value:
    """The value, if it is of the kind that its key takes."""
    check_key(key, path)
    if key not in KNOWN:
        return value
    kind = KNOWN[key][0]
    fits = {
        TEXT: isinstance(value, str),
        YES_NO: isinstance(value, bool),
        TEXTS: isinstance(value, str) or (isinstance(value, list) and all(isinstance(v, str) for v in value)),
        RULES: isinstance(value, list) and all(isinstance(v, dict) for v in value),
        WHOLE: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
        NUMBER: isinstance(value, int | float) and not isinstance(value, bool) and value >= 0,
    }
    where = f" in {path}" if path else ""
    if not fits[kind]:
        raise BadSetting(f"{key} must be a {kind}{where}, not {value!r}", "change the value", path)
    if key in NAMES and isinstance(value, str) and value:
        try:
            check_known_name(value, NAMES[key])
        except BadName as error:
            raise BadSetting(f"{key}{where}: {error}", error.remedy, path) from None
    if key in CHOICES and value not in CHOICES[key]:
        raise BadSetting(
            f"{key} must be one of {', '.join(CHOICES[key])}{where}, not {value!r}", "change the value", path
        )
    return value
