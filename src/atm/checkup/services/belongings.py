"""
What `atm doctor` finds about our files as files: whose they are, what lies at their place, who can reach them.

One command with `sudo` leaves files of root's in the home of somebody who cannot open them any more. A folder where a
file belongs does the same. Mail goes on without these books; here they are named, with the command that mends them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from atm.checkup.rules import root_of, tops
from atm.checkup.services.findings import PROBLEM, WARNING, Finding, owner_word
from atm.core.untrusted_text import shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.checkup.ports import Belonging, FilesAround, HomeOwner

MOST_NAMED = 6
"""Paths that a command names one by one."""


def examine_owners(around: FilesAround, teams: list[str]) -> Iterator[Finding | str]:
    owner = around.home_owner()
    strange: dict[str, list[Belonging]] = {}
    count = 0
    for one in around.belongings(teams):
        count += 1
        if is_strange(one, owner):
            strange.setdefault(one.owner, []).append(one)
    for name, found in strange.items():
        yield _strange(name, found, owner, around.roots())
    yield f"{count:,} files and folders, all for {owner.name} to use"


def is_strange(one: Belonging, owner: HomeOwner) -> bool:
    """In the folders of teams others work too: files of theirs are in order as long as we can use them."""
    return one.uid != owner.uid and not (one.is_shared and one.is_usable)


def _strange(name: str, found: list[Belonging], owner: HomeOwner, roots: tuple[str, ...]) -> Finding:
    example = next((one for one in found if not one.is_usable), found[0]).path
    files = "1 file belongs" if len(found) == 1 else f"{len(found):,} files belong"
    hint = ", as after a command with sudo" if name == "root" else ""
    is_shut_out = not all(one.is_usable for one in found)
    result = f", and {owner.name} cannot use {'it' if len(found) == 1 else 'them'}" if is_shut_out else ""
    what = f"{files} to {name}{hint}{result}: {example}"
    command = _give_back(name, [one.path for one in found], owner, roots)
    severity, paths = PROBLEM if is_shut_out else WARNING, tuple(one.path for one in found)
    return Finding("foreign-owner", severity, what, command, example, subject=name, covers=paths)


def _give_back(name: str, paths: list[str], owner: HomeOwner, roots: tuple[str, ...]) -> str:
    sudo, to, first = "" if owner.is_asking_as_root else "sudo ", owner_word(owner.name), tops(paths)
    if len(first) <= MOST_NAMED:
        return f"{sudo}chown -R {to} {' '.join(map(shell_word, first))}"
    where = " ".join(map(shell_word, dict.fromkeys(root_of(path, roots) for path in first)))
    return f"{sudo}find {where} -user {shell_word(name)} -exec chown -h {to} {{}} +"


def examine_kinds(around: FilesAround, teams: list[str]) -> Iterator[Finding | str]:
    """A folder where a file belongs, or the other way round: whoever needs it goes on without, and tells."""
    for one in around.belongings(teams):
        if one.should_be and one.kind != one.should_be:
            word, aside = shell_word(one.path), shell_word(f"{one.path}.broken")
            what = f"{one.path} is a {one.kind}; a {one.should_be} of ours belongs there, and is done without"
            yield Finding("wrong-kind", PROBLEM, what, f"mv {word} {aside}", one.path, covers=(one.path,))
    yield "each is what it should be"


def examine_permissions(around: FilesAround, teams: list[str]) -> Iterator[Finding | str]:
    for loose in around.loose_paths(teams):
        what = f"{loose.path} has mode {loose.mode:o}: {loose.why}"
        command = f"chmod {loose.should_be:o} {shell_word(loose.path)}"
        tighten = partial(around.tighten, loose)
        yield Finding("wrong-permissions", WARNING, what, command, loose.path, tighten, covers=(loose.path,))
    yield "nobody else reaches what is ours alone"


def examine_homes(around: FilesAround) -> Iterator[Finding | str]:
    other = around.other_home()
    if other is not None:
        what = f"teams also lie under {other}: agents without your CLAUDE_CONFIG_DIR or ATM_HOME use those"
        yield Finding("two-homes", WARNING, what, "unset CLAUDE_CONFIG_DIR ATM_HOME", other)
    yield "one"
