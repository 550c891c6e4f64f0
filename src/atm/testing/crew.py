"""Twins of the crew's ports, in memory."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from atm.core.errors import AtmError, RequestError
from atm.crew.ports.worktrees import JoinedWork, Repository, Saved, Worktree
from atm.crew.rules.refs import encode, folder_name, names_in, parts_of_salvage, salvage_ref, work_branch, work_folder

Files = dict[str, str]


class MemoryCommit:
    """Some files, and the commits before."""

    def __init__(self, id: str, files: Files, parents: Sequence[str] = ()) -> None:
        self.id = id
        self.files = dict(files)
        self.parents = [*parents]


class MemoryWorktrees:
    """
    Implements `crew.ports.worktrees.Worktrees`.

    `add_repository` is the user; `trees` are the files of worktrees, which agents change; `restored` are the folders
    into which something was written back.
    """

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.commits: dict[str, MemoryCommit] = {}
        self.branches: dict[str, dict[str, str]] = {}
        """By repository: each branch, and its commit."""
        self.trees: dict[str, Files] = {}
        self.ignored: dict[str, list[str]] = {}
        self.restored: dict[str, Files] = {}
        self._worktrees: dict[str, Worktree] = {}
        self._saved: list[Saved] = []
        self._bases: dict[str, str] = {}
        """By commit that was saved: where its work began."""

    def add_repository(self, folder: str, files: Files) -> Repository:
        """With one commit on `main`, or without any."""
        common = f"{folder}/.git"
        self.branches[common] = {"main": self.add_commit(files)} if files else {}
        self.repositories[folder] = Repository(root=folder, common=common, key=f"key{len(self.repositories)}")
        return self.repositories[folder]

    def add_commit(self, files: Files, *parents: str) -> str:
        made = MemoryCommit(f"{len(self.commits) + 1:040x}", files, parents)
        self.commits[made.id] = made
        return made.id

    def repository(self, folder: str) -> Repository | None:
        found = next((one for root, one in self.repositories.items() if f"{folder}/".startswith(f"{root}/")), None)
        if found is None:
            return None
        head = self.branches[found.common].get("main", "")
        return Repository(root=found.root, common=found.common, key=found.key, head=head, branch="main")

    # Making.

    def make(
        self, repository: Repository, team: str, task: str, agent: str, base: str = "", ignored: Sequence[str] = ()
    ) -> Worktree:
        path = f"/worktrees/{repository.key}/{encode(team)}/{folder_name(task, agent)}"
        if path in self._worktrees:
            return self._worktrees[path]
        branches = self.branches[repository.common]
        commit = branches.get(base or "main", base)
        if commit not in self.commits:
            raise RequestError(f"there is no commit {base!r}", "give a branch or a commit")
        branch = self._free_branch(repository.common, work_branch(team, task, agent), commit)
        branches[branch] = commit
        self.trees[path] = dict(self.commits[commit].files)
        self.ignored[path] = [*ignored]
        self._worktrees[path] = Worktree(path=path, branch=branch, base=commit, common=repository.common)
        return self._worktrees[path]

    def go_on(self, worktree: Worktree, work: Saved | Worktree | str) -> None:
        branches = self.branches[worktree.common]
        commit = work if isinstance(work, str) else work.commit if isinstance(work, Saved) else branches[work.branch]
        kept = self.commits[commit]
        branches[worktree.branch] = kept.parents[0] if isinstance(work, Saved) else kept.id
        self.trees[worktree.path] = dict(kept.files)

    def _free_branch(self, common: str, wanted: str, base: str) -> str:
        number, name = 1, wanted
        while name in self.branches[common] and self._own_commits(common, name, {base}):
            number += 1
            name = f"{wanted}-{number}"
        return name

    def _own_commits(self, common: str, branch: str, known: set[str]) -> set[str]:
        others = {tip for name, tip in self.branches[common].items() if name != branch}
        return self.history(self.branches[common][branch]) - self.history(*others, *known)

    def history(self, *tips: str) -> set[str]:
        found: set[str] = set()
        waiting = [*tips]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += self.commits[one].parents
        return found

    def join(self, repository: Repository, commits: Sequence[str], message: str) -> JoinedWork:  # noqa: ARG002 - nobody asks a twin
        """Three-way, by whole files."""
        commits = [self.branches[repository.common].get(one, one) for one in commits]
        tips = [one for one in dict.fromkeys(commits) if not any(one in self.history(o) - {o} for o in commits)]
        for former in self.commits.values():
            if len(tips) > 1 and former.parents == tips:
                return JoinedWork(former.id)
        if len(tips) < 2:
            return JoinedWork(tips[0])
        common = set.intersection(*(self.history(tip) for tip in tips))
        base = self.commits[max(common, default=tips[0])].files
        files, conflicts = dict(base), []
        for path in sorted({path for tip in tips for path in (*base, *self.commits[tip].files)}):
            changed = {self.commits[tip].files.get(path) for tip in tips} - {base.get(path)}
            if len(changed) > 1:
                conflicts.append(path)
            elif changed:
                (text,) = changed
                files = {**files, path: text} if text is not None else {k: v for k, v in files.items() if k != path}
        return JoinedWork("", conflicts) if conflicts else JoinedWork(self.add_commit(files, *tips))

    # Committing and saving.

    def _changes(self, worktree: Worktree) -> tuple[list[str], list[str]]:
        files = self.trees.get(worktree.path, {})
        head = self.commits[self._head(worktree)].files
        dirty = [path for path in head if files.get(path) != head[path]] if worktree.path in self.trees else []
        passed = self.ignored.get(worktree.path, [])
        return sorted(dirty), sorted(path for path in files if path not in head and path not in passed)

    def _head(self, worktree: Worktree) -> str:
        return self.branches[worktree.common].get(worktree.branch, worktree.base)

    def _counted(self, worktree: Worktree) -> Files:
        files, passed = self.trees.get(worktree.path, {}), self.ignored.get(worktree.path, [])
        return {path: text for path, text in files.items() if path not in passed}

    def touched(self, worktree: Worktree) -> list[str]:
        if worktree.path not in self.trees:
            return []
        now, was = self._counted(worktree), self.commits[worktree.base].files
        return sorted(path for path in {*now, *was} if now.get(path) != was.get(path))

    def now(self, worktree: Worktree) -> str:
        if worktree.path not in self.trees:
            return ""
        if any(self._changes(worktree)):
            return self.add_commit(self._counted(worktree), self._head(worktree))
        return self._head(worktree)

    def diff(self, worktree: Worktree) -> str:
        now = self.now(worktree)
        return self._patch(worktree.base, now) if now else ""

    def commit(self, worktree: Worktree, author: str, message: str) -> str:  # noqa: ARG002 - nobody asks a twin
        if worktree.path not in self.trees:
            raise AtmError(f"{worktree.path} is no worktree any more", "make it again")
        if any(self._changes(worktree)):
            made = self.add_commit(self._counted(worktree), self._head(worktree))
            self.branches[worktree.common][worktree.branch] = made
        return self._head(worktree)

    def save(self, worktree: Worktree, team: str, task: str, why: str, *, branch: bool = False) -> Saved | None:
        dirty, untracked = self._changes(worktree)
        is_lost = branch and self._own_commits(worktree.common, worktree.branch, {worktree.base})
        return self._save(worktree, team, task, why) if dirty or untracked or is_lost else None

    def _save(self, worktree: Worktree, team: str, task: str, why: str) -> Saved:
        dirty, untracked = self._changes(worktree)
        files = self._counted(worktree) if dirty or untracked else self.commits[self._head(worktree)].files
        for former in self._of_team(worktree.common, team):
            kept = self.commits[former.commit]
            if kept.files == files and kept.parents == [self._head(worktree)]:
                return former
        commit = self.add_commit(files, self._head(worktree))
        ref = salvage_ref(team, task, f"{len(self._bases):017d}Z")
        made = Saved(
            id=commit[-12:],
            ref=ref,
            commit=commit,
            common=worktree.common,
            why=why,
            dirty=dirty,
            untracked=untracked,
        )
        self._saved.append(made)
        self._bases[commit] = worktree.base or self._head(worktree)
        return made

    def keep(self, common: str, team: str, task: str, commit: str, why: str) -> Saved:
        """A commit itself, once."""
        for former in self._of_team(common, team):
            if self.commits[former.commit].parents == [commit]:
                return former
        made = self.add_commit(self.commits[commit].files, commit)
        ref = salvage_ref(team, task, f"{len(self._bases):017d}Z")
        kept = Saved(id=made[-12:], ref=ref, commit=made, common=common, why=why, dirty=[], untracked=[])
        self._saved.append(kept)
        self._bases[made] = commit
        return kept

    def follow(self, team: str, before: str, after: str) -> None:
        for path, place in self._worktrees.items():
            if place.common == before and path.split("/")[-2] == encode(team):
                place.common = after
        self.branches[after] = self.branches.pop(before, {})

    def _of_team(self, common: str, team: str) -> list[Saved]:
        found = [one for one in self._saved if one.common == common]
        return [one for one in found if not team or (parts_of_salvage(one.ref) or ("",))[0] == team]

    # Removing.

    def remove(self, worktree: Worktree, *, branch: bool) -> None:
        team, task = self._names_of(worktree.path)
        branches = self.branches[worktree.common]
        known = {worktree.base, *(one.commit for one in self._saved)} - {""}
        is_lost = branch and worktree.branch in branches and self._own_commits(worktree.common, worktree.branch, known)
        if any(self._changes(worktree)) or is_lost:
            self._save(worktree, team, task, "its worktree was removed")
        self.trees.pop(worktree.path, None)
        self._worktrees.pop(worktree.path, None)
        if branch or branches.get(worktree.branch) == worktree.base:
            branches.pop(worktree.branch, None)

    def _names_of(self, path: str) -> tuple[str, str]:
        team, _, name = path.removeprefix("/worktrees/").partition("/")[2].partition("/")
        return team, (names_in(name) or ("", ""))[0]

    def discard(self, worktree: Worktree) -> None:
        self.trees.pop(worktree.path, None)
        self._worktrees.pop(worktree.path, None)
        self.branches[worktree.common].pop(worktree.branch, None)

    def left(self, team: str) -> list[Worktree]:
        wanted = f"/{encode(team)}/"
        return [one for path, one in sorted(self._worktrees.items()) if wanted in path]

    def unused(self, team: str) -> list[Worktree]:
        found = []
        for repository in self.repositories.values():
            for name in self.branches[repository.common]:
                path = f"/worktrees/{repository.key}/{encode(team)}/{name.rpartition('/')[2]}"
                if name.startswith(work_folder(team)) and path not in self.trees:
                    found.append(Worktree(path=path, branch=name, base="", common=repository.common))
        return found

    # What was saved.

    def saved(self, common: str, team: str = "") -> list[Saved]:
        return [*reversed(self._of_team(common, team))]

    def show(self, saved: Saved) -> str:
        return self._patch(self._bases[saved.commit], saved.commit)

    def _patch(self, base: str, commit: str) -> str:
        before, after = self.commits[base].files, self.commits[commit].files
        lines: list[str] = []
        for path in sorted({*before, *after}):
            old, new = before.get(path, "").splitlines(), after.get(path, "").splitlines()
            lines += difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="")
        return "\n".join(lines)

    def restore(self, saved: Saved, folder: str) -> list[str]:
        if self.restored.get(folder):
            raise RequestError(f"{folder} is not empty", "name a new or an empty folder")
        self.restored[folder] = dict(self.commits[saved.commit].files)
        return sorted(self.restored[folder])

    def drop(self, saved: Saved) -> None:
        if saved.ref not in [one.ref for one in self._saved]:
            raise AtmError(f"{saved.ref} is not there any more", "see `atm salvage list`")
        self._saved = [one for one in self._saved if one.ref != saved.ref]
