"""Approvals over real files and settings."""

from __future__ import annotations

import os
import stat

from atm.approvals.formats.rules import read_layer
from atm.approvals.rules.policy import Policy, PolicyLayer
from atm.files.adapters.machine import program_on_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from atm.approvals.rules.policy_files import PolicyFileProblem, PolicyPath
    from atm.approvals.services.approvalroom import Approvalroom
    from atm.board.services.boardroom import Boardroom
    from atm.config import Policies, Settings
    from atm.files.formats.layout import Layout
    from atm.files.formats.settings_text import Value
    from atm.mail.services.mailroom import Mailroom

MADE_BY_SHELL = ("/dev/fd/", "/dev/stdin", "/proc/")
"""Where a shell puts what it hands over as a file (`<(…)`)."""

LONGEST_WAIT = 570.0
"""Seconds that a permission hook may wait: vendors give it 600, and some let the call run after that."""


def build_approval_policy(layout: Layout, settings: Settings, *, checks_files: bool = True) -> Policy:
    """`checks_files`: a file that another user could have changed denies everything."""
    said = [*settings.policies, *((path, False, more) for path, more in _files_above(layout, settings))]
    problems = {one.path: one for one in _problems(settings, said)} if checks_files else {}
    layers: list[tuple[bool, PolicyLayer]] = []
    for path, own, policy in said:
        layer, problem = read_layer(path, policy), problems.pop(path, None)
        if problem is not None:
            layer.unreadable = str(problem)
        layers.append((own, layer))
    for path, problem in problems.items():
        layers.append((path == settings.own_file, PolicyLayer(path, unreadable=str(problem))))
    mine = next((layer for own, layer in layers if own), PolicyLayer(""))
    return Policy(mine, [layer for own, layer in layers if not own])


def policy_problems(layout: Layout, settings: Settings) -> list[PolicyFileProblem]:
    """What is wrong with files that supply a policy, or may supply one: at most one problem for each file."""
    above = [(path, False, more) for path, more in _files_above(layout, settings)]
    return _problems(settings, [*settings.policies, *above])


def _problems(settings: Settings, said: Policies) -> list[PolicyFileProblem]:
    found = [_problem_of(path, is_own=own) for path, own, policy in said if policy]
    found += [_problem_of(settings.own_file, is_own=True)] if _is_dangling(settings.own_file) else []
    found += _problems_in_repository(settings)
    return [one for one in found if one is not None]


def _problem_of(path: str, *, is_own: bool = False) -> PolicyFileProblem | None:
    """`is_own`: the user's own file, whose folders count too: it gives what other files only narrow."""
    if _is_plainly_ours(path, is_own=is_own):
        return None
    from atm.approvals.rules.policy_files import problem_of_file, problem_of_link, problem_of_parents

    folder = path.rpartition("/")[0]
    links = [] if path.startswith(MADE_BY_SHELL) else [path]
    links += [folder] if is_own or folder.endswith("/.atm") else []
    for one in links:
        problem = problem_of_link(_as_it_is(one))
        if problem is not None:
            return _about(path, problem)
    ours = (os.geteuid(), 0) if hasattr(os, "geteuid") else ()
    problem = problem_of_file(_as_it_is(path, follows=True), ours)
    if problem is None and is_own:
        problem = problem_of_parents([_as_it_is(one, follows=True) for one in _parents_of(path)], ours)
    return _about(path, problem) if problem is not None else None


def _is_plainly_ours(path: str, *, is_own: bool) -> bool:
    """A quick yes for the usual case, on the path of each call of a tool; anything else is judged by the rules."""
    if not is_own or not hasattr(os, "geteuid"):
        return False
    me, folders = os.geteuid(), _parents_of(path)
    try:
        facts = [os.lstat(one) for one in (path, folders[0])]
        above = [os.stat(one) for one in folders]
    except OSError:
        return False
    is_plain = stat.S_ISREG(facts[0].st_mode) and stat.S_ISDIR(facts[1].st_mode) and facts[0].st_uid == me
    return (
        is_plain
        and not facts[0].st_mode & 0o022
        and all(one.st_uid in (me, 0) and not one.st_mode & 0o002 for one in above)
    )


def _about(path: str, problem: PolicyFileProblem) -> PolicyFileProblem:
    """A folder's problem is one of the file in it."""
    what = problem.what if problem.path == path else f"{problem.what}, where {path} is"
    return type(problem)(path, what, problem.command)


