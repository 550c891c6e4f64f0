"""What a git command would do: push, reach the network, remove something; or nobody knows, if it may be an alias."""

from __future__ import annotations

from atm.domain.approvals.act import GIT_PUSH, NETWORK_USE, Workplace, files_in, removes
from atm.domain.approvals.programs import GIT_KNOWN, GIT_NETWORK, GIT_VALUES, PUSH_VALUES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.domain.approvals.act import Act, ShellLine


def take_git(found: ShellLine, act: Act, words: Sequence[str], place: Workplace) -> None:
    at = 1
    while at < len(words) and words[at].startswith("-"):
        option = words[at].partition("=")[0]
        if option in ("-c", "--config-env", "--exec-path") or (option.startswith("-c") and len(option) > 2):
            found.doubt("git is given settings on the line, which can be commands")
        elif option == "-C" and at + 1 < len(words):
            place = Workplace(place.whole(words[at + 1]), place.root, place.real)
        at += 2 if words[at] in GIT_VALUES else 1
    verb, rest = (words[at], words[at + 1 :]) if at < len(words) else ("", [])
    if at > 1:
        plain = " ".join(["git", verb, *rest])
        act.texts.append(plain)
        act.needs.append(plain)
    act.paths = files_in(rest, place)
    if verb and verb not in GIT_KNOWN:
        found.doubt(f"git {verb} may be an alias of anything")
    elif verb == "push" or (verb, *rest[:1]) in (("lfs", "push"), ("svn", "dcommit"), ("subtree", "push")):
        act.operation, act.is_sensitive, act.branches = GIT_PUSH, True, _pushed(rest) if verb == "push" else None
    elif verb == "config" and len([word for word in rest if not word.startswith("-")]) > 1:
        found.doubt("git config can make any command run later")
    elif verb in GIT_NETWORK or (verb, *rest[:1]) in (("remote", "update"), ("submodule", "update"), ("lfs", "pull")):
        act.operation, act.is_sensitive = NETWORK_USE, True
    elif verb in ("clean", "rm"):
        removes(act, [place.whole(word) for word in rest if not word.startswith("-")] or [f"{place.folder}/x"], place)


def _pushed(rest: Sequence[str]) -> list[str] | None:
    """Branches that are named; None for whatever git's settings say."""
    named: list[str] = []
    skip = False
    for word in rest:
        if skip:
            skip = False
        elif word in ("--all", "--branches", "--mirror", "--tags", "--follow-tags"):
            return None
        elif word in PUSH_VALUES:
            skip = True
        elif not word.startswith("-"):
            named.append(word)
    refs = [word.lstrip("+").rpartition(":")[2].removeprefix("refs/heads/") for word in named[1:]]
    return refs if refs and all(ref and ref != "HEAD" and "*" not in ref for ref in refs) else None
