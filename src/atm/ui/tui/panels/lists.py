"""Views that are one list: merge queue, work-sync, log, runs, sessions, teams; a task; the keys."""

from __future__ import annotations

from functools import partial

from atm.ui.tui.filtering import fits
from atm.ui.tui.lines import BOLD, DIM, PLAIN, ends, padded, text, wrapped
from atm.ui.tui.model import GAP, Body, ListRow, fixed
from atm.ui.tui.panels.about import about, four_questions
from atm.ui.tui.panels.agent import page_rows
from atm.ui.views.team.signs import sign
from atm.ui.views.team.spans import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.snapshot.services.happenings import Happening
    from atm.ui.tui.lines import Line
    from atm.ui.tui.model import Model
    from atm.ui.views.team.seen import CollisionSeen, MemberSeen

HAPPENED = {"mail": "✉", "task": "◉", "approval": "◆"}


def merges(model: Model) -> Body:
    """What is in, what is next, what do two want at once?"""
    queue = model.seen.merges if model.seen is not None else None
    if queue is None:
        return Body([GAP, fixed([(" Nothing is merged yet: a run merges what it finishes (atm run).", DIM)])])
    merged, total = queue.counts.get("merged", 0), sum(queue.counts.values())
    head = fixed([(" ", PLAIN), text(queue.target, BOLD), (f"  {merged} of {total} merged", DIM)])
    found = [row for row in model.read.merges or () if fits(model.filter, row["word"], row["agent"], row["about"])]
    rows = [ListRow(partial(_merge, row), (("merge", row["task"]),)) for row in found]
    radar = [fixed(_collision(one)) for one in queue.collisions[:20]]
    if radar:
        radar = [GAP, fixed([(" Just now they change the same files", BOLD)]), *radar]
    return Body([head, *rows, *radar], lambda columns: _page_or_about(model, ("merge", "show"), columns), 12)


def _merge(row: dict[str, str], columns: int) -> Line:
    look = sign(row["status"])
    start: Line = [
        (f" {look.mark} {padded(text(row['word'])[0], 11)} ", look.meaning),
        (padded(f"#{row['task']}", 5), DIM),
    ]
    return ends(
        [*start, (padded(text(row["agent"])[0], 9), PLAIN), text(row["subject"])],
        [text(row["about"][:30], DIM)],
        columns,
    )


def _collision(one: CollisionSeen) -> Line:
    pairs = zip(one.tasks, one.agents, strict=False)
    who = " and ".join(f"#{task} ({agent})" if task else "the target" for task, agent in pairs)
    files = ", ".join((one.conflicts or one.files)[:3])
    same = "the same lines of" if one.conflicts else "different places of"
    return [
        (" ≠ " if one.conflicts else " · ", "broken" if one.conflicts else DIM),
        text(f"{who} change {same} {files}"),
    ]


def _page_or_about(model: Model, verb: tuple[str, ...], columns: int) -> list[Line]:
    """What the command says of the chosen one, once it was asked."""
    if model.target is None:
        return []
    page = model.read.pages.get((*verb, model.target[1]))
    return (
        [row.draw(columns) for row in page_rows(page, model.now)]
        if page is not None
        else about(model, model.target, columns)
    )


def sync(model: Model) -> Body:
    """Does each member know its work? Five labels, no alarm."""
    members = [one for one in model.seen.members if not one.is_human] if model.seen is not None else []
    if not members:
        return Body([GAP, fixed([(" Nobody is in this team yet.", DIM)])])
    rows = [ListRow(partial(_sync, one), (("member", one.name),)) for one in members]
    head = fixed([(" Does each member know its work?", BOLD)])
    return Body([head, *rows], lambda columns: _sync_about(model, columns), 10)


def _sync(one: MemberSeen, columns: int) -> Line:
    label, why = (one.sync.label, one.sync.why) if one.sync is not None else ("Unknown", "not looked at")
    return ends(
        [(" ○ ", DIM), (padded(text(one.name)[0], 12) + " ", PLAIN), (padded(label, 11), BOLD), text(why)], [], columns
    )


def _sync_about(model: Model, columns: int) -> list[Line]:
    member = model.seen.member(model.target[1]) if model.seen is not None and model.target is not None else None
    if member is None:
        return []
    page = model.read.pages.get(("sync", "diagnose", member.name))
    more = [row.draw(columns) for row in page_rows(page, model.now)] if page is not None else []
    return [*four_questions(member, columns)[2:3], *more]


