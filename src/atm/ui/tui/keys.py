"""What keys do: to the model at once, and through wishes to the world. Pure, given the time in the model."""

from __future__ import annotations

from dataclasses import dataclass

from atm.ui.faces.deeds import KeyOffer, words
from atm.ui.faces.view_names import (
    AGENT,
    APPROVALS,
    BOARD,
    KEYS,
    MAIL,
    NUMBERED,
    OVERVIEW,
    PROBLEMS,
    REQUEST,
    RUNS,
    SESSIONS,
    TABS,
    TASK,
    TEAMS,
    THREAD,
)
from atm.ui.tui.model import ARMED_SECONDS, Typing
from atm.ui.tui.offers import offers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atm.ui.faces.view_names import Target
    from atm.ui.tui.model import Body, Model

STEP = {"j": 1, "down": 1, "shift+down": 1, "k": -1, "up": -1, "shift+up": -1, "pagedown": 10, "pageup": -10}
BETWEEN = {"shift+down": 1, "]": 1, "shift+up": -1, "[": -1}
"""From one agent to the next, while one is open."""
SIDE = {"left": -1, "h": -1, "right": 1, "l": 1}
DECIDING = ("a", "x", "X")
ENDS = {"g": 0, "home": 0, "G": -1, "end": -1}


@dataclass(frozen=True, slots=True)
class Wish:
    """What the app is asked to do: `run` a command, `quit`, `look` at another team, `read` anew."""

    kind: str
    words: tuple[str, ...] = ()
    in_terminal: bool = False


def press(model: Model, key: str, body: Body) -> list[Wish]:
    """One key in a list. What is typed into the line does not come here."""
    armed, model.armed = model.armed if model.now <= model.armed_until else "", ""
    model.notice = ""
    offer = next((one for one in offers(model) if one.key == key and _is_in_sight(model, one)), None)
    if offer is not None:
        return _take(model, offer, is_second=armed == key)
    if key in BETWEEN and model.view == AGENT:
        _next_agent(model, BETWEEN[key])
    elif key in STEP or key in ENDS or key in SIDE:
        _move(model, key, body)
    elif key in _GENERAL:
        return _GENERAL[key](model)
    elif key.isdecimal() and 1 <= int(key) <= len(NUMBERED):
        _open_view(model, NUMBERED[int(key) - 1])
    return []


def _is_in_sight(model: Model, offer: KeyOffer) -> bool:
    """What decides about a request or a plan is taken only where the whole of it is on the screen."""
    return offer.key not in DECIDING or model.is_whole


def _take(model: Model, offer: KeyOffer, *, is_second: bool) -> list[Wish]:
    if offer.opens:
        _open_target(model, offer)
        return [Wish("look", (model.target[1],))] if offer.opens == TEAMS and model.target is not None else []
    if offer.asks:
        model.typing, model.typed = Typing("command", offer.asks, offer), ""
        return []
    if offer.is_twice and not is_second:
        model.armed, model.armed_until = offer.key, model.now + ARMED_SECONDS
        return []
    return [Wish("run", tuple(words(offer, model.team)), offer.in_terminal)]


def _open_target(model: Model, offer: KeyOffer) -> None:
    target = model.target
    if target is None:
        return
    view = REQUEST if offer.opens == APPROVALS == model.view else offer.opens
    if view == AGENT:
        model.agent = target[1]
    elif view == TASK:
        model.task = target[1]
    elif view == THREAD:
        model.thread = target[1]
    else:
        model.chosen[view] = target
    model.open(view)
    model.place.pop(view, None)


# Moving.


def _move(model: Model, key: str, body: Body) -> None:
    if body.is_text:
        if key in SIDE:
            return
        last = max(0, len(body.rows) - 1)
        wanted = model.place.get(model.view, 0) + STEP[key] if key in STEP else ENDS.get(key, 0)
        model.place[model.view] = last if wanted < 0 and key in ENDS else min(last, max(0, wanted))
        return
    grid = [row.targets for row in body.rows if row.targets]
    if grid:
        choose(model, _next(grid, model.target, key))


def _next(grid: Sequence[tuple[Target | None, ...]], now: Target | None, key: str) -> Target:
    """Steps of one go round; longer ones stop at the ends. Sideways from lane to lane."""
    row, lane = next(((at, one.index(now)) for at, one in enumerate(grid) if now in one), (0, 0))
    if key in SIDE:
        lanes = [at for at in range(len(grid[0])) if any(one[at] is not None for one in grid)]
        lane = lanes[(lanes.index(lane) + SIDE[key]) % len(lanes)] if lane in lanes else lanes[0]
    column = [target for one in grid if (target := one[lane]) is not None]
    if key in SIDE:
        return column[min(row, len(column) - 1)]
    if key in ENDS:
        return column[ENDS[key]]
    at, step = column.index(now) if now in column else 0, STEP[key]
    return column[(at + step) % len(column) if abs(step) == 1 else min(len(column) - 1, max(0, at + step))]


def choose(model: Model, target: Target) -> None:
    model.chosen[model.view] = target
    model.is_peeking = False


