"""How agents ended, in words and in JSON."""

from __future__ import annotations

from atm.core.untrusted_text import one_line
from atm.crew.services.ending import ASKED, GONE, KILLED, REFUSES, TERMINATED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.services.ending import AgentEnd

NOTHING = 3
WORDS = {
    ASKED: "has ended",
    GONE: "ran no more",
    KILLED: "was killed",
    REFUSES: "does not want to end",
    TERMINATED: "was ended",
}


def ended_json(one: AgentEnd) -> dict[str, object]:
    return {
        "team": one.team,
        "member": one.member,
        "pid": one.pid or None,
        "how": one.how,
        "reason": one.reason or None,
        "released": one.released,
        "salvage": one.saved.id if one.saved is not None else None,
        "troubles": one.troubles,
    }


def ended_words(one: AgentEnd) -> str:
    sign = "✗" if one.how == REFUSES or one.troubles else "✓"
    why = f": {one.reason}" if one.reason else ""
    lines = [f"{sign} {one_line(one.member)} {WORDS[one.how]}{one_line(why)}"]
    if one.released:
        lines.append(f"    back on the board: {', '.join('#' + id for id in one.released)}")
    if one.saved is not None:
        lines.append(f"    saved: atm salvage show {one.saved.id}")
    return "\n".join([*lines, *(f"    {one_line(trouble)}" for trouble in one.troubles)])
