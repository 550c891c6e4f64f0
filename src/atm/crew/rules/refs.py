"""
Names of branches, salvage refs and folders of the crew, and the names of teams, tasks and members in them.

Git refuses some names that atm allows (`a..b`, `a.`, `x.lock`). They are written in percent style, which git allows,
and read back to exactly what they were. What git takes as it is stays as it is.
"""

from __future__ import annotations

from atm.core.errors import BadName, RequestError

WORK = "atm/work"
"""Branches of agents: `atm/work/{team}/{task}-{agent}`."""

SALVAGE = "refs/atm/salvage"

CHECKPOINTS = "atm/checkpoints"

RESULT = "atm/result"
"""Where the work of a team is merged: `atm/result/{team}`."""

QUEUE = ".merge"
"""Stands for the agent in the names of worktrees of the merge queue. No member's name begins with a dot."""

_QUEUE_TOLD = "=merge"
"""The same in a path or a branch, where nothing else begins like this. Without a `%`: Gemini CLI takes its folder for a
URL, reads `%2E` as a dot, and works in another folder than it was started in."""

LONGEST_IN_BYTES = 240
"""A file name has at most 255 bytes, and git's locks on a ref need five of them."""

_REFUSED = frozenset(' ~^:?*[\\/"<>|%\x7f')
"""By git, by Windows, or because it is our own mark."""

_LOCK = ".lock"


def encode(name: str, also: str = "") -> str:
    """A name as one part of a ref and of a path. `also`: characters that mean something there."""
    if not name:
        raise BadName("an empty name cannot be part of a branch", "give a team, a task and a member")
    told = "".join(_percent(each) if _is_refused(name, at, also) else each for at, each in enumerate(name))
    if len(told.encode("utf-8", "surrogatepass")) > LONGEST_IN_BYTES:
        raise BadName(f"{name[:40]!r}… is too long for a branch", "use a shorter name")
    return told


def _is_refused(name: str, at: int, also: str) -> bool:
    each, rest = name[at], name[at + 1 :]
    if each in _REFUSED or each < " " or each in also or "\ud800" <= each <= "\udfff":
        return True
    if each == ".":
        return at == 0 or not rest or rest[0] == "." or name[at:].casefold() == _LOCK
    return (each == "=" and at == 0) or (each == "@" and (rest[:1] == "{" or len(name) == 1))


def _percent(each: str) -> str:
    return "".join(f"%{byte:02X}" for byte in each.encode("utf-8", "surrogatepass"))


def decode(told: str) -> str:
    """What was encoded. Raises ValueError for what `encode` never writes."""
    parts = told.split("%")
    data = parts[0].encode("utf-8", "surrogatepass")
    for part in parts[1:]:
        if len(part) < 2 or not set(part[:2]) <= set("0123456789ABCDEF"):
            raise ValueError(f"{told!r} was not encoded by atm")
        data += bytes([int(part[:2], 16)]) + part[2:].encode("utf-8", "surrogatepass")
    return data.decode("utf-8", "surrogatepass")


def folder_name(task: str, agent: str) -> str:
    """`{task}-{agent}`. A dash in a task is encoded, so that the first one ends it."""
    name = f"{encode(task, also='-')}-{_QUEUE_TOLD if agent == QUEUE else encode(agent)}"
    if len(name.encode("utf-8", "surrogatepass")) > LONGEST_IN_BYTES:
        raise BadName(f"{task[:20]!r} and {agent[:20]!r} are too long for a branch", "use shorter names")
    return name


def names_in(folder: str) -> tuple[str, str] | None:
    """The task and the agent of a folder; None if it is none of ours."""
    task, dash, agent = folder.partition("-")
    try:
        if not (task and dash and agent):
            return None
        return decode(task), QUEUE if agent == _QUEUE_TOLD else decode(agent)
    except ValueError:
        return None


def work_folder(team: str) -> str:
    """What the branches of a team begin with."""
    return f"{WORK}/{encode(team)}/"


def work_branch(team: str, task: str, agent: str) -> str:
    return f"{work_folder(team)}{folder_name(task, agent)}"


def result_branch(team: str) -> str:
    return f"{RESULT}/{encode(team)}"


def checkpoint_branch(team: str) -> str:
    """Where the checkpoints of a team are committed."""
    return f"{CHECKPOINTS}/{encode(team)}"


def salvage_ref(team: str, task: str, time: str) -> str:
    return f"{SALVAGE}/{encode(team)}/{encode(task)}/{time}"


def salvage_folder(team: str) -> str:
    """Where the salvage refs of a team lie; those of all teams for none."""
    return f"{SALVAGE}/{encode(team)}" if team else SALVAGE


def parts_of_salvage(ref: str) -> tuple[str, str, str] | None:
    """The team, the task and the time of a salvage ref; None if it is none of ours."""
    parts = ref.removeprefix(f"{SALVAGE}/").split("/")
    if len(parts) != 3 or not ref.startswith(f"{SALVAGE}/"):
        return None
    try:
        return decode(parts[0]), decode(parts[1]), parts[2]
    except ValueError:
        return None


def obstacles(branch: str, taken: list[str], *, ignores_case: bool) -> tuple[str, bool]:
    """
    What keeps a branch from being made: the branch that is in its way, and whether another number helps.

    Git cannot have a branch `a` beside one called `a/b`. Where names are compared without case, `Atm` is in the way as
    `atm` is. A namesake in other letters counts everywhere: it could not be cloned to a Mac.
    """
    folded = branch.casefold()
    for other in taken:
        told = other.casefold()
        is_same = other == branch
        counts = ignores_case or branch.startswith(f"{other}/") or other.startswith(f"{branch}/")
        if folded.startswith(f"{told}/") and counts:
            return other, False
        if (told.startswith(f"{folded}/") and counts) or (told == folded and not is_same):
            return other, True
    return "", True


def refused_base(base: str, folder: str) -> RequestError:
    """Why nobody can work from there: git has no such commit, or the repository none at all."""
    if not base:
        what = "this repository has no commit yet, so there is nothing to work from"
        return RequestError(what, "make a first one: git commit --allow-empty -m start", folder)
    return RequestError(f"git knows no commit {base!r} here", "give a branch, a tag or a commit", folder)
