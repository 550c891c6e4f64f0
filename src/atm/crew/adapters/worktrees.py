"""
Worktrees by git: implements `crew.ports.worktrees.Worktrees`.

Everything about one worktree happens under one lock of ours. A step that could lose something is preceded by one that
saves it; whoever is killed in between leaves what the next `make` or `remove` finds and clears away.
"""

from __future__ import annotations

import hashlib
import os

from atm.core.errors import AtmError, BadName, DiskError, RequestError
from atm.core.work_errors import GitTrouble
from atm.crew.adapters.included import copy_included
from atm.crew.adapters.kept_work import ID_LENGTH, all_saved, keep_once, patch_of
from atm.crew.adapters.restoring import put_into
from atm.crew.adapters.scratch import Scratch
from atm.crew.formats.salvage_note import SalvageNote
from atm.crew.formats.worktree_record import WorktreeRecord, decode_record, encode_record
from atm.crew.ports.worktrees import JoinedWork, Repository, Saved, Worktree
from atm.crew.rules import refs
from atm.crew.rules.refs import decode, encode, folder_name, names_in, work_branch, work_folder
from atm.files.adapters.refusals import explained
from atm.files.adapters.trees import remove_tree
from atm.files.adapters.whole_files import read_whole, write_new, write_over
from atm.files.formats.json_record import to_bytes, to_text
from atm.git.adapters import checkouts, repairing, salvage
from atm.git.adapters.changes import Beginning, Looking
from atm.git.adapters.commits import CommitAuthor, commit_all, lost_tips
from atm.git.adapters.joining import join
from atm.git.adapters.merging import changed_paths
from atm.git.adapters.plain_files import mend_modes
from atm.git.adapters.repairing import KnownPlace
from atm.git.adapters.running import Git
from atm.git.adapters.snapshots import git_folder, take

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from atm.files.adapters.locking import Locks
    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk

PATIENT = 60.0
"""Seconds that one process waits for another that is at the same worktree."""

BRIEF = 0.3
"""The same for one that only wants to look, and can look again later."""

