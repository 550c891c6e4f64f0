"""A member for people: one symbol for what it does, state and liveness apart, each with its age and source (G10)."""

from __future__ import annotations

from atm.runs.rules.standing import SUSPENDED
from atm.ui.views.ages import ago

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.team.services.activity import Activity

SYMBOLS = {
    "working": "◉",
    "in_progress": "◉",
    "waiting": "◌",
    "blocked": "◌",
    "idle": "○",
    "complete": "✓",
    "zombie": "☾",
    "ended": "✗",
    "shutdown": "✗",
}
"""For the states of members and the statuses of teammates: one word means one symbol everywhere."""


def symbol(state: str) -> str:
    return SYMBOLS.get(state, "?")


def state_words(facts: Activity, *, asks: bool = False, is_suspended: bool = False) -> tuple[str, str]:
    """
    State and liveness, each with its age and, in one word, its source. `asks`: its program asks a person.
    `is_suspended`: a signal has stopped its processes.
    """
    known = facts.liveness
    source = "roster file" if facts.state_source.startswith("config.json") else "heartbeat"
    word = SUSPENDED if is_suspended else "waits for you" if asks else facts.state
    state = word if facts.state_age is None else f"{word} ({source}, {ago(facts.state_age)})"
    seen = known.source.removeprefix("heartbeat (").removesuffix(")")
    return state, known.value if known.age is None else f"{known.value} ({seen}, {ago(known.age)})"
