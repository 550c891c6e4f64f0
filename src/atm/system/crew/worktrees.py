"""
Worktrees by git: implements `ports.crew.worktrees.Worktrees`.

Everything about one worktree happens under one lock of ours. A step that could lose something is preceded by one that
saves it; whoever is killed in between leaves what the next `make` or `remove` finds and clears away.
"""

from __future__ import annotations

import hashlib
import os

from atm.domain.crew import refs
from atm.domain.crew.refs import decode, encode, folder_name, names_in, work_branch, work_folder
from atm.domain.errors import AtmError, BadName, DiskError, RequestError
from atm.formats.crew.salvage_note import SalvageNote
from atm.formats.crew.worktree_record import WorktreeRecord, decode_record, encode_record
from atm.formats.files.json_record import to_bytes, to_text
from atm.ports.crew.worktrees import JoinedWork, Repository, Saved, Worktree
from atm.system.crew.included import copy_included
from atm.system.crew.kept_work import ID_LENGTH, all_saved, keep_once, patch_of
from atm.system.crew.restoring import put_into
from atm.system.crew.scratch import Scratch
from atm.system.files.refusals import explained
from atm.system.files.trees import remove_tree
from atm.system.files.whole_files import read_whole, write_new, write_over
from atm.system.git import checkouts, salvage
from atm.system.git.changes import Beginning, Looking
from atm.system.git.commits import CommitAuthor, commit_all, lost_tips
from atm.system.git.joining import join
from atm.system.git.merging import changed_paths
from atm.system.git.plain_files import mend_modes
from atm.system.git.running import Git
from atm.system.git.snapshots import take

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from atm.formats.files.layout import Layout
    from atm.ports.files.clock import Clock
    from atm.ports.files.disk import Disk
    from atm.system.files.locking import Locks

PATIENT = 60.0
"""Seconds that one process waits for another that is at the same worktree."""

BRIEF = 0.3
"""The same for one that only wants to look, and can look again later."""

RECORD = "atm-worktree"
REPOSITORY_FILE = ".repository"
SCRATCH = ".scratch-"
"""No team's name begins with a dot."""

MOST_NUMBERS = 100