RECORD = "atm-worktree"
KNOWN = ".known-"
"""Before the names of our own records, one for each worktree. No team's name begins with a dot."""
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
            self._let_git_work(repository.key)
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
            worktree, notes = self._whole(worktree)
            checkouts.go_on(self._git(notes, worktree.path, worktree.common), commit, is_saved=is_saved)

    def join(self, repository: Repository, commits: Sequence[str], message: str) -> JoinedWork:
        with explained(repository.common):
            return JoinedWork(*join(self._git(repository.common), commits, message))

    def _git_for(self, repository: Repository) -> Git:
        return Git(repository.root, sleep=self._clock.sleep) if repository.root else self._git(repository.common)

    def _git(self, git_dir: str, work_tree: str = "", common: str = "") -> Git:
        return Git(git_dir=git_dir, work_tree=work_tree, common=common, sleep=self._clock.sleep)

    def _note_repository(self, repository: Repository) -> None:
        """Whose the worktrees in a folder are, also when nothing else says so any more."""
        folder = f"{self._layout.worktrees}/{repository.key}"
        self._disk.make_folders(folder, private=True)
        if self._common_of(repository.key) != repository.common:
            with self._locks.private(f"{folder}/{REPOSITORY_FILE}"):
                write_over(self._disk, f"{folder}/{REPOSITORY_FILE}", to_bytes(repository.common))

    def _there(self, common: str, path: str, branch: str) -> Worktree | None:
        """The worktree that is there already, if it is whole."""
        notes = self._notes_of(common, path)
        record = self._known_or_noted(path, notes)
        if record is None or not checkouts.is_whole(notes, path, common):
            return None
        return Worktree(path=path, branch=record.branch or branch, base=record.base, common=common)

    def _clear(self, former: Worktree, team: str, task: str) -> None:
        """What a killed process left, or what is not whole any more. Its branch stays: it may have commits."""
        notes = self._notes_of(former.common, former.path)
        if notes or os.path.lexists(former.path):
            record = self._known_or_noted(former.path, notes)
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
        notes = git_folder(made.path)  # git wrote that a moment ago, and nobody has worked there
        checkouts.fill(notes, made.path, made.common, self._clock.sleep)
        copies = copy_included(self._disk, git, repository.root, made.path)
        record = WorktreeRecord(
            branch=made.branch,
            base=made.base,
            ignored=ignored,
            copies=copies,
            path=made.path,
            notes=notes,
            common=made.common,
        )
        write_new(self._disk, f"{notes}/{RECORD}", encode_record(record))
        write_over(self._disk, self._own_record(made.path), encode_record(record))

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
            worktree, notes = self._whole(worktree)
            git = self._git(notes, worktree.path, worktree.common)
            who = CommitAuthor(author, f"{encode(author)}@atm.invalid")
            head = git.commit_of("HEAD")
            known = self._beginning(worktree.path, notes, head)
            with Scratch(self._disk, self._scratch_of(worktree.path)) as scratch:
                return commit_all(Looking(git, scratch, known), worktree.branch, who, message or "work")

    def save(self, worktree: Worktree, team: str, task: str, why: str, *, branch: bool = False) -> Saved | None:
        with explained(worktree.path), self._locks.private(worktree.path, PATIENT):
            return self._save(worktree, team, task, why, keeps_branch=not branch)

    def _save(self, worktree: Worktree, team: str, task: str, why: str, *, keeps_branch: bool) -> Saved | None:
        is_ours = worktree.path.startswith(f"{self._layout.worktrees}/")
        is_users_own = not is_ours and os.path.realpath(f"{worktree.path}/.git") == os.path.realpath(worktree.common)
        worktree = self._as_known(worktree)
        common = self._git(worktree.common)
        notes = worktree.common if is_users_own else self._usable_notes(worktree)
        head = self._git(notes, common=worktree.common).commit_of("HEAD") if notes else ""
        head = head or common.commit_of(f"refs/heads/{worktree.branch}") or common.commit_of(worktree.base or "HEAD")
        with Scratch(self._disk, self._scratch_of(worktree.path)) as scratch:
            git_dir = notes or self._stand_in(scratch, worktree.common, head)
            git = self._git(git_dir, worktree.path, "" if is_users_own else worktree.common)
            known = self._beginning(worktree.path, notes, head, is_users_own=is_users_own)
            place = self._place(worktree.path)
            if place is not None and not repairing.has_sound_index(place):
                known.index = ""  # it is made from the commit
            found = take(git, scratch, known)
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
            worktree = self._as_known(worktree)
            notes = self._usable_notes(worktree)
            if not notes or not os.path.isdir(worktree.path):
                return []
            git = self._git(notes, worktree.path, worktree.common)
            with Scratch(self._disk, self._scratch_of(worktree.path)) as scratch:
                dirty, untracked = Looking(git, scratch, self._beginning(worktree.path, notes, "")).changes()
            is_new = checkouts.stands_at(notes, worktree.common, worktree.base)
            committed = [] if is_new else changed_paths(git, worktree.base, "HEAD")
            return sorted({*committed, *dirty, *untracked})

    def now(self, worktree: Worktree) -> str:
        with explained(worktree.path), self._locks.private(worktree.path, BRIEF):
            worktree = self._as_known(worktree)
            notes = self._usable_notes(worktree)
            git = self._git(notes, worktree.path, worktree.common)
            head = git.commit_of("HEAD") if notes and os.path.isdir(worktree.path) else ""
            if not head:
                return ""
            with Scratch(self._disk, self._scratch_of(worktree.path)) as scratch:
                found = take(git, scratch, self._beginning(worktree.path, notes, head))
            return head if found.is_clean else salvage.commit_tree(git, found.tree, [head], "what is there now")

    def diff(self, worktree: Worktree) -> str:
        commit, git = self.now(worktree), self._git(worktree.common)
        return salvage.changes(git, git.commit_of(worktree.base) or commit, commit) if commit else ""

    def _beginning(self, path: str, notes: str, head: str, *, is_users_own: bool = False) -> Beginning:
        if is_users_own:
            return Beginning(head=head, index=f"{notes}/index")
        record = self._known_or_noted(path, notes)
        if record is None:
            return Beginning(head=head, index=f"{notes}/index" if notes else "", is_half_made=bool(notes))
        index = f"{notes}/index" if notes else ""
        return Beginning(head=head, index=index, passed_over=record.ignored, copies=record.copies)

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
            worktree = self._as_known(worktree)
            if not os.path.isdir(f"{worktree.common}/objects"):
                self._give_up(worktree)
                return
            self._let_git_work(self._key_of(worktree.path))
            self._clear_stale_locks(worktree.path)
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
            worktree = self._as_known(worktree)
            self._let_git_work(self._key_of(worktree.path))
            self._clear_stale_locks(worktree.path)
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
        remove_tree(self._disk, self._own_record(worktree.path))

    def _take_away(self, worktree: Worktree) -> None:
        path, notes = worktree.path, self._notes_of(worktree.common, worktree.path)
        if notes:
            checkouts.take_off_the_list(worktree.common, path, self._clock.sleep)
        try:
            remove_tree(self._disk, path)
        except PermissionError:
            mend_modes(path)
            remove_tree(self._disk, path)
        if notes:
            remove_tree(self._disk, notes)
        remove_tree(self._disk, self._own_record(path))
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

    def follow(self, team: str, before: str, after: str) -> None:
        key = hashlib.sha256(os.fsencode(before)).hexdigest()[:ID_LENGTH]
        home = f"{self._layout.worktrees}/{key}"
        if not os.path.isdir(home):
            return
        with explained(home):
            with self._locks.private(f"{home}/{REPOSITORY_FILE}", PATIENT):
                write_over(self._disk, f"{home}/{REPOSITORY_FILE}", to_bytes(after))
            for path in [*self._folders(f"{home}/{encode(team)}", after)]:
                self._move_record(path, before, after)
                notes = checkouts.folder_of_notes(after, path)
                if notes and os.path.isdir(path) and not os.path.islink(path) and not os.path.isdir(f"{path}/.git"):
                    with self._locks.private(path, PATIENT):
                        write_over(self._disk, f"{path}/.git", to_bytes(f"gitdir: {notes}\n"))

    def _move_record(self, path: str, before: str, after: str) -> None:
        """What we know of a worktree names the repository where it is now."""
        known = self._known_record(path)
        if known is None or known.common != before:
            return
        known.common, known.notes = after, f"{after}{known.notes.removeprefix(before)}"
        write_over(self._disk, self._own_record(path), encode_record(known))

    def _folders(self, folder: str, common: str) -> Iterator[str]:
        """Those that lie there, and those that git still knows."""
        listed = [path for _, path in checkouts.worktrees_of(common)] if common else []
        for path in (*(f"{folder}/{name}" for name in self._disk.names(folder)), *listed):
            if os.path.dirname(path) == folder and names_in(os.path.basename(path)) is not None:
                yield path

    def _known(self, path: str, common: str, team: str) -> Worktree:
        record = self._known_or_noted(path, self._notes_of(common, path) if common else "")
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

    # What we know of one, whatever an agent has written there.

    def _key_of(self, path: str) -> str:
        return path.removeprefix(f"{self._layout.worktrees}/").partition("/")[0]

    def _own_record(self, path: str) -> str:
        return f"{self._layout.worktrees}/{self._key_of(path)}/{KNOWN}{_short(path)}"

    def _known_record(self, path: str) -> WorktreeRecord | None:
        """Ours; None for one that an earlier version of atm made, or that was never finished."""
        if not path.startswith(f"{self._layout.worktrees}/"):
            return None
        try:
            record = decode_record(read_whole(self._disk, self._own_record(path)))
        except OSError:
            return None
        if record is None or record.path != path or not (record.notes and record.common):
            return None
        return record if os.path.dirname(record.notes) == f"{record.common}/worktrees" else None

    def _known_or_noted(self, path: str, notes: str) -> WorktreeRecord | None:
        return self._known_record(path) or self._record(notes)

    def _as_known(self, worktree: Worktree) -> Worktree:
        """The same with our own facts: those of a caller may come from a record that an agent has changed."""
        known = self._known_record(worktree.path)
        if known is None:
            return worktree
        return Worktree(path=worktree.path, branch=known.branch, base=known.base, common=known.common)

    def _place(self, path: str) -> KnownPlace | None:
        known = self._known_record(path)
        if known is None:
            return None
        return KnownPlace(path=path, notes=known.notes, common=known.common, branch=known.branch, base=known.base)

    def _notes_of(self, common: str, path: str) -> str:
        """Git's folder of notes on it; empty if that is gone."""
        known = self._known_record(path)
        if known is None or known.common != common:
            return checkouts.folder_of_notes(common, path)
        return known.notes if repairing.is_folder(known.notes) else ""

    def _whole(self, worktree: Worktree) -> tuple[Worktree, str]:
        """Repaired for work that goes on. What another repository in the place of ours holds is saved before."""
        worktree, place = self._as_known(worktree), self._place(worktree.path)
        if not repairing.is_folder(worktree.path):
            raise GitTrouble(f"the worktree {worktree.path} is gone", "its files cannot be had back", worktree.path)
        if place is None:
            notes = checkouts.folder_of_notes(worktree.common, worktree.path)
            if not notes or not self._git(notes, common=worktree.common).commit_of("HEAD"):
                raise GitTrouble(f"{worktree.path} is no worktree any more", "make it again", worktree.path)
            return worktree, notes
        if repairing.is_folder(f"{worktree.path}/.git"):
            team, task = self._names_of(worktree.path)
            self._save(worktree, team, task, "another repository was in its place", keeps_branch=True)
            remove_tree(self._disk, f"{worktree.path}/.git")
        repairing.repair(place, self._clock.sleep)
        return worktree, place.notes

    def _usable_notes(self, worktree: Worktree) -> str:
        """Those of git, repaired as far as git needs them; empty if they are gone, or git cannot use them."""
        notes, place = self._notes_of(worktree.common, worktree.path), self._place(worktree.path)
        if notes and place is not None:
            repairing.repair_notes(place)
            return notes
        return notes if notes and self._git(notes, common=worktree.common).is_repository() else ""

    def _clear_stale_locks(self, path: str) -> None:
        place = self._place(path)
        if place is not None:
            repairing.clear_stale_locks(place, self._clock.sleep)

    def _let_git_work(self, key: str) -> None:
        """What an agent wrote into git's notes on one worktree can keep git from working on all of them."""
        folder = f"{self._layout.worktrees}/{key}"
        for name in self._disk.names(folder):
            try:
                known = decode_record(read_whole(self._disk, f"{folder}/{name}")) if name.startswith(KNOWN) else None
            except FileNotFoundError:
                continue  # another process has just removed that worktree
            place = self._place(known.path) if known is not None else None
            if place is not None and self._own_record(place.path) == f"{folder}/{name}":
                repairing.repair_what_stops_git(place)

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
        return f"{self._layout.worktrees}/{self._key_of(path)}/{SCRATCH}{_short(path)}"


def _short(path: str) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:ID_LENGTH]
