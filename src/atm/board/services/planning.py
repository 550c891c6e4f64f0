"""
Adding to the board: tasks one by one or a whole plan, dependencies, and tasks that turn out to be several.

Everything is checked before anything is written: unknown ids, circles, titles that mean two tasks. Then it is
written as one: all of it or nothing, also across a crash.
"""

from __future__ import annotations

from atm.board.formats.task import apply, decode_task, new_task
from atm.board.ports.tasks import NewFile
from atm.board.rules import claims
from atm.board.rules.dependencies import Board, check_new_edges
from atm.board.rules.tasks import COMPLETED, PENDING, PRIORITIES, Card, Change, Task, task_id
from atm.board.services.boardroom import open_team, sign_of_life
from atm.board.services.marks import Marker, marker_for
from atm.board.services.new_tasks import NewTask, meant_tasks
from atm.core.names import same_name
from atm.core.untrusted_text import shell_words
from atm.core.work_errors import BadTask, NotClaimant
from atm.files.formats.json_record import to_bytes, to_text
from atm.team.services.standing import is_boss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atm.board.rules.tasks import Stamp
    from atm.board.services.boardroom import Boardroom
    from atm.core.plain import Plain, Record
    from atm.team.rules.team import Team

    Markers = dict[str | None, Marker]
    Prepare = Callable[[Board, list[int]], tuple[list[NewFile], dict[str, Change]]]

MOST_AT_ONCE = 20_000


class Added:
    """The tasks as they were written, and whom nobody could tell."""

    __slots__ = ("board", "tasks", "warnings")

    def __init__(self, tasks: list[Task], board: Board, warnings: list[str]) -> None:
        self.tasks = tasks
        self.board = board
        self.warnings = warnings


def add(boardroom: Boardroom, team: str, who: str, wishes: Sequence[NewTask]) -> Added:
    """Add tasks. Hooks are asked before a reader can see them."""
    found = open_team(boardroom, team)
    check_count(wishes)
    name_doers(found, wishes)
    markers = markers_for(boardroom, found, who, wishes)

    def prepare(board: Board, numbers: list[int]) -> tuple[list[NewFile], dict[str, Change]]:
        return prepared(boardroom, board, who, wishes, numbers, markers)

    return put(boardroom, found, who, lambda _: len(wishes), prepare)


def check_count(wishes: Sequence[NewTask]) -> None:
    if not 0 < len(wishes) <= MOST_AT_ONCE:
        raise BadTask(f"{len(wishes)} tasks cannot be added at once", f"add between 1 and {MOST_AT_ONCE}")


def name_doers(team: Team, wishes: Sequence[NewTask]) -> None:
    """`lead` by the lead's own name: a task keeps its owner and its reviewer when somebody else leads."""
    for wish in wishes:
        wish.owner, wish.reviewer = team.doer(wish.owner), team.doer(wish.reviewer)


def markers_for(boardroom: Boardroom, team: Team, who: str, wishes: Sequence[NewTask]) -> Markers:
    """One for each in whose name commands are entered; whoever enters none needs none."""
    checks: dict[str | None, list[Record]] = {}
    for wish in wishes:
        checks.setdefault(wish.commands_of, []).extend(wish.commands)
    return {
        name: marker_for(boardroom, team, who if name is None else name, entered) for name, entered in checks.items()
    }


def put(boardroom: Boardroom, team: Team, who: str, count: Callable[[Board], int], prepare: Prepare) -> Added:
    """
    Write what `prepare` gives: new files, and changes of old ones. It raises before anything is written.

    `count` says how many numbers are needed. Where hooks are asked, `prepare` is called again afterwards with the same
    numbers, as the board may have changed.
    """
    has_hooks = bool(boardroom.hooks.get("TaskCreated"))
    with boardroom.tasks.turn(team.name) as turn:
        numbers = turn.upcoming(count(turn.board))
        has_hooks = has_hooks and bool(numbers)
        files, changes = prepare(turn.board, numbers)
        if has_hooks:
            turn.reserve(numbers)  # they are named to the hooks, so nobody else may get them meanwhile
        elif files or changes:
            turn.write(files, changes)
    warnings: list[str] = []
    if has_hooks:
        warnings = _ask_hooks(boardroom, team.name, who, files)
        with boardroom.tasks.turn(team.name) as turn:  # the board may have changed: everything is checked again
            files, changes = prepare(turn.board, numbers)
            turn.write(files, changes)
    sign_of_life(boardroom, team, who)
    tasks = [decode_task(file.content, file.number) for file in files]
    return Added(tasks, turn.board, [*warnings, *_tell_owners(boardroom, team, who, tasks)])