def settle(model: Model, body: Body) -> None:
    """If what was chosen is gone, the one that is in its place now."""
    if body.is_text:
        return  # what is open stays open, also if it is gone: the text says so
    targets = [one for row in body.rows for one in row.targets if one is not None]
    if not targets:
        model.chosen.pop(model.view, None)
    elif model.target not in targets:
        model.chosen[model.view] = targets[min(model.place.get(model.view, 0), len(targets) - 1)]
    if model.target in targets:
        model.place[model.view] = targets.index(model.target)


# Keys that are the same everywhere.


def _open_view(model: Model, view: str) -> None:
    if view == AGENT and not model.agent:
        model.agent = _some_agent(model)
    model.open(view)


def _some_agent(model: Model) -> str:
    if model.target is not None and model.target[0] == "member":
        return model.target[1]
    agents = [one.name for one in model.seen.members if not one.is_human] if model.seen is not None else []
    return agents[0] if agents else ""


def _next_agent(model: Model, step: int) -> None:
    names = [one.name for one in model.seen.members if not one.is_human] if model.seen is not None else []
    if names:
        at = names.index(model.agent) if model.agent in names else -step
        model.agent = names[(at + step) % len(names)]
        model.place.pop(AGENT, None)


def _escape(model: Model) -> list[Wish]:
    if model.is_peeking:
        model.is_peeking = False
    elif model.filter:
        model.filter = ""
    else:
        model.back()
    return []


def _tab(model: Model) -> list[Wish]:
    if model.view in TABS:
        model.tab[model.view] = model.tab.get(model.view, 0) + 1
        model.place.pop(model.view, None)
    return []


def _peek(model: Model) -> list[Wish]:
    model.is_peeking = not model.is_peeking and model.chosen_agent != ""
    return []


def _write(model: Model) -> list[Wish]:
    who = model.agent if model.view == AGENT else model.chosen_agent
    if who:
        offer = KeyOffer("m", "write", ("send", who, "--", "{}"), asks=f"write to {who}")
        model.typing, model.typed = Typing("command", offer.asks, offer), ""
    else:
        model.say("choose somebody to write to first: 1, then j and k")
    return []


def _diff(model: Model) -> list[Wish]:
    model.agent = model.chosen_agent or model.agent or _some_agent(model)
    model.tab[AGENT] = TABS[AGENT].index("diff")
    model.open(AGENT)
    return []


def _tasks(model: Model) -> list[Wish]:
    model.open(BOARD) if model.view != BOARD else model.back()
    return []


def _typing(kind: str, asks: str) -> Callable[[Model], list[Wish]]:
    def begin(model: Model) -> list[Wish]:
        model.typing, model.typed = Typing(kind, asks), model.filter if kind == "filter" else ""
        return []

    return begin


def _opening(view: str) -> Callable[[Model], list[Wish]]:
    def begin(model: Model) -> list[Wish]:
        _open_view(model, view)
        return []

    return begin


def _quit(model: Model) -> list[Wish]:  # noqa: ARG001 - all keys alike
    return [Wish("quit")]


def _reread(model: Model) -> list[Wish]:
    model.say("read again")
    return [Wish("read")]


_GENERAL: dict[str, Callable[[Model], list[Wish]]] = {
    "escape": _escape,
    "tab": _tab,
    "space": _peek,
    "m": _write,
    "enter": _write,
    "d": _diff,
    "t": _tasks,
    "ctrl+t": _tasks,
    "!": _opening(PROBLEMS),
    "/": _typing("filter", "filter: words, s:state, a:agent"),
    ":": _typing("palette", "a view, an agent, #task, or a command of atm"),
    "?": _opening(KEYS),
    "q": _quit,
    "ctrl+c": _quit,
    "ctrl+l": _reread,
}


# The line.


def submit(model: Model, typed: str) -> list[Wish]:
    """What was typed is meant now."""
    typing, model.typing, model.typed = model.typing, None, ""
    if typing is None:
        return []
    if typing.kind == "filter":
        model.filter = typed.strip()
        return []
    if typing.kind == "palette":
        return _palette(model, typed.strip())
    if not typed.strip() or typing.offer is None:
        model.say("nothing was sent: the line was empty")
        return []
    return [Wish("run", tuple(words(typing.offer, model.team, typed)))]


VIEW_WORDS = {
    **{view: view for view in (*NUMBERED, RUNS, SESSIONS, TEAMS)},
    "agents": OVERVIEW,
    "help": KEYS,
    "mails": MAIL,
}


def _palette(model: Model, said: str) -> list[Wish]:
    """A view by the beginning of its name, an agent, a task, `q`; anything else is said to be none of these."""
    if said in ("q", "quit"):
        return [Wish("quit")]
    seen = model.seen
    if seen is not None and seen.member(said) is not None:
        model.agent = said
        model.open(AGENT)
        return []
    if seen is not None and seen.task(said.removeprefix("#")) is not None:
        model.task = said.removeprefix("#")
        model.open(TASK)
        return []
    fits = sorted({view for word, view in VIEW_WORDS.items() if said and word.startswith(said.casefold())})
    if fits:
        _open_view(model, fits[0])
    elif said.startswith("atm "):
        model.say("run commands of atm in a shell; the screen runs those that it offers")
    elif said:
        model.say(f"nothing here is called {said!r}: try board, mail, runs, sessions, teams, an agent, or #task")
    return []
