"""The repository around a folder and the address of its remote, read from `.git/config`: no process is started."""

from __future__ import annotations

import os

from atm.setup.rules.context import RepoContext, provider_of

LONGEST = 1 << 20
"""Characters that are read of a file of git's."""


def find_repo(folder: str) -> RepoContext | None:
    """The repository that a folder lies in, or None."""
    at = os.path.realpath(folder).replace(os.sep, "/")
    while not os.path.exists(f"{at}/.git"):
        parent = at.rpartition("/")[0]
        if not parent or parent == at:
            return None
        at = parent
    url = _remote_url(_git_folder(at))
    name = at.rpartition("/")[2]
    provider = provider_of(url) if url else None
    return RepoContext((provider.repo if provider else "") or name, at, url, provider)


def _git_folder(root: str) -> str:
    """`.git` itself, or where the file `.git` of a worktree or submodule points, and its common folder."""
    dot_git = f"{root}/.git"
    if os.path.isdir(dot_git):
        return dot_git
    pointer = _read(dot_git).partition("gitdir:")[2].strip()
    folder = os.path.join(root, pointer)
    common = _read(f"{folder}/commondir").strip()
    return os.path.join(folder, common) if common else folder


def _remote_url(git_folder: str) -> str | None:
    """The url of `origin`, else of the first remote."""
    urls: dict[str, str] = {}
    remote = ""
    for line in _read(f"{git_folder}/config").splitlines():
        line = line.strip()
        if line.startswith("["):
            section, _, name = line.strip("[]").partition(" ")
            remote = name.strip().strip('"') if section == "remote" else ""
        elif remote and line.partition("=")[0].strip() == "url":
            urls.setdefault(remote, line.partition("=")[2].strip())
    return urls.get("origin") or next(iter(urls.values()), None)


def _read(path: str) -> str:
    """Regular files only, and not for ever: a repository may hold a pipe, or a link to a device, in their place."""
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(LONGEST)
    except (OSError, ValueError):  # ValueError: a NUL in the path that a file names
        return ""
