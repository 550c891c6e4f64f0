"""
Importing a plan again: what is new is added, what changed is changed as long as nobody has begun it, the rest stays.
And one task changed by hand, by the same comparison.

A line of the plan is known by its `id`, else by its title and the file it comes from. Tasks that are finished, failed
or claimed are left alone, and so is what is gone from the plan: the caller hears of both. All of it is written as one,
or nothing.
"""

from __future__ import annotations

from atm.board.formats.task import decode_task
from atm.board.rules.acceptance import about, is_command
from atm.board.rules.claims import check_may_lead, check_open
from atm.board.rules.tasks import CANCELLED, COMPLETED, FAILED, IN_PROGRESS, PENDING, Change, task_id
from atm.board.services.boardroom import open_team, sign_of_life
from atm.board.services.mail import tell
from atm.board.services.marks import OURS, entered
from atm.board.services.new_tasks import NewTask, commands_in, matches, meant_tasks, wishes_of
from atm.board.services.planning import check_count, markers_for, name_doers, prepared, put
from atm.core.errors import NotAllowed, UnreadableFile
from atm.core.names import same_name
from atm.core.plain import dicts_in
from atm.core.work_errors import BadTask, NoSuchTask
from atm.team.rules.team import is_boss as is_named_boss
from atm.team.services.standing import is_boss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from atm.board.formats.task_drafts import TaskDraft
    from atm.board.ports.tasks import NewFile
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card, Task
    from atm.board.services.boardroom import Boardroom
    from atm.board.services.planning import Markers
    from atm.core.plain import Plain, Record
    from atm.team.rules.team import Team

    Entries = tuple[list[Record], list[Record]]
    Commands = Callable[[Task, NewTask, list[Record], list[Record]], Entries]

TICKED = "it is ticked in the plan and open on the board; an import completes nothing"


class ChangedTask:
    """A task that is now as the plan says, and what was different."""

    __slots__ = ("id", "subject", "what")

    def __init__(self, id: str, subject: str, what: list[str]) -> None:
        self.id = id
        self.subject = subject
        self.what = what
        """In the words of a plan: title, description, files, depends_on ..."""


class KeptTask:
    """A task that the plan wants otherwise and that was left alone."""

    __slots__ = ("id", "subject", "what", "why")

    def __init__(self, id: str, subject: str, what: list[str], why: str) -> None:
        self.id = id
        self.subject = subject
        self.what = what
        self.why = why


class Imported:
    """What became of a plan, or would become of it."""

    __slots__ = ("added", "board", "changed", "kept", "missing", "news", "to_allow", "unchanged", "warnings")

    def __init__(self, board: Board) -> None:
        self.board = board
        self.added: list[Task] = []
        self.changed: list[ChangedTask] = []
        self.unchanged: list[str] = []
        self.kept: list[KeptTask] = []
        self.missing: list[Card] = []
        """Tasks that came from this file and of which it says nothing any more. They stay."""
        self.news: list[NewTask] = []
        """Lines of the plan that bring commands which were not on the board."""
        self.to_allow: list[dict[str, str]] = []
        """Commands to which the person says yes who allows this plan's, as far as nobody had."""
        self.warnings: list[str] = []


def reimport(boardroom: Boardroom, team: str, who: str, wishes: Sequence[NewTask], source: str) -> Imported:
    """Bring the board up to a plan. `source` is the plan's file, by which its tasks are known; empty if it has none."""
    found = open_team(boardroom, team)
    check_count(wishes)
    work = _Import(boardroom, found, who, wishes, source)
    work.read(boardroom.tasks.board(found.name))
    added = put(boardroom, found, who, work.count, work.prepare)
    work.done.board, work.done.warnings = added.board, added.warnings
    return work.done


def rehearse_import(boardroom: Boardroom, team: str, who: str, wishes: Sequence[NewTask], source: str) -> Imported:
    """What `reimport` would do, with everything checked that it checks and nothing written."""
    found = open_team(boardroom, team)
    check_count(wishes)
    work = _Import(boardroom, found, who, wishes, source)
    board = boardroom.tasks.board(found.name)
    work.read(board)
    first = max([0, *board.cards, *board.gone]) + 1
    work.prepare(board, list(range(first, first + work.count(board))))
    return work.done


