"""
Git where it changes something, or looks at files: with everything off by which a repository could name a program.

What the user's own settings name (global, system, the command line) runs as always. What the repository's settings name
does not (D25): filters, text converters, merge drivers, hooks. The one exception are the filters of git-lfs in exactly
the words of `git lfs install`, because its files would be of no use otherwise. They never fetch anything.

There is a moment between reading the settings and running git. Whoever can write the repository's settings then could
as well write them for the next command that the user types; this is no wall against them.
"""

from __future__ import annotations

import os
import re
import shutil
import time

from atm.core.work_errors import GitTrouble, commit_gone
from atm.git.adapters.asking import start_git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from atm.git.adapters.asking import GitOutput

QUICK, LONG = 60.0, 900.0
"""Seconds: for a question, and for what writes or reads a whole tree."""

OURS = {
    "submodule.recurse": "false",  # a sub-module has settings of its own, which nobody has looked at
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "log.showSignature": "false",
    "core.sshCommand": "false",
    "core.editor": "false",
    "core.splitIndex": "false",
    "i18n.commitEncoding": "UTF-8",
    "i18n.logOutputEncoding": "UTF-8",
    "advice.detachedHead": "false",
}
"""Settings for every command here, beside those that are always switched off."""

OFF = {
    ("filter", "clean"): "",
    ("filter", "smudge"): "",
    ("filter", "process"): "",
    ("diff", "command"): "",
    ("diff", "external"): "",
    ("diff", "textconv"): "cat",
    ("merge", "driver"): "false",  # an empty one would count as a merge that went well
    ("hook", "command"): "false",
    ("hook", "event"): "",
}
"""Settings that name a program, and what takes their place."""

BESIDE = {"filter": ("required", "false"), "hook": ("enabled", "false")}
"""Set together with them: a filter that does nothing may not be required."""

LFS = {
    "filter.lfs.clean": ("git-lfs clean -- %f",),
    "filter.lfs.smudge": ("git-lfs smudge -- %f", "git-lfs smudge --skip -- %f"),
    "filter.lfs.process": ("git-lfs filter-process", "git-lfs filter-process --skip"),
    "filter.lfs.required": ("true", "false"),
}
LFS_PROGRAMS = ("lfs.extension.", "lfs.customtransfer.", "lfs.standalonetransferagent")
"""By these a repository names programs to git-lfs itself."""

BUSY = re.compile(
    r"\.lock': File exists|could not lock|[Uu]nable to lock|failed to read [^\n]*worktrees/|"
    r"could not open '[^\n']*worktrees/[^\n']*' for reading|could not create (leading )?director[^\n]*No such file"
)
"""Another git is at it just now. Also two that make or remove worktrees at one moment see halves of each other."""

TRIES, FIRST_NAP, LONGEST_NAP = 14, 0.02, 1.0
"""About eight seconds together."""


class GitSetting:
    """One line of git's settings, and whose it is."""

    __slots__ = ("is_the_repositorys", "key", "value")

    def __init__(self, scope: str, key: str, value: str) -> None:
        self.is_the_repositorys = scope in ("local", "worktree")
        self.key = key
        self.value = value


