"""
Which repository git would use in a folder, without starting git: a permission hook has no time for that.

Git takes the first folder upwards that has a `.git`, or that looks like a repository itself. An agent that may write
files can make either; so only the repository of its own worktree is trusted, and only without settings that name
programs.
"""

from __future__ import annotations

import os

from atm.git.rules.program_settings import setting_with_a_program

LONGEST_SETTINGS = 1 << 20
"""Bytes of a repository's settings that are read: larger ones are not understood."""


def why_git_differs(folder: str, root: str, anchor: str = "", home: str = "") -> str:
    """
    Why git in this folder would not use the repository of the worktree as it is; empty if it would.

    `anchor`: a folder of the worktree in which the agent was started, where that is known: the root that the folder of
    a call suggests may be a repository that the agent has made.
    """
    if not os.path.isdir(folder):
        return f"{folder} is not there yet, and could become a repository"
    top, bare = _top(folder)
    if bare:
        return f"{bare} looks like a repository of its own"
    own, _ = _top(anchor or root)
    if not top:
        within = f"{os.path.realpath(folder)}/".startswith(f"{os.path.realpath(anchor or root).rstrip('/')}/")
        return "" if within else f"{folder} is outside of the worktree"
    if top != own:
        return f"{top} is a repository of its own"
    outer, _ = _top(os.path.dirname(top)) if not anchor and top != "/" else ("", "")
    if outer and outer != os.path.realpath(home or "/"):
        return f"{top} is a repository within another one ({outer})"
    return _why_not_plain(top)


def _top(folder: str) -> tuple[str, str]:
    """The first folder upwards with a `.git`; or one that looks like a repository itself."""
    at = os.path.realpath(folder)
    while True:
        if os.path.lexists(f"{at}/.git"):
            return at, ""
        if os.path.lexists(f"{at}/HEAD") and any(
            os.path.lexists(f"{at}/{name}") for name in ("objects", "refs", "config")
        ):
            return "", at
        if at == "/":
            return "", ""
        at = os.path.dirname(at)


def _why_not_plain(top: str) -> str:
    """Why the settings of the repository are not harmless."""
    try:
        git = _git_folder(top)
        common = _common_folder(git)
        for folder in (os.path.realpath(git), os.path.realpath(common)):
            if folder.startswith(f"{top}/") and folder != f"{top}/.git":
                return f"the repository is in {folder}, where agents may write"
        if any(name.startswith("sharedindex.") for name in os.listdir(git)):
            return f"the index in {git} is split, and is not read"
        for path in (f"{common}/config", f"{git}/config.worktree"):
            setting = _setting(path)
            if setting:
                return f"git runs a program that the repository names ({setting} in {path})"
        return _why_submodules_differ(top, git, common)
    except (OSError, ValueError) as error:
        return f"the settings of the repository cannot be read ({error})"


def _why_submodules_differ(top: str, git: str, common: str) -> str:
    """Git starts itself in repositories that the index names, with their settings."""
    for name in _linked_repositories(f"{git}/index"):
        path = f"{top}/{name}"
        if not os.path.lexists(f"{path}/.git"):
            continue
        inner = os.path.realpath(_git_folder(path))
        if not inner.startswith(f"{os.path.realpath(common)}/modules/"):
            return f"{path} is a repository of its own, which git looks into"
        setting = _setting(f"{inner}/config", is_submodule=True)
        if setting:
            return f"git runs a program that a submodule names ({setting} in {inner}/config)"
    return ""


LINK, BEFORE_NAME = b"\x00\x00\xe0\x00", 38
"""The mode of an entry of git's index that stands for a repository; bytes from there to its name."""


def _linked_repositories(index: str) -> list[str]:
    """Raises ValueError for the kind of index that shortens names."""
    try:
        with open(index, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return []
    found: list[str] = []
    at = data.find(LINK, 12)
    while at >= 0:
        if data[4:8] == b"\x00\x00\x00\x04":
            raise ValueError(f"{index} is of a version that atm does not read, and may name submodules")
        start = at + BEFORE_NAME
        found.append(os.fsdecode(data[start : data.find(b"\x00", start)]))
        at = data.find(LINK, at + 1)
    return found


def _git_folder(top: str) -> str:
    path = f"{top}/.git"
    if os.path.isdir(path):
        return path
    with open(path, encoding="utf-8") as file:
        said = file.read(LONGEST_SETTINGS)
    if not said.startswith("gitdir: "):
        raise ValueError(f"{path} names no folder")
    return os.path.join(top, said.removeprefix("gitdir: ").strip())


def _common_folder(git: str) -> str:
    try:
        with open(f"{git}/commondir", encoding="utf-8") as file:
            return os.path.join(git, file.read(LONGEST_SETTINGS).strip())
    except FileNotFoundError:
        return git


def _setting(path: str, *, is_submodule: bool = False) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            text = file.read(LONGEST_SETTINGS + 1)
    except FileNotFoundError:
        return ""
    if len(text) > LONGEST_SETTINGS:
        raise ValueError(f"{path} is too large")
    return setting_with_a_program(text, is_submodule=is_submodule)


MOST_FOLDERS = 4000
"""Folders that are looked into for repositories, on the way to an answer that a hook waits for."""


def has_repository_within(root: str) -> bool:
    """Is there another repository below the worktree, or are there too many folders to tell?"""
    waiting, seen = [os.path.realpath(root)], 0
    while waiting:
        seen += 1
        if seen > MOST_FOLDERS:
            return True
        try:
            entries = [*os.scandir(waiting.pop())]
        except OSError:
            return True
        names = {entry.name for entry in entries}
        if seen > 1 and (".git" in names or ("HEAD" in names and names & {"objects", "refs", "config"})):
            return True
        waiting += [entry.path for entry in entries if entry.name != ".git" and entry.is_dir(follow_symlinks=False)]
    return False