class GitWorktrees:
    """Worktrees below one folder of ours, of any repository."""

    __slots__ = ("_clock", "_disk", "_layout", "_locks")

    def __init__(self, disk: Disk, clock: Clock, locks: Locks, layout: Layout) -> None:
        self._disk = disk
        self._clock = clock
        self._locks = locks
        self._layout = layout

    def repository(self, folder: str) -> Repository | None:
        with explained(folder):
            place = checkouts.find(folder, self._clock.sleep)
            if place is None:
                return None
            return Repository(
                root=place.root,
                common=place.common,
                key=hashlib.sha256(os.fsencode(place.common)).hexdigest()[:ID_LENGTH],
                head=place.head,
                branch=place.branch,
                notes=checkouts.notes_on(place),
            )

    # Making.

    def make(
        self, repository: Repository, team: str, task: str, agent: str, base: str = "", ignored: Sequence[str] = ()
    ) -> Worktree:
        folder = f"{self._layout.worktrees}/{repository.key}/{encode(team)}"
        path, wanted = f"{folder}/{folder_name(task, agent)}", work_branch(team, task, agent)
        git = self._git_for(repository)
        with explained(path), self._locks.private(path, PATIENT):
            self._note_repository(repository)  # its folder is private; git makes those below, with the worktree
            there = self._there(repository.common, path, wanted)
            if there is not None:
                return there
            commit = git.commit_of(base or "HEAD")
            if not commit:
                raise refs.refused_base(base, repository.root or repository.common)
            self._clear(Worktree(path=path, branch=wanted, base="", common=repository.common), team, task)
            branch = self._free_branch(git, wanted, commit)
            made = Worktree(path=path, branch=branch, base=commit, common=repository.common)
            try:
                self._fill(git, repository, made, f"{task}-{agent} of {team}", ignored)
            except BaseException:  # Ctrl-C too: nothing half made stays
                self._undo(made)
                raise
            return made

    def go_on(self, worktree: Worktree, work: Saved | Worktree | str) -> None:
        is_saved = isinstance(work, Saved)
        commit = (
            work if isinstance(work, str) else work.commit if isinstance(work, Saved) else f"refs/heads/{work.branch}"
        )
        with explained(worktree.path), self._locks.private(worktree.path, PATIENT):
            notes = checkouts.folder_of_notes(worktree.common, worktree.path)
            checkouts.go_on(self._git(notes, worktree.path), commit, is_saved=is_saved)

    def join(self, repository: Repository, commits: Sequence[str], message: str) -> JoinedWork:
        with explained(repository.common):
            return JoinedWork(*join(self._git(repository.common), commits, message))

    def _git_for(self, repository: Repository) -> Git:
        return Git(repository.root, sleep=self._clock.sleep) if repository.root else self._git(repository.common)

    def _git(self, git_dir: str, work_tree: str = "") -> Git:
        return Git(git_dir=git_dir, work_tree=work_tree, sleep=self._clock.sleep)

    def _note_repository(self, repository: Repository) -> None:
        """Whose the worktrees in a folder are, also when nothing else says so any more."""
        folder = f"{self._layout.worktrees}/{repository.key}"
        self._disk.make_folders(folder, private=True)
        if self._common_of(repository.key) != repository.common:
            with self._locks.private(f"{folder}/{REPOSITORY_FILE}"):
                write_over(self._disk, f"{folder}/{REPOSITORY_FILE}", to_bytes(repository.common))

    def _there(self, common: str, path: str, branch: str) -> Worktree | None:
        """The worktree that is there already, if it is whole."""
        notes = checkouts.folder_of_notes(common, path)
        record = self._record(notes)
        if record is None or not checkouts.is_whole(notes, path):
            return None
        return Worktree(path=path, branch=record.branch or branch, base=record.base, common=common)

    def _clear(self, former: Worktree, team: str, task: str) -> None:
        """What a killed process left, or what is not whole any more. Its branch stays: it may have commits."""
        notes = checkouts.folder_of_notes(former.common, former.path)
        if notes or os.path.lexists(former.path):
            record = self._record(notes)
            if record is not None:
                former = Worktree(path=former.path, branch=record.branch, base=record.base, common=former.common)
            self._save(former, team, task, "its worktree was not whole", keeps_branch=True)
            self._take_away(former)

    def _free_branch(self, git: Git, wanted: str, base: str) -> str:
        """The name itself, or with a number. A branch with commits of its own, or that somebody is on, stays."""
        taken, ignores_case = checkouts.branches(git), git.is_on("core.ignorecase")
        for number in range(1, MOST_NUMBERS):
            name = wanted if number == 1 else f"{wanted}-{number}"
            other, number_helps = refs.obstacles(name, taken, ignores_case=ignores_case)
            if other and not number_helps:
                what = f"the branch {other!r} is in the way of {name!r}: git cannot have both"
                raise RequestError(what, f"rename it: git branch -m {other} NEW-NAME")
            if other or (name in taken and not self._is_left_over(git, name, base)):
                continue
            if name in taken:
                checkouts.delete_branch(git, name, git.commit_of(f"refs/heads/{name}"))
            return name
        raise RequestError(f"there are {MOST_NUMBERS} branches like {wanted!r}", "merge or delete some of them")

    def _is_left_over(self, git: Git, branch: str, base: str) -> bool:
        return not checkouts.where_checked_out(git, branch) and not checkouts.has_own_commits(git, branch, base)

    def _fill(self, git: Git, repository: Repository, made: Worktree, what: str, ignored: Sequence[str]) -> None:
        checkouts.add(git, made.path, made.branch, made.base, reason=f"atm: {what}")
        notes = checkouts.folder_of_notes(made.common, made.path)
        checkouts.fill(notes, made.path, self._clock.sleep)
        copies = copy_included(self._disk, git, repository.root, made.path)
        record = WorktreeRecord(branch=made.branch, base=made.base, ignored=ignored, copies=copies)
        write_new(self._disk, f"{notes}/{RECORD}", encode_record(record))

    def _undo(self, made: Worktree) -> None:
        """Nobody has worked there."""
        git = self._git(made.common)
        try:
            self._take_away(made)
            if git.commit_of(f"refs/heads/{made.branch}") == made.base:
                checkouts.delete_branch(git, made.branch, made.base)
        except (AtmError, OSError):
            return  # the next `make` or `remove` clears it; why it was not made is what must be heard

    # Committing and saving.

    def commit(self, worktree: Worktree, author: str, message: str) -> str:
        with explained(worktree.path), self._locks.private(worktree.path, PATIENT):
            notes = checkouts.folder_of_notes(worktree.common, worktree.path)
            git = self._git(notes, worktree.path)
            head = git.commit_of("HEAD") if notes and os.path.isdir(worktree.path) else ""
            if not head:
                raise DiskError(f"{worktree.path} is no worktree any more", "make it again", worktree.path)
            known = self._beginning(notes, head)
            with Scratch(self._disk, self._scratch_of(worktree.path)) as scratch:
                who = CommitAuthor(author, f"{encode(author)}@atm.invalid")
                return commit_all(Looking(git, scratch, known), worktree.branch, who, message or "work")

    def save(self, worktree: Worktree, team: str, task: str, why: str, *, branch: bool = False) -> Saved | None:
        with explained(worktree.path), self._locks.private(worktree.path, PATIENT):
            return self._save(worktree, team, task, why, keeps_branch=not branch)

    def _save(self, worktree: Worktree, team: str, task: str, why: str, *, keeps_branch: bool) -> Saved | None:
        common = self._git(worktree.common)
        is_users_own = os.path.realpath(f"{worktree.path}/.git") == os.path.realpath(worktree.common)
        notes = worktree.common if is_users_own else checkouts.folder_of_notes(worktree.common, worktree.path)
        head = self._git(notes).commit_of("HEAD") if notes else ""
        head = head or common.commit_of(f"refs/heads/{worktree.branch}") or common.commit_of(worktree.base or "HEAD")
        with Scratch(self._disk, self._scratch_of(worktree.path)) as scratch:
            is_usable = notes and self._git(notes).ask("rev-parse", "--git-dir")
            git_dir = notes if is_usable else self._stand_in(scratch, worktree.common, head)
            git = self._git(git_dir, worktree.path)
            found = take(git, scratch, self._beginning(notes, head, is_users_own=is_users_own))
        tips = (
            [] if is_users_own else lost_tips(common, notes, worktree.branch, worktree.base, keeps_branch=keeps_branch)
        )
        if found.is_clean and not tips:
            return None
        parents = [head, *(tip for tip in tips if tip != head)] if head else tips
        if found.staged not in ("", found.tree, common.ask("rev-parse", "--quiet", "--verify", f"{head}^{{tree}}")):
            parents.append(salvage.commit_tree(common, found.staged, [head], "atm salvage: what was staged"))
        note = SalvageNote(why=why, base=worktree.base, dirty=found.dirty, untracked=found.untracked)
        now = self._clock.now()
        return keep_once(common, team, task, note, tree=found.tree, parents=parents, now=now)

    def touched(self, worktree: Worktree) -> list[str]:
        with explained(worktree.path), self._locks.private(worktree.path, BRIEF):
            notes = checkouts.folder_of_notes(worktree.common, worktree.path)
            if not notes or not os.path.isdir(worktree.path):
                return []
            git = self._git(notes, worktree.path)
            with Scratch(self._disk, self._scratch_of(worktree.path)) as scratch:
                dirty, untracked = Looking(git, scratch, self._beginning(notes, "")).changes()
            is_new = checkouts.stands_at(notes, worktree.common, worktree.base)
            committed = [] if is_new else changed_paths(git, worktree.base, "HEAD")
            return sorted({*committed, *dirty, *untracked})

    def now(self, worktree: Worktree) -> str:
        with explained(worktree.path), self._locks.private(worktree.path, BRIEF):
            notes = checkouts.folder_of_notes(worktree.common, worktree.path)
            git = self._git(notes, worktree.path)
            head = git.commit_of("HEAD") if notes and os.path.isdir(worktree.path) else ""
            if not head:
                return ""
            with Scratch(self._disk, self._scratch_of(worktree.path)) as scratch:
                found = take(git, scratch, self._beginning(notes, head))
            return head if found.is_clean else salvage.commit_tree(git, found.tree, [head], "what is there now")

    def diff(self, worktree: Worktree) -> str:
        commit, git = self.now(worktree), self._git(worktree.common)
        return salvage.changes(git, git.commit_of(worktree.base) or commit, commit) if commit else ""

    def _beginning(self, notes: str, head: str, *, is_users_own: bool = False) -> Beginning:
        if is_users_own:
            return Beginning(head=head, index=f"{notes}/index")
        record = self._record(notes)
        if record is None:
            return Beginning(head=head, index=f"{notes}/index" if notes else "", is_half_made=bool(notes))
        return Beginning(head=head, index=f"{notes}/index", passed_over=record.ignored, copies=record.copies)

    def _stand_in(self, scratch: str, common: str, head: str) -> str:
        """Notes of our own where git's are gone or of no use: without any, HEAD would be the user's."""
        folder = f"{scratch}/notes"
        self._disk.make_folder(folder, private=True)
        for name, text in (("HEAD", head or "ref: refs/heads/none"), ("commondir", common)):
            write_over(self._disk, f"{folder}/{name}", to_bytes(f"{text}\n"), durable=False)
        return folder

    # Removing.

    def remove(self, worktree: Worktree, *, branch: bool) -> None:
        team, task = self._names_of(worktree.path)
        with explained(worktree.path), self._locks.private(worktree.path, PATIENT):
            if not os.path.isdir(f"{worktree.common}/objects"):
                self._give_up(worktree)
                return
            git = self._git(worktree.common)
            tip = git.commit_of(f"refs/heads/{worktree.branch}")
            goes = branch or tip == worktree.base  # nothing was done on it; its log may know more
            self._save(worktree, team, task, "its worktree was removed", keeps_branch=not goes)
            self._take_away(worktree)
            if tip and goes and not checkouts.where_checked_out(git, worktree.branch):
                checkouts.delete_branch(git, worktree.branch, tip)

    def discard(self, worktree: Worktree) -> None:
        self._names_of(worktree.path)
        with explained(worktree.path), self._locks.private(worktree.path, PATIENT):
            git = self._git(worktree.common)
            self._take_away(worktree)
            tip = git.commit_of(f"refs/heads/{worktree.branch}")
            if tip and not checkouts.where_checked_out(git, worktree.branch):
                checkouts.delete_branch(git, worktree.branch, tip)

    def _names_of(self, path: str) -> tuple[str, str]:
        """The team and the task. Nothing is removed that does not lie where we make worktrees."""
        parts = path.removeprefix(f"{self._layout.worktrees}/").split("/")
        names = names_in(parts[-1])
        if len(parts) != 3 or names is None or ".." in parts or not path.startswith(f"{self._layout.worktrees}/"):
            raise BadName(f"{path} is no worktree of ours", "only what atm made there is removed")
        return decode(parts[1]), names[0]

    def _give_up(self, worktree: Worktree) -> None:
        """The repository is gone, and with it the place where anything could be saved."""
        if os.path.lexists(worktree.path):
            what = f"the repository of {worktree.path} is gone, so nothing in it can be saved"
            raise DiskError(what, "look at the folder, and delete it yourself", worktree.path)

    def _take_away(self, worktree: Worktree) -> None:
        path, notes = worktree.path, checkouts.folder_of_notes(worktree.common, worktree.path)
        if notes:
            checkouts.take_off_the_list(worktree.common, path, self._clock.sleep)
        try:
            remove_tree(self._disk, path)
        except PermissionError:
            mend_modes(path)
            remove_tree(self._disk, path)
        if notes:
            remove_tree(self._disk, notes)
        for folder in (os.path.dirname(path), f"{worktree.common}/worktrees"):
            try:
                self._disk.remove_folder(folder)
            except OSError:
                continue  # others lie there

    # Looking.

    def left(self, team: str) -> list[Worktree]:
        found = []
        for key in sorted(self._disk.names(self._layout.worktrees)):
            common = self._common_of(key)
            paths = {*self._folders(f"{self._layout.worktrees}/{key}/{encode(team)}", common)}
            found += [self._known(path, common, team) for path in sorted(paths)]
        return found

    def unused(self, team: str) -> list[Worktree]:
        found = []
        for key in sorted(self._disk.names(self._layout.worktrees)):
            common, folder = self._common_of(key), f"{self._layout.worktrees}/{key}/{encode(team)}"
            names = checkouts.branches(self._git(common)) if common else []
            ours = [name for name in names if name.startswith(work_folder(team))]
            paths = {f"{folder}/{name.rpartition('/')[2]}": name for name in ours}
            found += [
                Worktree(path=p, branch=b, base="", common=common) for p, b in paths.items() if not os.path.isdir(p)
            ]
        return found

    def _folders(self, folder: str, common: str) -> Iterator[str]:
        """Those that lie there, and those that git still knows."""
        listed = [path for _, path in checkouts.worktrees_of(common)] if common else []
        for path in (*(f"{folder}/{name}" for name in self._disk.names(folder)), *listed):
            if os.path.dirname(path) == folder and names_in(os.path.basename(path)) is not None:
                yield path

    def _known(self, path: str, common: str, team: str) -> Worktree:
        notes = checkouts.folder_of_notes(common, path) if common else ""
        record = self._record(notes)
        if record is not None:
            return Worktree(path=path, branch=record.branch, base=record.base, common=common)
        task, agent = names_in(os.path.basename(path)) or ("", "")
        return Worktree(path=path, branch=work_branch(team, task, agent), base="", common=common)

    def _common_of(self, key: str) -> str:
        try:
            return to_text(read_whole(self._disk, f"{self._layout.worktrees}/{key}/{REPOSITORY_FILE}"))
        except OSError:
            return ""

    def _record(self, notes: str) -> WorktreeRecord | None:
        try:
            return decode_record(read_whole(self._disk, f"{notes}/{RECORD}")) if notes else None
        except OSError:
            return None

    # What was saved.

    def saved(self, common: str, team: str = "") -> list[Saved]:
        return all_saved(self._git(common), team)

    def show(self, saved: Saved) -> str:
        return patch_of(self._git(saved.common), saved)

    def restore(self, saved: Saved, folder: str) -> list[str]:
        with explained(folder):
            return put_into(self._disk, folder, salvage.files_of(self._git(saved.common), saved.commit))

    def drop(self, saved: Saved) -> None:
        salvage.forget(self._git(saved.common), saved.ref, saved.commit)

    def _scratch_of(self, path: str) -> str:
        """A folder for one worktree. Beside the teams, in a folder that nobody removes meanwhile."""
        key = path.removeprefix(f"{self._layout.worktrees}/").partition("/")[0]
        return f"{self._layout.worktrees}/{key}/{SCRATCH}{hashlib.sha256(os.fsencode(path)).hexdigest()[:ID_LENGTH]}"