def rehearse(boardroom: Boardroom, team: str, wishes: Sequence[NewTask]) -> Sequence[NewTask]:
    """Check everything that `add` checks, and write nothing."""
    board = boardroom.tasks.board(open_team(boardroom, team).name)
    first = max([0, *board.cards, *board.gone]) + 1
    prepared(boardroom, board, "", wishes, list(range(first, first + len(wishes))))
    return wishes


def _ask_hooks(boardroom: Boardroom, team: str, who: str, files: list[NewFile]) -> list[str]:
    from atm.board.services.hooks import check_not_blocked, run_hooks

    warnings: list[str] = []
    for file in files:
        verdict = run_hooks(boardroom, "TaskCreated", team, who, decode_task(file.content, file.number))
        check_not_blocked(verdict, "the task was not created" if len(files) == 1 else "no task was created")
        warnings += verdict.warnings
    return warnings


def _tell_owners(boardroom: Boardroom, team: Team, who: str, tasks: list[Task]) -> list[str]:
    given = [task for task in tasks if task.owner and not task.is_finished]
    if not given:
        return []
    from atm.board.services.mail import tell_assigned

    strangers = dict.fromkeys(task.owner for task in given if team.member(task.owner) is None)
    said = [
        f"{name} is not in the roster of {team.name}: atm teams add-member {shell_words(team.name, name)}"
        for name in strangers
    ]
    return [*said, *(warning for task in given for warning in tell_assigned(boardroom, team, task, who, task.owner))]


def prepared(
    boardroom: Boardroom,
    board: Board,
    who: str,
    wishes: Sequence[NewTask],
    numbers: list[int],
    markers: Markers | None = None,
    more: dict[str, list[str]] | None = None,
    needs: dict[str, list[str]] | None = None,
) -> tuple[list[NewFile], dict[str, Change]]:
    """
    The new files, and the other side of their dependencies in old ones. Raises before anything is written.

    `needs` are their dependencies where these are known, and those that old tasks get beside them.
    """
    ids = [str(number) for number in numbers]
    needs = meant_tasks(board, wishes, ids) if needs is None else needs
    names = {id: repr(wish.subject) for wish, id in zip(wishes, ids, strict=True)}
    check_new_edges(board, {**needs, **(more or {})}, names)
    needed_by: dict[str, list[str]] = {}
    for id, others in needs.items():
        for other in others:
            needed_by.setdefault(other, []).append(id)
    files = [
        _file(
            boardroom,
            who,
            wish,
            number,
            needs[str(number)],
            needed_by.get(str(number), []),
            (markers or {}).get(wish.commands_of),
        )
        for wish, number in zip(wishes, numbers, strict=True)
    ]
    links = {id: Change(add={"blocks": others}) for id, others in needed_by.items() if int(id) in board.cards}
    return files, links


def _file(
    boardroom: Boardroom,
    who: str,
    wish: NewTask,
    number: int,
    needs: list[str],
    needed_by: list[str],
    marker: Marker | None,
) -> NewFile:
    by = boardroom.stamp(who)
    created = by.event("task_created", subject=wish.subject, owner=wish.owner, dependsOn=[*needs] or None)
    own: dict[str, Plain] = {"createdBy": who, "createdAt": by.at, "priority": wish.priority, "events": [created]}
    retries = boardroom.max_retries if wish.max_retries is None else wish.max_retries
    said: dict[str, Plain] = {
        "maxRetries": retries,
        "files": [*wish.files] or None,
        "acceptance": [*(marker.marked(str(number), wish.folder, wish.acceptance) if marker else [])] or None,
        "run": [*(marker.marked(str(number), wish.folder, wish.run) if marker else [])] or None,
        "folder": wish.folder or None,
        "needsReview": True if wish.reviewer else None,
        "reviewer": wish.reviewer or None,
        "quantum": wish.quantum or None,
        "plan": {"state": "required"} if wish.needs_plan else None,
        "key": wish.key or None,
        "runtime": wish.runtime or None,
        "source": wish.source or None,
        "timeout": wish.timeout,
    }
    own |= {key: value for key, value in said.items() if value is not None}
    content = new_task(
        number,
        subject=wish.subject,
        description=wish.description,
        owner=wish.owner,
        blocked_by=needs,
        blocks=needed_by,
        own=own,
    )
    return (
        _finished(boardroom, who, NewFile(number, content, [created]))
        if wish.is_done
        else NewFile(number, content, [created])
    )


def _finished(boardroom: Boardroom, who: str, file: NewFile) -> NewFile:
    """A box that was ticked in the plan already."""
    task, by = decode_task(file.content, file.number), boardroom.stamp(who)
    event = by.event("status_changed", **{"from": task.status, "to": COMPLETED}, reason="was done before")
    change = Change(event, fields={"status": COMPLETED}, own={"finishedAt": by.at, "finishedBy": who})
    return NewFile(file.number, to_bytes(apply(to_text(file.content), change)), [*file.events, event])