def edit(
    boardroom: Boardroom, team: str, who: str, id: str, wants: Mapping[str, Plain]
) -> tuple[Task, list[str], list[str]]:
    """One task as somebody wants it now: the task, what is different, and whom nobody could tell."""
    found = open_team(boardroom, team)
    checks = dicts_in(wants.get("acceptance"))
    work = _Import(boardroom, found, who, [NewTask("checks", acceptance=checks)], "")
    what: list[str] = []

    def rule(task: Task) -> Change | None:
        if task.outcome != FAILED:  # the checks of a failed task can be edited before the task is reopened
            check_open(task)
        if why := work.why_not_ours(task):
            raise NotAllowed(f"#{task.id} is not yours to change: {why}", "ask them")
        if "acceptance" in wants and task.is_claimed:
            check_may_lead(who, work.may_lead(), f"change the checks of #{task.id}, which {task.owner} works on")
        differences = _Differences(task, wish := _edited(task, wants), "")
        differences.look_at_commands(work.commands, task, wish)
        what[:] = differences.what
        return differences.change(boardroom.stamp(who).event("task_changed", what=[*what])) if what else None

    with boardroom.tasks.turn(found.name) as turn:
        done = turn.change(task_id(id), rule)
    sign_of_life(boardroom, found, who)
    task = done if done is not None else boardroom.tasks.read(found.name, task_id(id))
    warnings = (
        tell(boardroom, found, who, task.owner, task, f"changed: {', '.join(what)}") if task.owner and what else []
    )
    return task, what, warnings


def _edited(task: Task, wants: Mapping[str, Plain]) -> NewTask:
    said = {"subject": task.subject, "description": task.description, "priority": task.priority, **wants}
    return NewTask(
        str(said["subject"]),
        description=str(said["description"]),
        priority=str(said["priority"]),
        files=[str(one) for one in files] if isinstance(files := wants.get("files"), list) else task.files,
        acceptance=dicts_in(wants["acceptance"]) if "acceptance" in wants else task.acceptance,
        run=task.run,
        runtime=task.runtime,
        needs_plan=bool(task.plan),
        timeout=float(limit) if isinstance(limit := wants.get("timeout", task.timeout), int | float) else None,
    )


def done_drafts(board: Board, drafts: Sequence[TaskDraft], source: str) -> list[bool]:
    """For every line of a plan: is the task completed that it is on the board? That is what may be ticked."""
    cards = matches(board, wishes_of(drafts, source=source), source)
    return [card is not None and board.is_done(card.id) for card in cards]


