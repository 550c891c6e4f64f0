"""
A conflict and who resolves it: what is remembered of former ones, then a command or a runtime, then a person.

It happens in a worktree in which git's own merge has stopped; the same one that `atm merge resolve` gives to a person.
"""

from __future__ import annotations

from atm.board.rules.acceptance import said_by
from atm.core.errors import AtmError
from atm.crew.rules.last_words import FAILED as SAYS_NO
from atm.crew.rules.last_words import last_words
from atm.crew.rules.refs import QUEUE, folder_name
from atm.crew.services.crewroom import change
from atm.crew.services.one_answer import NoAnswer, await_answer, dismiss
from atm.crew.services.reaping import clear_away, end_processes, is_of
from atm.crew.services.spawning import AgentWish, spawn
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.merges.rules.items import CONFLICT, RESOLVED
from atm.merges.rules.negotiating import ConflictSide, lost_in, negotiation
from atm.vendors.runtime import HEADLESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from atm.crew.ports.worktrees import Worktree
    from atm.crew.rules.agents import AgentRecord
    from atm.merges.rules.items import MergeItem
    from atm.merges.services.desk import MergeDesk
    from atm.merges.services.mergeroom import Mergeroom

MERGER = "merger"
LOOK_EVERY = 1.0
MOST_ROUNDS = 2
"""Turns of a runtime: a second one, if it left something open."""


def prepare_place(desk: MergeDesk, item: MergeItem, onto: str) -> tuple[Worktree, list[str]]:
    """
    A worktree in which the merge has begun, and what is open in it. One that is there for just this is taken as it is;
    one that stands on another target is saved and made again.
    """
    room, piece = desk.room, desk.piece(item)
    side = room.git.side(desk.repository, piece, onto)
    place = room.crew.worktrees.make(desk.repository, desk.queue.team, item.task, QUEUE, side)
    if place.base != side:
        clear_place(desk, item.task)
        place = room.crew.worktrees.make(desk.repository, desk.queue.team, item.task, QUEUE, side)
    return place, room.git.begin(place, piece.head)


def find_place(desk: MergeDesk, task: str) -> Worktree | None:
    """One that is there already."""
    found = desk.room.crew.worktrees.left(desk.queue.team)
    ours = [one for one in found if one.common == desk.repository.common]
    return next((one for one in ours if one.path.endswith(f"/{folder_name(task, QUEUE)}")), None)


def clear_place(desk: MergeDesk, task: str, *, is_kept: bool = True) -> None:
    """The worktree of a conflict goes; what somebody did there is saved, unless it is elsewhere."""
    clear_places(desk, {task: is_kept})


def clear_places(desk: MergeDesk, tasks: Mapping[str, bool]) -> None:
    """The same for several, with one look; also branches of which somebody who was killed had removed the folder."""
    trees, names = desk.room.crew.worktrees, {folder_name(task, QUEUE): task for task in tasks}
    for place in (*trees.left(desk.queue.team), *trees.unused(desk.queue.team)):
        task = names.get(place.path.rpartition("/")[2])
        if task is not None and place.common == desk.repository.common:
            try:
                trees.remove(place, branch=True) if tasks[task] else trees.discard(place)
            except (AtmError, OSError) as error:
                desk.room.crew.room.troubles.note(f"the worktree of the conflict of #{task} stays: {error}")


def let_go(room: Mergeroom, team: str) -> None:
    """An agent that resolved conflicts, also for somebody who was killed: we hold the queue, so nobody waits for it."""
    crew = room.crew
    now = crew.records.read(team, MERGER)
    if now is None or (now.is_over and not now.worktree):
        return
    end_processes(crew, is_of(now))
    try:
        clear_away(crew, change(crew, team, MERGER, now.generation, worktree="", task=""))  # the place is the queue's
    except AtmError as error:
        crew.room.troubles.note(f"what {MERGER} left cannot be taken away: {error}")
    dismiss(crew, team, MERGER)


def take_resolution(desk: MergeDesk, item: MergeItem, place: Worktree, onto: str) -> list[str]:
    """What is resolved there becomes the work of the task. Paths that are not resolved: then nothing changes."""
    room, piece = desk.room, desk.piece(item)
    if left := room.git.settle(place, piece.head):
        return left
    made = room.crew.worktrees.commit(place, item.agent or MERGER, f"#{item.task}: conflicts resolved")
    ours = room.git.same_in(desk.repository, onto, made, item.conflicts)
    item.lost += [f"{path}: the version that was merged before was kept" for path in ours]
    item.lost = [*dict.fromkeys(item.lost)]
    item.resolution = room.git.seal(desk.repository, desk.piece(item), onto, made)
    item.resolved_onto, item.status, item.reason, item.needs_human = onto, RESOLVED, "", False
    desk.write()
    return []


