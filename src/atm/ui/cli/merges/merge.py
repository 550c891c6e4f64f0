"""`atm merge`: finished work on its way to one branch."""

from __future__ import annotations

from dataclasses import asdict

from atm.board.rules.dependencies import Board
from atm.core.untrusted_text import one_line, shell_words
from atm.crew.rules.refs import result_branch
from atm.merges.formats.queue_file import item_fields
from atm.merges.rules.items import MERGED
from atm.merges.rules.radar import owners
from atm.merges.rules.shown_state import shown_item, shown_merge
from atm.merges.services.people import PATIENT, Hand, work_off
from atm.merges.services.queueing import find_item, look, open_queue, repository_of
from atm.merges.services.radar import Radar
from atm.team.rules.team import check_open
from atm.team.services.registry import find_team
from atm.team.services.standing import check_roster
from atm.ui.cli.arguments import TEAM, Args, Argument, Command, Option
from atm.ui.cli.board.view import task_meant
from atm.ui.cli.render import Style
from atm.ui.cli.session import working_folder
from atm.ui.cli.team.belonging import check_here
from atm.ui.cli.waiting import Spinner
from atm.ui.views.merges import collision_line, item_lines, queue_table
from atm.wiring.runs import build_mergeroom

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.merges.rules.items import MergeItem, MergeQueue
    from atm.merges.services.mergeroom import Mergeroom
    from atm.ui.cli.session import Session

NOTHING, FLAGGED, UNKNOWN = 3, 2, 1

LOOKS = 12
"""At the worktrees of agents: a run looks at them too, and each look waits a moment for who is there before it."""
_TASK = Argument("task", "the number or the title of the task", complete="task")

LIST = Command(
    "merge queue",
    "what waits to be merged, and what was",
    text="Exit code 3: nothing is there.",
    options=(TEAM,),
    examples=("atm merge queue", "atm merge queue --json"),
)
SHOW = Command(
    "merge show",
    "one task: its conflict, its checks, what was lost, and what to do",
    arguments=(_TASK,),
    options=(Option("--diff", help="what it changed, as a patch"), TEAM),
    examples=("atm merge show 3", "atm merge show 3 --diff"),
)
RETRY = Command(
    "merge retry",
    "merge one again from the start, with checks",
    text="Exit code 0: it is merged; 2: in conflict again, or flagged; 1: refused.",
    arguments=(_TASK,),
    options=(TEAM,),
    examples=("atm merge retry 3",),
)
SKIP = Command(
    "merge skip",
    "leave one out; its work stays on its branch and is kept in salvage",
    arguments=(_TASK,),
    options=(Option("--reason", value="TEXT", help="why"), TEAM),
    examples=('atm merge skip 3 --reason "done by hand"',),
)
RESOLVE = Command(
    "merge resolve",
    "resolve a conflict by hand, in a worktree that is prepared for you",
    text=(
        "Prints the folder in which git's merge has stopped. Edit the files, `git add` them, then --done checks and "
        "merges it; --abort takes the worktree away, and saves what you did there. Exit code 2: not resolved yet, in "
        "conflict again, or its checks fail."
    ),
    arguments=(_TASK,),
    options=(Option("--done", help="it is resolved: check and merge it"), Option("--abort", help="leave it"), TEAM),
    examples=("atm merge resolve 3", "atm merge resolve 3 --done"),
)
WORK = Command(
    "merge work",
    "merge everything that is done, now",
    text="A run does that by itself. Exit code 2: something is flagged; 3: nothing was there to be merged.",
    options=(TEAM,),
    examples=("atm merge work",),
)
RADAR = Command(
    "merge radar",
    "who changes the same files as somebody else, just now",
    text=(
        "A run looks by itself every some seconds (merges.radar_seconds), and tells both. Exit code 3: nobody does; "
        "2: in some lines it will not go together; 1: somebody's work could not be seen."
    ),
    options=(TEAM,),
    examples=("atm merge radar",),
)
COMMAND = Command(
    "merge",
    "finished work becomes one branch: queue, show, retry, skip, resolve, work, radar",
    text="The branch is atm/result/TEAM unless a run was told another (--into).",
    default="queue",
    subcommands=(LIST, SHOW, RETRY, SKIP, RESOLVE, WORK, RADAR),
    examples=("atm merge", "atm merge resolve 3", "atm merge retry 3"),
)


