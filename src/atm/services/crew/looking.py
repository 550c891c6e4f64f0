"""What an agent said last: its window as it is, or the end of its log."""

from __future__ import annotations

from atm.domain.untrusted_text import many_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.crew.agents import AgentRecord
    from atm.services.crew.crewroom import Crewroom

MOST_BYTES = 200_000


def last_output(crew: Crewroom, record: AgentRecord, most: int) -> list[str]:
    """Harmless lines, the newest last."""
    screen = crew.backends[record.backend].screen(record)
    text = screen if screen is not None else crew.records.log_end(record.team, record.member, MOST_BYTES)
    return _without_gaps(many_lines(text).split("\n"))[-most:]


def _without_gaps(lines: list[str]) -> list[str]:
    """A screen is mostly empty: of several blank lines one stays, and none at its ends."""
    found: list[str] = []
    for line in (line.rstrip() for line in lines):
        if line or (found and found[-1]):
            found.append(line)
    return found[:-1] if found and not found[-1] else found