def depend(
    boardroom: Boardroom, team: str, who: str, id: str, on: Sequence[str], off: Sequence[str] = ()
) -> tuple[Task, list[str]]:
    """Add dependencies to a task and take some away. The task, and what it waits for now."""
    found, mine = open_team(boardroom, team), task_id(id)
    more, less = [task_id(other) for other in on], [task_id(other) for other in off]
    with boardroom.tasks.turn(found.name) as turn:
        card = turn.board.card(mine)
        claims.check_open(card)
        new = [other for other in dict.fromkeys(more) if other not in turn.board.blockers(card)]
        old = [other for other in dict.fromkeys(less) if other in turn.board.blockers(card)]
        if old and not same_name(card.owner, who):
            claims.check_may_lead(who, is_boss(boardroom.room, found, who), f"drop what #{mine} waits for")
        if new:
            check_new_edges(turn.board.without_edges(mine, old), {mine: new})
        if new or old:
            turn.write([], _edges(turn.board, boardroom.stamp(who), mine, new, old))
        waits_for = turn.board.open_blockers(turn.board.card(mine))
    sign_of_life(boardroom, found, who)
    return boardroom.tasks.read(found.name, mine), waits_for


def _edges(board: Board, by: Stamp, id: str, new: list[str], old: list[str]) -> dict[str, Change]:
    event = by.event("dependencies_changed", added=[*new] or None, removed=[*old] or None)
    changes = {id: Change(event, add={"blockedBy": new}, drop={"blockedBy": old})}
    for other in new:
        changes[other] = Change(add={"blocks": [id]})
    for other in old:
        changes[other] = Change(drop={"blocks": [id]})
    return {other: change for other, change in changes.items() if _can_change(board, other)}


def _can_change(board: Board, id: str) -> bool:
    card = board.cards.get(int(id))
    return card is not None and not card.problem


def split(boardroom: Boardroom, team: str, who: str, id: str, wishes: Sequence[NewTask]) -> tuple[Task, Added]:
    """Make several tasks of one: it waits for its parts, and nobody works on it until they are done."""
    found, mine = open_team(boardroom, team), task_id(id)
    if not wishes:
        raise BadTask("a task cannot be split into nothing", "name its parts")

    def prepare(board: Board, numbers: list[int]) -> tuple[list[NewFile], dict[str, Change]]:
        card = board.card(mine)
        claims.check_open(card)
        _check_may_split(boardroom, found, card, who)
        parts = [str(number) for number in numbers]
        heirs = [_heir(wish, card, board.open_blockers(card)) for wish in wishes]
        files, links = prepared(boardroom, board, who, heirs, numbers, more={mine: parts})
        links[mine] = _waits_for_parts(card, boardroom.stamp(who), parts)
        return [_blocking(file, mine) for file in files], links

    added = put(boardroom, found, who, lambda _: len(wishes), prepare)
    return boardroom.tasks.read(found.name, mine), added


def _heir(wish: NewTask, card: Card, waits_for: list[str]) -> NewTask:
    """A part is as urgent as the whole was, touches the same files and waits for the same, unless it says otherwise."""
    return NewTask(
        wish.subject,
        description=wish.description,
        depends_on=[*wish.depends_on, *(f"#{other}" for other in waits_for)],
        priority=card.priority if wish.priority == "normal" and card.priority in PRIORITIES else wish.priority,
        files=wish.files or card.files,
        owner=wish.owner,
        acceptance=wish.acceptance,
        run=wish.run,
        commands_of=wish.commands_of,
        max_retries=wish.max_retries,
        reviewer=wish.reviewer,
        needs_plan=wish.needs_plan,
        quantum=wish.quantum,
        folder=wish.folder,
        key=wish.key,
        runtime=wish.runtime or card.runtime,
        source=wish.source,
        timeout=wish.timeout,
    )


def _check_may_split(boardroom: Boardroom, team: Team, card: Card, who: str) -> None:
    if card.is_claimed and not same_name(card.owner, who) and not is_boss(boardroom.room, team, who):
        raise NotClaimant(f"{card.owner} works on #{card.id}", "ask them, the lead or a human to split it")


def _waits_for_parts(card: Card, by: Stamp, parts: list[str]) -> Change:
    if not card.is_claimed:
        return Change(by.event("split", parts=[*parts]), add={"blockedBy": parts})
    change = claims.release(card, by, "split")
    change.event = by.event("split", **{"from": card.status, "to": PENDING}, parts=[*parts], claim=card.claim_id)
    change.add = {"blockedBy": parts}
    return change


def _blocking(file: NewFile, id: str) -> NewFile:
    content = to_bytes(apply(to_text(file.content), Change(add={"blocks": [id]})))
    return NewFile(file.number, content, file.events)