class _Import:
    """One import of one plan: may be prepared again, if the board changed meanwhile."""

    __slots__ = ("_boardroom", "_markers", "_may_lead", "_source", "_tasks", "_team", "_who", "_wishes", "done")

    def __init__(self, boardroom: Boardroom, team: Team, who: str, wishes: Sequence[NewTask], source: str) -> None:
        self._boardroom = boardroom
        self._team = team
        self._who = who
        self._wishes = wishes
        self._source = source
        name_doers(team, wishes)
        self._markers: Markers = markers_for(boardroom, team, who, wishes)
        self._tasks: dict[int, Task] = {}
        self._may_lead: bool | None = None
        self.done: Imported

    def read(self, board: Board) -> None:
        """The whole tasks that the plan means, before anybody waits for us."""
        for card in matches(board, self._wishes, self._source):
            if card is not None:
                self._whole(board, card)

    def _whole(self, board: Board, card: Card) -> Task | None:
        """None for what is gone, or cannot be read just now."""
        known = self._tasks.get(card.number)
        if known is not None and known.values() == card.values():
            return known
        if card.number not in board.cards:
            return None
        try:
            self._tasks[card.number] = self._boardroom.tasks.read(self._team.name, card.id)
        except (NoSuchTask, UnreadableFile):
            return None
        return self._tasks[card.number]

    def count(self, board: Board) -> int:
        return matches(board, self._wishes, self._source).count(None)

    def prepare(self, board: Board, numbers: list[int]) -> tuple[list[NewFile], dict[str, Change]]:
        self.done = Imported(board)
        cards = matches(board, self._wishes, self._source)
        new = [wish for wish, card in zip(self._wishes, cards, strict=True) if card is None]
        if len(new) > len(numbers):
            raise BadTask("tasks of this plan went from the board while its hooks were asked", "import it again")
        fresh = iter(numbers)
        ids = [str(next(fresh)) if card is None else card.id for card in cards]
        meant = meant_tasks(board, self._wishes, ids)
        needs = {id: meant[id] for id, card in zip(ids, cards, strict=True) if card is None}
        changes: dict[str, Change] = {}
        for wish, card in zip(self._wishes, cards, strict=True):
            if card is not None:
                self._compare(board, wish, card, meant[card.id], needs, changes)
        thinner = board
        for id, change in changes.items():
            dropped = change.drop.get("blockedBy", [])
            thinner = thinner.without_edges(id, dropped) if dropped else thinner
        files, links = prepared(
            self._boardroom, thinner, self._who, new, numbers[: len(new)], self._markers, needs=needs
        )
        self._report(cards, new, files)
        return files, _merged(board, changes, links)

    def _report(self, cards: list[Card | None], new: list[NewTask], files: list[NewFile]) -> None:
        done = self.done
        done.added = [decode_task(file.content, file.number) for file in files]
        done.news += [wish for wish in new if wish.commands]
        done.to_allow = [*commands_in(new), *done.to_allow]
        if self._source:
            meant = {card.number for card in cards if card is not None}
            done.missing = [
                card
                for card in done.board.sorted()
                if card.source == self._source and card.number not in meant and card.outcome != CANCELLED
            ]

    def _compare(
        self,
        board: Board,
        wish: NewTask,
        card: Card,
        meant: list[str],
        needs: dict[str, list[str]],
        changes: dict[str, Change],
    ) -> None:
        task = self._whole(board, card)
        if task is None:
            self.done.unchanged.append(card.id)
            return
        found = _Differences(task, wish, self._source)
        found.look_at_edges(board, task, meant)
        found.look_at_commands(self.commands, task, wish)
        why = TICKED if wish.is_done and not card.is_finished else ""
        if not found.what and not why:
            self.done.unchanged.append(card.id)
            return
        why = why or _why_kept(card) or self.why_not_ours(task)
        if why:
            self.done.kept.append(KeptTask(card.id, card.subject, found.what, why))
            return
        self.done.changed.append(ChangedTask(card.id, wish.subject, found.what))
        self.done.to_allow += [{"subject": wish.subject, "command": about(one)} for one in found.newly_allowed]
        if found.brings_commands:
            self.done.news.append(wish)
        if found.more:
            needs[card.id] = found.more
        changes[card.id] = found.change(self._boardroom.stamp(self._who).event("task_changed", what=[*found.what]))

    def may_lead(self) -> bool:
        if self._may_lead is None:
            is_named_so = is_named_boss(self._team, self._who)
            self._may_lead = is_named_so and is_boss(self._boardroom.room, self._team, self._who)
        return self._may_lead

    def why_not_ours(self, task: Task) -> str:
        """Whoever hands in a plan may change what they added themselves; the lead and humans, everything."""
        creator = task.text("createdBy")
        if self.may_lead() or same_name(creator, self._who):
            return ""
        return f"{creator or 'another program'} added it: only they, the lead or a human may change it"

    def commands(self, task: Task, wish: NewTask, old: list[Record], new: list[Record]) -> Entries:
        """The plan's commands for a task, and those to which somebody says yes now. A yes of before still holds."""
        marker = self._markers.get(wish.commands_of)
        before = {_words(check): check for check in reversed(old)}
        found: list[Record] = []
        allowed: list[Record] = []
        for check in new:
            same = before.get(_words(check))
            if same is not None and (not wish.commands_of or self._is_allowed(task, same)):
                found.append(same)
                continue
            found += marker.marked(task.id, task.text("folder"), [check]) if marker is not None else [check]
            allowed += [check] if wish.commands_of and is_command(check) else []
        return found, allowed

    def _is_allowed(self, task: Task, check: Record) -> bool:
        return not is_command(check) or entered(self._boardroom, self._team, task, check) is not None