class Git:
    """Git for one repository, or for one working tree of it."""

    __slots__ = ("_folder", "_more", "_settings", "_where", "common", "git_dir", "sleep", "work_tree")

    def __init__(
        self,
        folder: str = "",
        *,
        git_dir: str = "",
        work_tree: str = "",
        common: str = "",
        more: Mapping[str, str] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.git_dir = git_dir
        """Given, git does not look for it: what lies in the working tree cannot lead it elsewhere."""
        self.work_tree = work_tree
        self.common = common
        """The repository of a worktree. Given, git does not believe the file in which the worktree says so."""
        self._folder = folder or work_tree
        self._where = [f"--git-dir={git_dir}"] if git_dir else []
        self._where += [f"--work-tree={work_tree}"] if work_tree else []
        self._more = more or {}
        """Settings beside ours."""
        self._settings: list[GitSetting] | None = None
        self.sleep = sleep

    def with_more(self, more: Mapping[str, str], work_tree: str = "") -> Git:
        """The same repository with settings of ours on top. Its own were read a moment ago, for the same work."""
        made = Git(git_dir=self.git_dir, work_tree=work_tree, common=self.common, more=more, sleep=self.sleep)
        made._settings = self._settings
        return made

    @property
    def settings(self) -> list[GitSetting]:
        """All that counts here, read once; the last of each key wins."""
        if self._settings is None:
            done = self._start(("config", "--list", "--show-scope", "--null"), b"", {}, QUICK)
            if done.code != 0:
                raise refusal(("config",), done)
            self._settings = list(_settings_in(done.out))
        return self._settings

    def setting(self, key: str) -> str:
        """By its key in small letters; empty if it is not set."""
        return next((each.value for each in reversed(self.settings) if each.key == key), "")

    def is_on(self, key: str) -> bool:
        return self.setting(key).lower() in ("true", "yes", "on", "1")

    def is_repository(self) -> bool:
        """Can git use it at all? Nothing is read of its settings yet."""
        return self._start(("rev-parse", "--git-dir"), b"", {}, QUICK).code == 0

    def run(
        self, *words: str, stdin: bytes = b"", facts: Mapping[str, str] | None = None, seconds: float = QUICK
    ) -> GitOutput:
        """Whatever comes of it. Where another git is at work, this one waits, for seconds and not for ever."""
        surroundings = {**calm_surroundings(self.settings, self._more), **(facts or {})}
        nap = FIRST_NAP
        for _ in range(TRIES):
            done = self._start(words, stdin, surroundings, seconds)
            if done.code in (0, None) or not BUSY.search(text_of(done.errors)):
                break
            self.sleep(nap * (0.5 + int.from_bytes(os.urandom(1), "big") / 512))
            nap = min(nap * 1.7, LONGEST_NAP)
        return done

    def need(
        self, *words: str, stdin: bytes = b"", facts: Mapping[str, str] | None = None, seconds: float = QUICK
    ) -> str:
        """What it says; raises GitTrouble if it does not do it."""
        done = self.run(*words, stdin=stdin, facts=facts, seconds=seconds)
        if done.code != 0:
            raise refusal(words, done, self._folder or self.git_dir)
        return text_of(done.out)

    def ask(self, *words: str) -> str:
        """One line; empty if there is no such thing."""
        done = self.run(*words)
        return text_of(done.out).rstrip("\n") if done.code == 0 else ""

    def commit_of(self, name: str) -> str:
        """The commit that a name means here; empty if it means none."""
        return self.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")

    def _start(self, words: Iterable[str], stdin: bytes, facts: Mapping[str, str], seconds: float) -> GitOutput:
        told = {**facts, "LC_ALL": "C", **({"GIT_COMMON_DIR": self.common} if self.common else {})}
        folder = self._folder or ("/" if self.git_dir else "")  # the folder that this process is in may be gone
        return start_git(folder, *self._where, *words, seconds=seconds, stdin=stdin, facts=told)


def text_of(data: bytes) -> str:
    """File names can be any bytes. These come back as they were."""
    return os.fsdecode(data)


def names_in(said: str) -> list[str]:
    """What git separated by NUL."""
    return [name for name in said.split("\0") if name]


_GONE = re.compile(
    r"(?:bad object|unable to read tree|not a valid object name:?|unable to find) \(?([0-9a-f]{40,64})\b"
)
"""How git names an object by its full id that is not in the repository."""


def refusal(words: Iterable[str], done: GitOutput, path: str = "") -> GitTrouble:
    """The error about a git that failed. An object that git removed has an error of its own, with the way out."""
    said = [line.strip() for line in done.errors.decode("utf-8", "replace").splitlines() if line.strip()]
    told = next((line for line in said if line.startswith(("fatal:", "error:"))), said[-1] if said else "no word")
    if gone := _GONE.search(told):
        return commit_gone(gone[1], path)
    verb = " ".join([*words][:2])
    remedy = "see what git says about it, mend that, and try again"
    if ".lock'" in told:
        remedy = "if no git is running there, remove the lock that it names"
    return GitTrouble(f"git {verb}: {told.removeprefix('fatal: ').removeprefix('error: ')}", remedy, path)


def _settings_in(listing: bytes) -> Iterable[GitSetting]:
    words = text_of(listing).split("\0")
    for scope, told in zip(words[::2], words[1::2], strict=False):
        key, equals, value = told.partition("\n")
        yield GitSetting(scope, key, value if equals else "true")


def calm_surroundings(settings: list[GitSetting], more: Mapping[str, str]) -> dict[str, str]:
    """The environment in which a git of ours runs: settings, and no program of a folder that PATH names as `.`."""
    given = os.environ.get("GIT_CONFIG_COUNT", "")
    begin = int(given) if given.isdecimal() else 0
    wanted = {**OURS, **more, **programs_off(settings, has_lfs=shutil.which("git-lfs") is not None)}
    facts = {"GIT_CONFIG_COUNT": str(begin + len(wanted)), "GIT_LFS_SKIP_SMUDGE": "1"}
    for number, (key, value) in enumerate(wanted.items(), start=begin):
        # Not by `-c`: a filter may be called `a=b`, and `-c` would read another key.
        facts |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return {**facts, "PATH": os.pathsep.join(each for each in path if os.path.isabs(each))}


def programs_off(settings: list[GitSetting], *, has_lfs: bool) -> dict[str, str]:
    """Settings that take the place of those by which the repository names programs."""
    uses_lfs = has_lfs and not any(each.is_the_repositorys and each.key.startswith(LFS_PROGRAMS) for each in settings)
    own = {each.key: each.value for each in settings if not each.is_the_repositorys}
    off: dict[str, str] = {}
    for each in settings:
        if each.key in LFS and (not uses_lfs or (each.is_the_repositorys and each.value not in LFS[each.key])):
            off |= _off_by_key(each.key, own if uses_lfs else {})
        elif each.key not in LFS and each.is_the_repositorys:
            off |= _off_by_key(each.key, own)
    return off


def _off_by_key(key: str, own: Mapping[str, str]) -> dict[str, str]:
    """The user's own value where there is one, or nothing that runs."""
    section, _, rest = key.partition(".")
    name, dot, last = rest.rpartition(".")
    nothing = OFF.get((section, last))
    if nothing is None:
        return {}
    off = {key: own.get(key, nothing)}
    if dot and section in BESIDE:
        other, value = BESIDE[section]
        off[f"{section}.{name}.{other}"] = own.get(f"{section}.{name}.{other}", value)
    return off


def switched_off(settings: list[GitSetting]) -> list[str]:
    """The repository's filters that do not run, for people who wonder why their files look different."""
    off = programs_off(settings, has_lfs=shutil.which("git-lfs") is not None)
    return sorted({key.split(".", 1)[1].rpartition(".")[0] for key in off if key.startswith("filter.")})