def execute(args: Args, session: Session) -> int:
    room = build_mergeroom(session.layout, session.settings, session.boardroom, session.environment)
    team = find_team(session.room, session.team(args)).name
    is_named = bool(args.text("team") or session.home_team())
    if not is_named or args.command.name in (RETRY.name, SKIP.name, RESOLVE.name, WORK.name):
        check_here(session, team, is_named=is_named)
    verbs = {
        SHOW.name: _show,
        RETRY.name: _retry,
        SKIP.name: _skip,
        RESOLVE.name: _resolve,
        WORK.name: _work,
        RADAR.name: _radar,
    }
    return verbs.get(args.command.name, _queue)(args, session, room, team)


def _check_may_merge(session: Session, team: str, what: str) -> None:
    check_open(find_team(session.room, team))
    check_roster(session.room, team, what)


def _queue(args: Args, session: Session, room: Mergeroom, team: str) -> int:  # noqa: ARG001 - all verbs alike
    queue = look(room, team, working_folder())
    style, board = Style(session), _board(room, queue)
    words = queue_table(queue, board, style) if queue.items else f"nothing of {one_line(team)} waits to be merged"
    items = [_item_json(one, board) for one in queue.items]
    session.tell({"action": "merge queue", "team": team, "target": _target(room, queue), "items": items}, words)
    return 0 if queue.items else NOTHING


def _board(room: Mergeroom, queue: MergeQueue) -> Board:
    tasks = room.boardroom.tasks
    return (tasks.board(queue.team) if tasks.exists(queue.team) else Board({})).with_merges(queue)


def _item_json(item: MergeItem, board: Board) -> dict[str, Plain]:
    return {**item_fields(item), "shown": shown_item(item, board).fields()}


def _target(room: Mergeroom, queue: MergeQueue) -> dict[str, object]:
    head = ""
    if queue.folder and queue.items:
        head = room.git.head(repository_of(room, queue), queue.branch)
    return {"branch": queue.branch or result_branch(queue.team), "head": head or None, "strategy": queue.strategy}


def _show(args: Args, session: Session, room: Mergeroom, team: str) -> int:
    queue = look(room, team, working_folder())
    item, board = find_item(queue, task_meant(args, session, team, "task")), _board(room, queue)
    said: dict[str, object] = {
        "action": "merge show",
        "team": team,
        "target": _target(room, queue),
        "item": _item_json(item, board),
    }
    lines = item_lines(queue, board, item, Style(session))
    if args.flag("diff"):
        patch = room.git.diff(repository_of(room, queue), item.base, item.head)
        said["patch"] = patch
        lines += ["", patch]
    session.tell(said, "\n".join(lines))
    return 0


def _retry(args: Args, session: Session, room: Mergeroom, team: str) -> int:
    _check_may_merge(session, team, "merge work")
    task = task_meant(args, session, team, "task")
    with Spinner(session, f"merging #{task}"), room.merges.hold(team, PATIENT):
        hand = Hand(room, team, working_folder(), task)
        item = hand.retry()
    return _tell(session, room, hand.queue, item, "merge retry")


def _skip(args: Args, session: Session, room: Mergeroom, team: str) -> int:
    _check_may_merge(session, team, "leave work out")
    reason = args.need("reason")
    task = task_meant(args, session, team, "task")
    with Spinner(session, f"saving the work of #{task}"), room.merges.hold(team, PATIENT):
        hand = Hand(room, team, working_folder(), task)
        item = hand.skip(reason)
    said: dict[str, object] = {
        "action": "merge skip",
        "team": team,
        "target": _target(room, hand.queue),
        "item": _item_json(item, _board(room, hand.queue)),
    }
    work = (
        f"its work: {one_line(item.branch)}, {one_line(item.salvage)}" if item.salvage else "git has removed its work"
    )
    session.tell(said, f"#{item.task} is left out; {work}")
    return 0