class _Differences:
    """What the plan wants otherwise than it stands on the board."""

    __slots__ = ("_fields", "_own", "less", "more", "newly_allowed", "what")

    def __init__(self, task: Task, wish: NewTask, source: str) -> None:
        self.what: list[str] = []
        self.more: list[str] = []
        self.less: list[str] = []
        self.newly_allowed: list[Record] = []
        self._fields: dict[str, str] = {}
        self._own: dict[str, Plain] = {}
        self._text("title", "subject", task.subject, wish.subject)
        self._text("description", "description", task.description, wish.description)
        self._ours("priority", task.priority, wish.priority, wish.priority)
        self._ours("files", [*task.files], wish.files, [*wish.files] or None)
        self._ours("runtime", task.runtime, wish.runtime, wish.runtime or None)
        self._ours("timeout", task.timeout, wish.timeout, wish.timeout)
        if wish.key:  # one that was left out of the plan later still names the task
            self._ours("key", task.key, wish.key, wish.key, "id")
        if source:
            self._ours("source", task.source, source, source, "file")
        if task.plan in ("", "required"):
            needed: Plain = {"state": "required"} if wish.needs_plan else None
            self._ours("plan", bool(task.plan), wish.needs_plan, needed)

    @property
    def brings_commands(self) -> bool:
        return not {"accept", "run"}.isdisjoint(self.what)

    def _text(self, name: str, key: str, old: str, new: str) -> None:
        if old != new:
            self.what.append(name)
            self._fields[key] = new

    def _ours(self, key: str, old: object, new: object, value: Plain, name: str = "") -> None:
        if old != new:
            self.what.append(name or key)
            self._own[key] = value

    def look_at_edges(self, board: Board, task: Task, meant: list[str]) -> None:
        """What somebody added by hand, or by a split, is more than the plan knows, and stays."""
        now = board.blockers(task)
        by_hand = _added_by_hand(task)
        self.more = [id for id in meant if id not in now]
        self.less = [id for id in now if id not in meant and id not in by_hand and id.isdecimal()]
        if self.more or self.less:
            self.what.append("depends_on")

    def look_at_commands(self, entries: Commands, task: Task, wish: NewTask) -> None:
        for name, old, new in (("accept", task.acceptance, wish.acceptance), ("run", task.run, wish.run)):
            found, allowed = entries(task, wish, old, new)
            self.newly_allowed += allowed
            if found != old:
                self.what.append(name)
                self._own["acceptance" if name == "accept" else name] = [*found] or None

    def change(self, event: Record) -> Change:
        more, less = {"blockedBy": self.more} if self.more else {}, {"blockedBy": self.less} if self.less else {}
        return Change(event, fields=self._fields, own=self._own, add=more, drop=less)


def _words(check: Record) -> tuple[tuple[str, str], ...]:
    """What a check says, whoever entered it."""
    return tuple(sorted((key, str(value)) for key, value in check.items() if key not in OURS))


def _added_by_hand(task: Task) -> set[str]:
    found: set[str] = set()
    for event in task.events:
        listed = event.get("added") if event.get("type") == "dependencies_changed" else event.get("parts")
        found |= {str(id) for id in listed} if isinstance(listed, list) else set()
    return found


def _why_kept(card: Card) -> str:
    if card.outcome or card.status == COMPLETED:
        return f"it is {card.outcome or card.status}"
    if card.status == IN_PROGRESS:
        return f"{card.owner} works on it" if card.owner else "it is in progress"
    return "" if card.status == PENDING else f"it is {card.status}"


def _merged(board: Board, changes: dict[str, Change], links: dict[str, Change]) -> dict[str, Change]:
    """Both sides of every dependency that comes or goes, in one change of each file."""
    found = dict(changes)
    for id, change in changes.items():
        for other in change.drop.get("blockedBy", ()):
            card = board.cards.get(int(other)) if other.isdecimal() else None
            if card is not None and not card.problem:
                mirror = found.setdefault(other, Change())
                mirror.drop.setdefault("blocks", []).append(id)
    for id, link in links.items():
        mirror = found.setdefault(id, Change())
        mirror.add.setdefault("blocks", []).extend(link.add["blocks"])
    return found
