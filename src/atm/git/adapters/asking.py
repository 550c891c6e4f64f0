"""
The one place that starts `git`, so that a repository in which we ask runs nothing.

A folder in which we ask is somebody's choice: a clone, an unpacked archive, a member's folder in the roster. What git
reads there may name programs: a promisor remote fetches an object that is missing by a program of its own, hooks, a
monitor of the file system, a pager, helpers for passwords. A folder may even be a repository without looking like one,
when it lies as plain files in another. All of that is switched off here, whatever the repository's settings say.
"""

from __future__ import annotations

import os
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

HISTORY_ONLY = ("rev-parse", "merge-base")
"""
What may be asked. These look at history alone. Whatever looks at files (status, diff, add, checkout) has a repository's
attributes name programs too, `filter.*.clean` and `diff.*.textconv`: who needs one switches these off first.
"""

SWITCHED_OFF = {
    "safe.bareRepository": "explicit",  # a folder of plain files in a clone is no repository
    "protocol.allow": "never",  # nothing is fetched from anywhere, so no remote's program runs
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.askPass": "",
    "credential.helper": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
"""Settings of ours; given with the command they outweigh every file."""

IN_ITS_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "",  # outweighs `protocol.file.allow` of a repository, which outweighs `protocol.allow`
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_NO_LAZY_FETCH": "1",  # git 2.45
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # there, and empty: the other places where a program could be named are not asked
    "GIT_PAGER": "cat",
}

ELSEWHERE = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"),
    *(
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_NAMESPACE",
        "GIT_SHALLOW_FILE",
        "GIT_GRAFT_FILE",
        "GIT_REPLACE_REF_BASE",
    ),
    *("GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_IMPLICIT_WORK_TREE", "GIT_EXTERNAL_DIFF"),
    *("GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"),
    *("GIT_ATTR_SOURCE", "GIT_QUARANTINE_PATH", "GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"),
)
"""Under a hook of git these mean another repository, or other files or times, than those that we ask about."""


class GitAnswer:
    """How git ended, and what it said."""

    __slots__ = ("code", "text")

    def __init__(self, code: int | None, text: str) -> None:
        self.code = code
        """None if it could not be started, or took too long."""
        self.text = text


class GitOutput:
    """How git ended, and what it wrote, byte for byte."""

    __slots__ = ("code", "errors", "out")

    def __init__(self, code: int | None, out: bytes, errors: bytes) -> None:
        self.code = code
        """None if it could not be started, or took too long."""
        self.out = out
        self.errors = errors


def ask_git(folder: str, *words: str, seconds: float) -> GitAnswer:
    """Ask git about the history that a folder has. `folder` is empty for where we are."""
    if words[0] not in HISTORY_ONLY:
        raise ValueError(f"git {words[0]} may run what a repository names")
    done = start_git(folder, *words, seconds=seconds)
    said = done.out if done.code == 0 else done.out + done.errors  # a warning is no part of an answer
    return GitAnswer(done.code, said.decode("utf-8", "replace").strip())


def users_own_name(seconds: float = 5.0) -> str:
    """What the user's own settings of git call them. A repository's are not looked at: it could name anybody."""
    done = start_git("/", "config", "--global", "--get", "user.name", seconds=seconds)
    return done.out.decode("utf-8", "replace").strip() if done.code == 0 else ""


def start_git(
    folder: str, *words: str, seconds: float, stdin: bytes = b"", facts: Mapping[str, str] | None = None
) -> GitOutput:
    """Start git with all of that switched off. For `ask_git`, and for `running`, which switches more off."""
    try:
        done = subprocess.run(
            [*_command(folder), *words],  # not by `cwd`: a PATH with `.` in it would find a program of that folder
            input=stdin,
            capture_output=True,
            timeout=seconds,
            check=False,
            env={**_surroundings(os.environ), **(facts or {})},
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:  # ValueError: a NUL in a name
        return GitOutput(None, b"", str(error).encode("utf-8", "replace"))
    return GitOutput(done.returncode, done.stdout, done.stderr)


def _command(folder: str) -> list[str]:
    settings = [word for key, value in SWITCHED_OFF.items() for word in ("-c", f"{key}={value}")]
    return ["git", "-C", folder, "--no-pager", *settings]


def _surroundings(environment: Mapping[str, str]) -> dict[str, str]:
    return {**{key: value for key, value in environment.items() if key not in ELSEWHERE}, **IN_ITS_ENVIRONMENT}