class Negotiation:
    """One conflict."""

    def __init__(self, desk: MergeDesk, item: MergeItem, onto: str, meanwhile: Callable[[], None]) -> None:
        self._desk = desk
        self._meanwhile = meanwhile
        """Called again and again while somebody is at it."""
        self._room = desk.room
        self._runtime = desk.room.resolver(desk.queue.resolver)
        self._item = item
        self._onto = onto

    def run(self) -> None:
        """Resolved, or flagged for a person."""
        item, is_touched = self._item, False
        try:
            place, left = prepare_place(self._desk, item, self._onto)
            is_touched = bool(left) and bool(self._room.policy.command or self._runtime)
            why = self._ask(place, left) if left else ""
            if not why and item.status != RESOLVED:  # what an agent did was taken with its turn
                why = self._take(place)
        except NoAnswer as error:
            why = f"{self._runtime} did not resolve it: {error}; see `atm peek merger`"
        except AtmError as error:
            why = str(error)
        if why:
            clear_place(self._desk, item.task, is_kept=is_touched)
            self._desk.flag(item, CONFLICT, why)

    def _take(self, place: Worktree) -> str:
        left = take_resolution(self._desk, self._item, place, self._onto)
        return f"not resolved: {', '.join(left[:10])}" if left else ""

    def _ask(self, place: Worktree, left: list[str]) -> str:
        """Why nobody resolved it; empty if somebody did."""
        if self._room.policy.command:
            return self._run_command(place, left)
        if self._runtime:
            return self._run_agent(place, left)
        return f"in conflict with what is on {self._desk.queue.branch}, and nobody is there to resolve it"

    def _run_command(self, place: Worktree, left: list[str]) -> str:
        item, boardroom = self._item, self._room.boardroom
        facts = {
            "ATM_TEAM": self._desk.queue.team,
            "ATM_TASK": item.task,
            "ATM_WORKTREE": place.path,
            "ATM_CONFLICTS": "\n".join(left),
            "ATM_RIVALS": " ".join(one.task for one in item.rivals),
        }
        prompt = self._prompt(place, left).encode("utf-8", "replace")
        seconds, command = self._room.policy.resolve, self._room.policy.command
        ran = boardroom.programs.run(
            command,
            folder=place.path,
            seconds=seconds,
            facts=facts,
            stdin=prompt,
            meanwhile=self._meanwhile,
            every=LOOK_EVERY,
        )
        item.lost = lost_in(ran.output)
        return "" if ran.code == 0 else f"`{command}` did not resolve it: {said_by(ran).strip()[-500:]}"

    # By a runtime.

    def _run_agent(self, place: Worktree, left: list[str]) -> str:
        crew, team, item = self._room.crew, self._desk.queue.team, self._item
        let_go(self._room, team)
        wish = AgentWish(
            team=team,
            member=MERGER,
            runtime=self._runtime,
            folder=self._desk.queue.folder,
            backend=HEADLESS,
            model=self._desk.queue.model,
            prompt=self._prompt(place, left),
            run=self._desk.queue.run,
            task=item.task,
            place=place,
        )
        try:
            return self._talk(place, spawn(crew, wish), crew.clock.monotonic() + self._room.policy.resolve)
        finally:
            let_go(self._room, team)

    def _talk(self, place: Worktree, record: AgentRecord, end: float) -> str:
        room, team = self._room, self._desk.queue.team
        for turn in range(1, MOST_ROUNDS + 1):
            said = await_answer(room.crew, record, turn, end, self._meanwhile)
            self._item.lost = lost_in(said)
            word = last_words(said)
            if word.kind == SAYS_NO:
                return f"{self._runtime} says that a person has to decide: {word.text[:300]}"
            left = take_resolution(self._desk, self._item, place, self._onto)
            if not left:
                return ""
            text = f"Not resolved yet: {', '.join(left[:20])}. No conflict marker may stay; `git add` what is done."
            if turn < MOST_ROUNDS:
                send(room.crew.room, team, MERGER, Draft(sender="atm", text=text, is_urgent=True))
        return f"{self._runtime} did not resolve {', '.join(left[:10])}"

    def _prompt(self, place: Worktree, left: list[str]) -> str:
        item, queue, git = self._item, self._desk.queue, self._room.git
        mine = self._side(item, git.diff(self._desk.repository, item.base, item.head, left))
        merged = [found for rival in item.rivals if (found := queue.item(rival.task)) is not None]
        others = [self._side(o, git.diff(self._desk.repository, o.base, o.head, left)) for o in merged]
        previews = {path: git.preview(place, path) for path in left[:8]}
        return negotiation(mine, others, left, previews, queue.branch)

    def _side(self, item: MergeItem, diff: str) -> ConflictSide:
        try:
            description = self._room.boardroom.tasks.read(self._desk.queue.team, item.task).description
        except AtmError:
            description = ""
        return ConflictSide(task=item.task, agent=item.agent, subject=item.subject, description=description, diff=diff)