def log(model: Model) -> Body:
    """What happened, newest first."""
    found = model.read.happenings
    if found is None:
        return Body([fixed([(" …", DIM)])])
    shown = [one for one in reversed(found) if fits(model.filter, one.kind, one.who, f"{one.who} {one.what}")]
    rows = [ListRow(partial(_happening, one), ((_kind(one), one.about),)) for one in shown]
    return Body([fixed([(" What happened", BOLD), (f"  {len(shown)}", DIM)]), *_distinct(rows)])


def _kind(one: Happening) -> str:
    return {"mail": "message", "task": "task", "approval": "approval"}[one.kind]


def _distinct(rows: Sequence[ListRow]) -> list[ListRow]:
    """A target is chosen once: of several lines about one thing the newest is the one that keys stop at."""
    known: set[object] = set()
    found = []
    for row in rows:
        found.append(row if row.targets[0] not in known else ListRow(row.draw))
        known.add(row.targets[0])
    return found


def _happening(one: Happening, columns: int) -> Line:
    start: Line = [
        (f" {clock(one.at)} ", DIM),
        (f"{HAPPENED[one.kind]} ", DIM),
        (padded(text(one.who)[0], 10) + " ", BOLD),
    ]
    return ends([*start, text(one.what)], [], columns)


def runs(model: Model) -> Body:
    return _table(model, model.read.runs, "run", ("runs", "show"), "No run yet: atm run “what you want”")


def sessions(model: Model) -> Body:
    return _table(model, model.read.sessions, "session", ("session", "show"), "No team waits for its lead.")


def teams(model: Model) -> Body:
    rows = [{"id": name, "said": "looked at now" if name == model.team else ""} for name in model.teams]
    return _table(model, rows, "team", (), "No team here yet: atm teams create crew")


def _table(model: Model, found: list[dict[str, str]] | None, kind: str, verb: tuple[str, ...], empty: str) -> Body:
    if found is None:
        return Body([fixed([(" …", DIM)])])
    if not found:
        return Body([GAP, fixed([(f" {empty}", DIM)])])
    rows = [ListRow(partial(_simple, row), ((kind, row["id"]),)) for row in found]
    return Body(
        [fixed([(f" {kind.capitalize()}s", BOLD), (f"  {len(rows)}", DIM)]), *rows],
        lambda columns: _page_or_about(model, verb, columns),
        14,
    )


def _simple(row: dict[str, str], columns: int) -> Line:
    look = sign(row.get("state", ""))
    return ends(
        [
            (f" {look.mark} " if row.get("state") else " ○ ", look.meaning),
            (padded(text(row["id"])[0], 24), PLAIN),
            text(row["said"]),
        ],
        [],
        columns,
    )


def task(model: Model) -> Body:
    """Everything about a task, as `atm tasks show` tells it."""
    found = model.seen.task(model.task) if model.seen is not None else None
    if found is None:
        return Body([GAP, fixed([(" this task is gone", DIM)])])
    page = model.read.pages.get(("tasks", "show", model.task))
    return Body([GAP, *page_rows(page, model.now)], is_text=True)


def unreadable(model: Model) -> Body:
    """A team of which nothing can be told; the others can be looked at all the same."""
    rows = [fixed([(line, "broken")]) for line in wrapped(model.trouble, 78, "  ")]
    return Body(
        [GAP, *rows, GAP, fixed([("  atm looks again and again. Another team: type :teams", DIM)])], is_text=True
    )


KEY_WORDS = (
    ("j k, arrows", "choose a row"),
    ("enter, esc", "open it; back"),
    ("space", "peek: what the agent said last"),
    ("1 … 9", "the views at the bottom"),
    ("tab", "the next part of a view"),
    ("m", "write to whoever is chosen; Enter sends, Alt+Enter begins a new line"),
    ("r", "answer, reply, try again"),
    ("a a", "approve: press a twice within 2 s"),
    ("x, X", "deny; deny and say why"),
    ("t, ctrl+t", "the board, and back; + adds a task, c remarks on one"),
    ("d, !", "what an agent has changed; what goes wrong"),
    ("n, o", "nudge an agent; sit down at its window"),
    ("D D", "kill an agent, cancel a task; S S skips a merge"),
    ("O O", "reopen a task that failed, was cancelled or is done"),
    ("/", "filter: words, s:state, a:agent"),
    (":", "go to a view, an agent, #task; also runs, sessions, teams"),
    ("?, q", "these keys; leave"),
)


def keys(model: Model) -> Body:
    rows = [GAP]
    for key, said in KEY_WORDS:
        lines = wrapped(said, max(20, model.columns - 17))
        rows += [fixed([(f"  {key if at == 0 else '':<13}", BOLD), (line, PLAIN)]) for at, line in enumerate(lines)]
    rows += [GAP, fixed([("  Every key runs a command of atm; the foot says which.", DIM)])]
    return Body(rows, is_text=True)