def _resolve(args: Args, session: Session, room: Mergeroom, team: str) -> int:
    _check_may_merge(session, team, "resolve a conflict")
    task = task_meant(args, session, team, "task")
    what = f"checking and merging #{task}" if args.flag("done") else f"preparing #{task}"
    with Spinner(session, what), room.merges.hold(team, PATIENT):
        hand = Hand(room, team, working_folder(), task)
        if args.flag("done"):
            item, left = hand.done()
            return _not_yet(session, room, hand.queue, item, left) or _tell(
                session, room, hand.queue, item, "merge resolve"
            )
        if args.flag("abort"):
            item = hand.abort()
            _tell(session, room, hand.queue, item, "merge resolve")
            return 0
        item, place, left = hand.prepare()
    word, name = shell_words(item.task), shell_words(team)
    words = [
        f"#{word} waits for you in",
        f"  cd {shell_words(place.path)}",
        *(f"  in conflict: {one_line(path)}" for path in left),
        f"edit and `git add` them, then: atm merge resolve {word} --done --team {name}",
        f"or leave it as it was:        atm merge resolve {word} --abort --team {name}",
    ]
    facts = {"folder": place.path, "open": left, "item": _item_json(item, _board(room, hand.queue))}
    session.tell({"action": "merge resolve", "team": team, **facts}, "\n".join(words))
    return 0


def _not_yet(session: Session, room: Mergeroom, queue: MergeQueue, item: MergeItem, left: list[str]) -> int:
    if not left:
        return 0
    shown = _item_json(item, _board(room, queue))
    said: dict[str, object] = {"action": "merge resolve", "team": queue.team, "open": left, "item": shown}
    session.tell(said, "\n".join([f"#{item.task} is not resolved yet:", *(f"  {one_line(path)}" for path in left)]))
    return FLAGGED


def _work(args: Args, session: Session, room: Mergeroom, team: str) -> int:  # noqa: ARG001 - all verbs alike
    _check_may_merge(session, team, "merge work")
    seen: dict[str, str] = {}

    def show(queue: MergeQueue) -> None:
        for item in queue.items:
            if seen.get(item.task) != item.status and not session.as_json:
                session.print(f"#{item.task} {shown_merge(item).word} {one_line(item.subject)}")
            seen[item.task] = item.status
        session.flush()

    with Spinner(session, f"merging what is done in {team}"):
        queue = work_off(room, team, working_folder(), show)
    flagged = [one for one in queue.items if one.needs_human]
    said: dict[str, object] = {"action": "merge work", "team": team, "target": _target(room, queue)}
    merged = sum(one.status == MERGED for one in queue.items)
    words, board = f"{merged} of {len(queue.items)} merged into {one_line(queue.branch)}", _board(room, queue)
    session.tell({**said, "items": [_item_json(one, board) for one in queue.items]}, words)
    return FLAGGED if flagged else 0 if queue.items else NOTHING


def _radar(args: Args, session: Session, room: Mergeroom, team: str) -> int:  # noqa: ARG001 - all verbs alike
    queue = open_queue(room, team, working_folder())
    radar = Radar(room, team)
    repository = repository_of(room, queue)
    for _ in range(LOOKS):
        found = radar.look(repository, queue.branch)
        if not radar.unseen:
            break
    unseen = sorted({*radar.unseen})
    board = session.boardroom.tasks.board(team) if session.boardroom.tasks.exists(team) else None
    claimed = [card for card in board.cards.values() if card.is_claimed] if board is not None else []
    owned = owners({card.id: (card.owner, card.files) for card in claimed}, radar.touched())
    words = [f"{one_line(path)}  {', '.join(map(one_line, names))}" for path, names in owned.items()]
    words += [collision_line(one) for one in found]
    words += [f"what {one_line(name)} has changed could not be seen: try again" for name in unseen]
    words += [] if found or unseen else ["nobody changes the same files"]
    facts = {"collisions": [asdict(one) for one in found], "owners": owned, "unseen": unseen}
    session.tell({"action": "merge radar", "team": team, **facts}, "\n".join(words))
    if any(one.conflicts for one in found):
        return FLAGGED
    return UNKNOWN if unseen else 0 if found else NOTHING


def _tell(session: Session, room: Mergeroom, queue: MergeQueue, item: MergeItem, action: str) -> int:
    board = _board(room, queue)
    said: dict[str, object] = {
        "action": action,
        "team": queue.team,
        "target": _target(room, queue),
        "item": _item_json(item, board),
    }
    session.tell(said, "\n".join(item_lines(queue, board, item, Style(session))))
    return 0 if item.status == MERGED else FLAGGED
