"""
What can be seen of an agent from outside: what it said last, and what its window shows.

In a terminal only the program's own hooks say how it is, and before its first prompt many programs call none: the
dialogs of a first start and a composer that waits are visible on the screen alone.
"""

from __future__ import annotations

from atm.crew.rules.output import as_seen
from atm.team.rules import liveness
from atm.team.rules.endpoints import Endpoint
from atm.team.services.endpoints import endpoint_of, put_endpoint
from atm.team.services.presence import is_by_hook, last_beat
from atm.vendors.dialogs import UNRECOGNISED, question_on
from atm.vendors.panes import has_composer, rests
from atm.vendors.runtime import PLAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.rules.agents import AgentRecord
    from atm.crew.services.crewroom import Crewroom
    from atm.crew.services.hosting import Host
    from atm.team.rules.liveness import Beat

MOST_BYTES = 200_000

READ_EVERY = 2.0
"""Seconds between two reads of the screen: each is a run of tmux."""
SEEN_TWICE = 2
"""A question that was seen once may be a picture half drawn, or one that a rule answers at once."""
STARTS_WITHIN = 4.0
"""Seconds that a window may show neither a composer nor a known question before that is told: programs load."""
HOOKS_MAY_TAKE = 6.0
"""Seconds for which a composer is in sight before mail is brought to it from outside. A program whose hooks speak
has said by then where it is, and they know more."""


def last_output(crew: Crewroom, record: AgentRecord, most: int) -> list[str]:
    """Harmless lines, the newest last."""
    screen = crew.backends[record.backend].screen(record)
    text = screen if screen is not None else crew.records.log_end(record.team, record.member, MOST_BYTES)
    return _without_gaps(as_seen(text).split("\n"))[-most:]


def _without_gaps(lines: list[str]) -> list[str]:
    """A screen is mostly empty: of several blank lines one stays, and none at its ends."""
    found: list[str] = []
    for line in (line.rstrip() for line in lines):
        if line or (found and found[-1]):
            found.append(line)
    return found[:-1] if found and not found[-1] else found


class WindowWatch:
    """One window, from one read to the next."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._began_at = host.crew.clock.now()
        self._read_at = float("-inf")
        self._question, self._times = "", 0
        self._composer_since: float | None = None
        self._unknown_since: float | None = None
        self._state_before = ""
        """What the agent did before its program asked."""

    def state(self, last: Beat | None) -> str:
        """Of the agent, by its last heartbeat; a question that this host has told of changes nothing about that."""
        if last is not None and self._host.record.asks and last.state in (liveness.WAITING, liveness.UNKNOWN):
            return self._state_before
        return last.state if last is not None else ""

    def look(self) -> None:
        host, now = self._host, self._host.crew.clock.monotonic()
        if now - self._read_at < READ_EVERY or host.crew.runtimes[host.record.runtime].protocol == PLAIN:
            return
        self._read_at = now
        screen = host.crew.backends[host.record.backend].screen(host.record)
        if screen is None:
            return  # tmux does not answer now
        self._take_question(question_on(screen) or self._unrecognised(screen, now))
        self._take_composer(now if rests(screen) else None)

    def _unrecognised(self, screen: str, now: float) -> str:
        """
        A program that neither takes text nor asks a known question may wait for a person, too. That is not told while
        it starts, and never of an agent whose hooks have spoken: they know more.
        """
        if has_composer(screen) or self._has_spoken():
            self._unknown_since = None
            return ""
        self._unknown_since = now if self._unknown_since is None else self._unknown_since
        return UNRECOGNISED if now - self._unknown_since >= STARTS_WITHIN else ""

    def _has_spoken(self) -> bool:
        host = self._host
        known, last = endpoint_of(host.crew.room, host.team, host.record.member), self._last_beat()
        if known is not None and (known.pane_pid == host.record.pid or known.at >= self._began_at):
            return True
        return last is not None and is_by_hook(last.source) and last.at >= self._began_at

    def _take_question(self, question: str) -> None:
        self._times = self._times + 1 if question == self._question else 1
        self._question = question
        if self._times < SEEN_TWICE or (not question and not self._host.record.asks):
            return
        last = self._last_beat()
        state = last.state if last is not None else ""
        shown = liveness.UNKNOWN if question == UNRECOGNISED else liveness.WAITING
        if question and state not in (liveness.WAITING, liveness.UNKNOWN):
            self._state_before = state
        if question != self._host.record.asks:
            self._host.note(asks=question)
        if question and state != shown:
            self._host.beat(shown, at_once=True)
        elif not question and state in (liveness.WAITING, liveness.UNKNOWN):
            self._host.beat(self._state_before or liveness.IDLE, at_once=True)

    def _take_composer(self, now: float | None) -> None:
        """
        Without a hook that said where this session is, the window itself becomes the way to it. A hook that speaks
        later says more, and takes the place of this.
        """
        self._composer_since = (
            None if now is None else self._composer_since if self._composer_since is not None else now
        )
        if now is None or self._composer_since is None or now - self._composer_since < HOOKS_MAY_TAKE:
            return
        host, record = self._host, self._host.record
        known = endpoint_of(host.crew.room, host.team, record.member)
        if known is not None and (known.pane_pid == record.pid or known.at >= self._began_at):
            return
        presence = host.crew.room.presence
        where = Endpoint(
            vendor="",
            session="",
            at=host.crew.clock.now(),
            host=presence.host,
            boot=presence.boot,
            server=record.server,
            pane=record.pane,
            pane_pid=record.pid,
        )
        put_endpoint(host.crew.room, host.team, record.member, where)

    def _last_beat(self) -> Beat | None:
        host = self._host
        return last_beat(host.crew.room.presence, host.team, host.record.member, host.crew.clock.now())
