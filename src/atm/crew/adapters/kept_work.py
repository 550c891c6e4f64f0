"""Work that is kept under a salvage ref: the same work once, and what is known of it."""

from __future__ import annotations

from atm.core.errors import RequestError
from atm.crew.formats.salvage_note import decode_note, encode_note
from atm.crew.ports.worktrees import Saved
from atm.crew.rules.refs import salvage_folder, salvage_ref
from atm.files.formats.times import for_name
from atm.git.adapters import salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.crew.formats.salvage_note import SalvageNote
    from atm.git.adapters.running import Git

ID_LENGTH = 12
MOST_IN_ONE_MOMENT = 1000
EMPTY_TREE = ("hash-object", "-t", "tree", "--stdin")


def keep_once(
    git: Git, team: str, task: str, note: SalvageNote, *, tree: str, parents: Sequence[str], now: float
) -> Saved:
    """The same work is kept once: whoever saved it may have been killed before the next step."""
    for former in salvage.kept(git, salvage_folder(team)):
        if former.tree == tree and former.parents[:1] == [*parents[:1]] and {*parents} <= {*former.parents}:
            return as_saved(former, git.git_dir)
    refs = (salvage_ref(team, task, for_name(now + more / 1000)) for more in range(MOST_IN_ONE_MOMENT))
    made = salvage.keep(git, refs, tree=tree, parents=parents, message=encode_note(note), now=now)
    return as_saved(made, git.git_dir)


def all_saved(git: Git, team: str) -> list[Saved]:
    """Newest first."""
    found = [as_saved(each, git.git_dir) for each in salvage.kept(git, salvage_folder(team))]
    return sorted(found, key=lambda each: each.ref.rpartition("/")[2], reverse=True)


def patch_of(git: Git, saved: Saved) -> str:
    """What is in it, from where its work began."""
    kept = next((each for each in salvage.kept(git, saved.ref) if each.commit == saved.commit), None)
    if kept is None:
        raise RequestError(f"{saved.ref} is not there any more", "see `atm salvage list`")
    base = git.commit_of(decode_note(kept.message).base or "-") or next(iter(kept.parents), "")
    return salvage.changes(git, base or git.need(*EMPTY_TREE).strip(), saved.commit)


def as_saved(found: salvage.Salvage, common: str) -> Saved:
    note = decode_note(found.message)
    return Saved(
        id=found.commit[:ID_LENGTH],
        ref=found.ref,
        commit=found.commit,
        common=common,
        why=note.why,
        dirty=note.dirty,
        untracked=note.untracked,
    )