def _as_it_is(path: str, *, follows: bool = False) -> PolicyPath:
    """`follows`: what a link leads to. A path that does not exist has no owner."""
    from atm.approvals.rules.policy_files import PolicyPath

    try:
        found = os.stat(path) if follows else os.lstat(path)
    except OSError:
        return PolicyPath(path, owner=None, mode=0)
    is_link = stat.S_ISLNK(found.st_mode)
    owner = found.st_uid if hasattr(os, "geteuid") else None
    mode, is_dangling = stat.S_IMODE(found.st_mode), is_link and not os.path.exists(path)
    return PolicyPath(path, owner=owner, mode=mode, is_link=is_link, is_dangling=is_dangling)


def _parents_of(path: str) -> list[str]:
    """All folders above a file, nearest first."""
    found: list[str] = []
    while (folder := os.path.dirname(path)) != path:
        found.append(folder)
        path = folder
    return found


def _is_dangling(path: str) -> bool:
    """A link to nothing, or a file below one."""
    places = (path, path.rpartition("/")[0])
    return bool(path) and any(os.path.islink(one) and not os.path.exists(one) for one in places)


def _problems_in_repository(settings: Settings) -> Iterator[PolicyFileProblem | None]:
    """Files that were not read, and so may have a policy: links to nothing, and files of other users."""
    from atm.files.formats.layout import REPO_FILES

    folder, root = settings.folder.replace(os.sep, "/"), settings.root.rstrip("/")
    while folder and (folder == root or folder.startswith(f"{root}/")):
        for path in (f"{folder}/{name}" for name in REPO_FILES):
            if os.path.isfile(path):
                yield _foreign(path)
            elif _is_dangling(path) and (os.path.islink(path) or path.endswith("/.atm/config.toml")):
                yield _problem_of(path)
        folder = folder.rpartition("/")[0]


def _foreign(path: str) -> PolicyFileProblem | None:
    """A repository's file that was not read, because it or its folder belongs to another user."""
    from atm.approvals.rules.policy_files import foreign_file
    from atm.trust.adapters import repo_owner

    owner = repo_owner(path)
    return foreign_file(path, owner) if owner is not None else None


def _files_above(layout: Layout, settings: Settings) -> Iterator[tuple[str, dict[str, Value]]]:
    """What files further up in the repository say: whoever puts another one below them takes nothing back."""
    if settings.repo_file is None:
        return
    from atm import config
    from atm.config import known
    from atm.files.formats.layout import REPO_FILES

    folder, root = settings.repo_file, settings.root.rstrip("/")
    while len(folder) > len(root):
        folder = folder.rpartition("/")[0]
        for path in (f"{folder}/{name}" for name in REPO_FILES):
            if path != settings.repo_file and os.path.isfile(path):
                values = config.read_repository(layout, path).values
                yield path, {key: values[key] for key in known.POLICY if key in values}


def has_own_policy(settings: Settings) -> bool:
    """Has the user written any, or may have, in a file that cannot be found now?"""
    return any(own for _, own, _ in settings.policies) or _is_dangling(settings.own_file)


def needs_hooks(settings: Settings, *, project: bool) -> bool:
    """Is there anything that permission hooks could enforce: for the user everywhere, or in this project?"""
    return has_own_policy(settings) or settings.yes("crew.delegate") or (project and bool(settings.policies))


def build_approvalroom(
    layout: Layout, settings: Settings, room: Mailroom, boardroom: Callable[[], Boardroom], anchor: str = ""
) -> Approvalroom:
    """`anchor`: the folder in which the agent was started, where its program says so."""
    from atm.approvals.adapters import ApprovalFiles
    from atm.approvals.services.approvalroom import Approvalroom
    from atm.files.adapters.disk import RealDisk
    from atm.wiring.files import build_locks

    disk = RealDisk(layout.private_roots)
    search, home = os.environ.get("PATH", os.defpath), os.path.expanduser("~")
    return Approvalroom(
        room=room,
        boardroom=boardroom,
        approvals=ApprovalFiles(disk, build_locks(layout, disk, room.clock), layout, room.secrets),
        policy=build_approval_policy(layout, settings),
        real=os.path.realpath,
        pid=os.getpid(),
        home=home,
        program=lambda name: program_on_path(name, search),
        repository=lambda folder, root: _why_git_differs(folder, root, anchor, home),
        has_nested=_has_repository_within,
        expire=settings.number("approvals.expire_minutes") * 60,
        valid=settings.number("approvals.valid_minutes") * 60,
        hook=min(settings.number("approvals.hook_seconds"), LONGEST_WAIT),
    )


def _why_git_differs(folder: str, root: str, anchor: str, home: str) -> str:
    from atm.git.adapters.own_repository import why_git_differs  # here: most calls are not about git

    return why_git_differs(folder, root, anchor, home)


def _has_repository_within(root: str) -> bool:
    from atm.git.adapters.own_repository import has_repository_within  # here: rarely asked

    return has_repository_within(root)
