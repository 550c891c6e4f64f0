"""
Working off the queue: one batch after the other, each merged, checked, and only then put on the target.

Every step is written down before its effect, so this may be killed anywhere: whoever comes next sees from the target
itself what was done (`resume`). A target that moves meanwhile is merged onto. Nothing here needs the working tree,
index, stash or hooks of the user.
"""

from __future__ import annotations

from contextlib import contextmanager

from atm.core.errors import AtmError, DiskError, FileBusy, RequestError
from atm.merges.rules.items import CONFLICT, FAILED, MERGED, MERGING, QUEUED, RESOLVED, MergeRival
from atm.merges.rules.ordering import first_bad, is_interrupted, next_batch, resume
from atm.merges.services.checking import CHECKS, CheckPlace, failed
from atm.merges.services.queueing import BoardReader
from atm.merges.services.resolving import Negotiation, clear_place, clear_places, let_go
from atm.merges.services.telling import note_merged, send_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from atm.merges.rules.items import MergeCheck, MergeItem
    from atm.merges.services.desk import MergeDesk

LOOK_EVERY = 1.0
"""Seconds between looks at what is done, while somebody resolves a conflict."""

MOST_MOVES = 25
"""Times that the target may move under our hands before a batch is given up."""


class Merging:
    """One process works one queue off. It holds the queue."""

    def __init__(self, desk: MergeDesk) -> None:
        self.desk = desk
        self.room, self.queue, self.repository = desk.room, desk.queue, desk.repository
        self._board = BoardReader(desk.room, desk.queue.team)
        self._checks = CheckPlace(desk.room, desk.repository, desk.queue.team)
        self._moves = 0
        self._looked_at = 0.0

    @contextmanager
    def ready(self) -> Iterator[None]:
        """The target is there, and what a killed process left is put right; afterwards the worktree for checks goes."""
        queue, git = self.queue, self.room.git
        if queue.base or not git.head(self.repository, queue.branch):
            git.open_target(self.repository, queue.branch, queue.base or self.repository.head)
        left = {one.task: True for one in queue.items if is_interrupted(one)}  # half resolved, perhaps: it begins again
        is_whole = not queue.green or git.contains(self.repository, queue.branch, queue.green)
        resume(queue, lambda commit: git.contains(self.repository, queue.branch, commit), is_whole=is_whole)
        left |= {one.task: False for one in queue.items if one.status == MERGED and one.resolution}
        clear_places(self.desk, {**left, CHECKS: False})
        let_go(self.room, queue.team)
        self.look()
        for item in queue.items:
            if item.status == MERGED and not self._board.is_noted(item):
                self._note_on_board(item)
        try:
            yield
        finally:
            self._checks.clear()

    def look(self) -> None:
        """What was done meanwhile joins."""
        self._board.refresh(self.queue)
        for item in self.queue.items:
            try:
                if item.is_moving and not item.files:
                    item.files = self.room.git.changed(self.repository, item.base, item.head)
                if item.needs_human and not item.salvage:
                    self.desk.keep(item, item.reason[:200])
            except AtmError as error:
                if item.is_moving:
                    self.desk.flag(item, FAILED, str(error))
        self.desk.write()

    def work(self) -> None:
        """Until nothing can go on by itself."""
        with self.ready():
            while self._merge_next() or self._negotiate_next():
                continue

    def go_on_with(self, item: MergeItem) -> None:
        """This one alone, until it is merged or flagged."""
        while item.is_ready and not item.waits_for:
            self._merge([item])
            if is_interrupted(item):
                Negotiation(self.desk, item, self.desk.target(), lambda: None).run()
            self.look()

    def _merge_next(self) -> bool:
        batch = next_batch(self.queue, max(1, self.room.policy.at_once))
        if batch:
            self._merge(batch)
            self.look()
        return bool(batch)

    def _negotiate_next(self) -> bool:
        """A conflict, when nothing else is to be done. What is done meanwhile is merged meanwhile: nobody waits."""
        item = next((one for one in self.queue.items if is_interrupted(one)), None)
        if item is None:
            return False
        Negotiation(self.desk, item, self.desk.target(), self._meanwhile).run()
        self.look()
        return True

    def _meanwhile(self) -> None:
        now = self.room.clock.monotonic()
        if now - self._looked_at >= LOOK_EVERY:
            self._looked_at = now
            self.look()
            self._merge_next()

    # One batch.

    def _merge(self, batch: Sequence[MergeItem]) -> None:
        try:
            self._merge_onto(batch, self.desk.target())
        except (FileBusy, DiskError):
            raise  # nobody's fault, and not for ever: who comes next goes on
        except (AtmError, OSError) as error:
            if len(batch) > 1:  # one of them, and not all: alone each gets what it deserves
                for item in batch:
                    item.status, item.made = (QUEUED, "") if item.status == MERGING else (item.status, item.made)
                    if item.is_ready and not item.waits_for:
                        self._merge([item])
                return
            for item in batch:
                if item.is_moving:
                    self.desk.flag(
                        item, FAILED, f"{error}; {error.remedy}" if isinstance(error, AtmError) else str(error)
                    )

    def _merge_onto(self, batch: Sequence[MergeItem], target: str) -> None:
        chain: list[MergeItem] = []
        now = target
        for item in batch:
            if item.waits_for and not {*item.waits_for} <= {one.task for one in chain}:
                continue  # what it builds on did not make it into this batch
            item.attempts += 1
            joined = self.room.git.combine(self.repository, self.desk.piece(item), now)
            if not joined.commit:
                if not chain:
                    self._conflict(item, joined.conflicts)
                    return
                continue  # alone, with the target as it will be then
            item.status, item.made = MERGING, joined.commit
            chain.append(item)
            now = joined.commit
        self.desk.write()
        self._judge(chain, target)

    def _judge(self, chain: Sequence[MergeItem], target: str) -> None:
        """Land what is green. What is red is found by halving, and goes back; the others begin again."""
        checks = self._checks.run(chain[-1].made, chain)
        if failed(checks) is None:
            self._land(chain, target, checks)
            return
        seen: dict[int, list[MergeCheck]] = {len(chain): checks, 0: []}

        def is_green(count: int) -> bool:
            seen[count] = self._checks.run(chain[count - 1].made, chain[:count])
            return failed(seen[count]) is None

        if not self._is_green(target):
            for item in chain:
                self.desk.flag(item, FAILED, f"`{self.room.policy.check}` fails on {self.queue.branch} without it too")
            return
        bad = first_bad(len(chain), is_green)
        red = chain[bad - 1]
        landed = bad == 1 or self._land(chain[: bad - 1], target, seen[bad - 1])
        for item in chain[bad if landed else bad - 1 :]:
            item.status, item.made = QUEUED, ""
        if landed:
            self._red(red, seen[bad])

    def _is_green(self, target: str) -> bool:
        """Is the target itself? Nobody is blamed for what was red before."""
        if self.queue.green == target:
            return True
        is_fine = failed(self._checks.run(target, [])) is None
        self.queue.green = target if is_fine else self.queue.green
        return is_fine

    def _land(self, chain: Sequence[MergeItem], target: str, checks: Sequence[MergeCheck]) -> bool:
        """Whether it is there now. If not, somebody moved the target, and all of it is merged again."""
        git, queue, tip = self.room.git, self.queue, chain[-1].made
        try:
            is_there = git.land(self.repository, queue.branch, tip, target)
        except RequestError as error:
            for item in chain:
                self.desk.flag(item, FAILED, f"{error}; {error.remedy}")
            return False
        self._moves = 0 if is_there else self._moves + 1
        for item in chain:
            # Said only when it is so: `git merge-base --is-ancestor`.
            if is_there and git.contains(self.repository, queue.branch, item.made):
                self._merged(item, checks)
            elif self._moves > MOST_MOVES:
                self.desk.flag(item, FAILED, f"{queue.branch} was moved {self._moves} times while this was merged")
            else:
                item.status, item.made = RESOLVED if item.resolution else QUEUED, ""
        if is_there:
            queue.green = tip
        self.desk.write()
        return is_there

    def _merged(self, item: MergeItem, checks: Sequence[MergeCheck]) -> None:
        item.status, item.commit, item.made, item.reason = MERGED, item.made, "", ""
        item.checks, item.needs_human, item.waits_for, item.merged_at = [*checks], False, [], self.room.clock.now()
        if item.lost:
            self.desk.keep(item, "not all of it is in what was merged")
        self._note_on_board(item)
        if item.resolution:
            clear_place(self.desk, item.task, is_kept=False)  # all of it is on the target

    def _note_on_board(self, item: MergeItem) -> None:
        try:
            note_merged(self.room.boardroom, self.queue, item)
        except AtmError as error:
            self.room.crew.room.troubles.note(f"#{item.task} is merged; the board does not say so: {error}")

    # What does not go well.

    def _conflict(self, item: MergeItem, files: Sequence[str]) -> None:
        """Noted, and resolved when nothing else is to be done."""
        item.status, item.conflicts, item.rivals = CONFLICT, [*files], self._rivals(item, files)
        item.conflict_at = self.room.clock.now()
        self.desk.write()
        self.desk.keep(item, f"it is in conflict with {self.queue.branch}")

    def _rivals(self, item: MergeItem, files: Sequence[str]) -> list[MergeRival]:
        """Who was merged before and changed the same files."""
        others = [one for one in self.queue.items if one.status == MERGED and one.task != item.task]
        meant = [one for one in others if {*one.files} & {*files} and one.task not in item.waits_for]
        return [MergeRival(task=one.task, agent=one.agent, subject=one.subject) for one in meant]

    def _red(self, item: MergeItem, checks: Sequence[MergeCheck]) -> None:
        """Back to the board with what failed; for a person after some times."""
        item.checks, item.made = [*checks], ""
        bad = failed(checks)
        assert bad is not None
        said = f"`{bad.command}` fails once it is merged with what is on {self.queue.branch}"
        if item.resolution:
            item.resolution = item.resolved_onto = ""
            clear_place(self.desk, item.task)
        self.desk.keep(item, said)
        if item.sent_back < self.room.policy.sends_back:
            try:
                send_back(self.room.boardroom, self.queue, item, said, bad)
            except AtmError as error:
                self.desk.flag(item, FAILED, f"{said}; its task could not be opened again: {error}")
                return
            item.sent_back += 1
            item.status, item.reason = FAILED, f"{said}; #{item.task} was opened again"
            self.desk.write()
            return
        self.desk.flag(item, FAILED, said)
