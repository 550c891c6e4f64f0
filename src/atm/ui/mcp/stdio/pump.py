"""
`atm mcp`: carries lines between an agent and the MCP server in the daemon, and understands almost nothing of them.

There is one for each agent, all day, so it is light: no asyncio, no json, no SDK. It knows which requests wait for an
answer. If the daemon dies, they are answered with an error, a new one is found or started when the agent speaks next,
and what the agent said at the beginning is said to it again. While the first one is still starting, the greeting and
what is on offer are answered from a list (`early.py`); all else is kept for it. When the agent goes, or a signal asks
it to end, it goes at once; answers that did not reach the agent are cancelled, so that mail in them is given back.
Where there was no daemon, the server is in this process; when one comes, the agent moves there between two requests.
"""

from __future__ import annotations

import os
import select
import time

from atm.core.errors import AtmError
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text
from atm.ui.mcp.hello import LONGEST_LINE
from atm.ui.mcp.stdio.lines import GREETING, Opening, PumpLines, answered, result_in
from atm.ui.mcp.stdio.moving import Moving
from atm.ui.mcp.stdio.parting import CANCELLED, part
from atm.ui.mcp.stdio.search import Search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket as Line
    from collections.abc import Callable

    from atm.core.plain import Plain
    from atm.ui.mcp.stdio.early import EarlyWords
    from atm.ui.mcp.stdio.search import Reach

BUFFER = 256 << 10
CHUNK = 4096
"""A pipe that says it can be written to takes so much without making us wait."""

LAST_WORDS_SECONDS = 2.0
LOOK_SECONDS = 2.0
EARLY_AFTER = 0.2
"""Seconds for a daemon that runs to say itself what it has to say. One that has to be started takes some."""
MOST_LOSSES, LOSSES_WITHIN = 5, 10.0
GONE, TOO_LONG = -32000, -32600
STREAMS = ("subscriptions/listen",)
"""Requests that are answered when they end, if ever: nobody waits for them at the end."""


class Pump:
    """From standard input to the daemon, from the daemon to standard output."""

    def __init__(
        self,
        channels: Reach,
        stdin: int = 0,
        stdout: int = 1,
        early: Callable[[], EarlyWords | None] = lambda: None,
        is_own: Callable[[], bool] = lambda: False,
    ) -> None:
        self._channels = channels
        self._is_own = is_own
        """Does the line that was found last lead to a server in this process?"""
        self._moving: Moving | None = None
        self._trouble: AtmError | None = None
        """What it ends with, once everybody is told."""
        self._find_words = early
        self._words: EarlyWords | None = None
        """What is said for a daemon that is still starting, once that was needed."""
        self._told: dict[str, tuple[str, Plain]] = {}
        """What was told so: the id as JSON, the method, and the answer."""
        self._search: Search | None = None
        self._early_is_over = False
        self._has_ended = False
        self._again: tuple[bytes, list[Plain]] = (b"", [])
        """What a new daemon is told first, of what a former one was told."""
        self._is_told = False
        self._unsaid = 0
        """Bytes of that in `_to_daemon`, as long as this daemon was told nothing at all."""
        self._in, self._out = stdin, stdout
        self._line: Line | None = None
        self._to_daemon, self._to_client = bytearray(), bytearray()
        self._unsent: list[list[int | str]] = []
        """The lines in that: how many bytes of each are left, and the id that it answers, as JSON, or nothing."""
        self._from_client, self._from_daemon = PumpLines(LONGEST_LINE), PumpLines(4 * LONGEST_LINE)
        self._waiting: dict[str, str] = {}
        """Requests without an answer: the id as JSON, and the method."""
        self._unheard: set[str] = set()
        self._opening = Opening()
        self._losses: list[float] = []
        self._ends_at: float | None = None

    def run(self) -> int:
        """Until the agent goes: 0. Raises AtmError if there is no server to talk to."""
        try:
            self._seek(may_start=True)
            while not self._is_over() and self._turn():
                pass
            if self._trouble is not None:
                raise self._trouble
            return 0
        finally:
            for search in (self._search, self._moving):
                if search is not None:
                    search.give_up()
            if self._line is not None:
                part(self._line, self._to_daemon, [*(str(id) for _, id in self._unsent if id), *self._waiting])

    def _turn(self) -> bool:
        """Wait for something and do it; False if nobody reads us any more."""
        happened = dict(self._wait())
        # The daemon first: what the agent says after it has gone is not for that one, and must not fail with it.
        if self._moving is not None and self._moving.bell in happened:
            self._moving.ring()
        if self._search is not None and self._search.bell in happened:
            self._connect()
        elif self._line is not None and self._line.fileno() in happened:
            self._attend_daemon(happened[self._line.fileno()])
        if self._out in happened:
            is_gone = happened[self._out] & (select.POLLERR | select.POLLHUP | select.POLLNVAL)
            if is_gone or not self._speak():
                return False
        if self._in in happened:
            self._hear_client()
        if self._moving is not None and self._moving.found is not None and self._is_quiet():
            self._move()
        return True

    # Waiting.

    def _wait(self) -> list[tuple[int, int]]:
        poll = select.poll()
        poll.register(self._out, select.POLLOUT if self._to_client else 0)
        if not self._has_ended and len(self._to_daemon) < BUFFER:
            poll.register(self._in, select.POLLIN)
        if self._search is not None:
            poll.register(self._search.bell, select.POLLIN)
        if self._line is not None:
            reading = select.POLLIN if len(self._to_client) < BUFFER else 0
            poll.register(self._line.fileno(), reading | (select.POLLOUT if self._to_daemon else 0))
        if self._moving is not None and self._ends_at is None:
            self._moving.look()
            if self._moving.bell is not None:
                poll.register(self._moving.bell, select.POLLIN)
        happened = poll.poll(self._patience())
        if not happened and self._search is not None:
            self._speak_early()
        elif not happened and self._line is None and not self._has_ended:
            self._seek(may_start=False)
        return happened

    def _patience(self) -> float | None:
        """Milliseconds. Without a daemon we look for one now and then; at the end we do not wait for long."""
        if self._ends_at is not None:
            return max(0.0, self._ends_at - time.monotonic()) * 1000
        if self._search is not None:
            is_asked = self._may_speak_early() and self._words is None
            return max(0.0, self._search.began + EARLY_AFTER - time.monotonic()) * 1000 + 1 if is_asked else None
        if self._line is None:
            return LOOK_SECONDS * 1000
        look_in = self._moving.patience() if self._moving is not None else None
        return None if look_in is None else look_in * 1000 + 1

    def _is_quiet(self) -> bool:
        """Is nothing under way between the agent and the server, and may it be asked elsewhere?"""
        waits = [method for method in self._waiting.values() if method not in STREAMS]
        return self._line is not None and not (waits or self._to_daemon or self._unheard)

    def _is_over(self) -> bool:
        if self._ends_at is None:
            return False
        waits = [method for method in self._waiting.values() if method not in STREAMS]
        return not (waits or self._to_client) or time.monotonic() >= self._ends_at

    # The agent.

    def _hear_client(self) -> None:
        try:
            data = os.read(self._in, BUFFER)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._has_ended = True
            if self._search is None:  # else it counts from the moment at which there is somebody to answer
                self._ends_at = time.monotonic() + LAST_WORDS_SECONDS
            return
        for line in self._from_client.feed(data):
            self._take(line)
        for id in self._from_client.too_long:
            self._complain(id or "null", f"a line has at most {LONGEST_LINE >> 20} MB; say less at once", TOO_LONG)
            if not id:  # whoever waits for the answer to it would wait for ever
                self._trouble = AtmError(
                    "a message was too long, and does not say whose it is", "start the agent again"
                )
                self._has_ended, self._ends_at = True, time.monotonic() + LAST_WORDS_SECONDS
        self._from_client.too_long.clear()

    def _take(self, line: bytes) -> None:
        if self._line is None and self._search is None:
            self._seek(may_start=True)
        try:
            fields = decode_object(to_text(line))
        except NotJson:
            fields = {}  # the server says what it thinks of that
        method = fields.get("method")
        if isinstance(method, str):
            if method == GREETING and self._opening.has_probed:
                self._begin_anew()
            self._opening.note(method, fields, line)
            if "id" in fields:
                self._waiting[encode(fields["id"])] = method
            elif method == CANCELLED:
                params = fields.get("params")
                self._waiting.pop(encode(params.get("requestId")) if isinstance(params, dict) else "", None)
        self._to_daemon += line
        if self._words is not None and self._search is not None:
            self._speak_early()

    def _begin_anew(self) -> None:
        """It asked as clients of the later era do, and shakes hands instead: no server takes both on one line."""
        for id in self._waiting:
            self._complain(id, "you shake hands now: nothing that was asked before counts")
        self._waiting.clear()
        self._unheard.clear()
        self._told.clear()
        self._to_daemon.clear()
        self._opening, self._again = Opening(), (b"", [])
        if self._line is not None:
            self._hang_up()
            self._seek(may_start=True)

    # While the first daemon is still starting.

    def _may_speak_early(self) -> bool:
        return not self._early_is_over and (self._words is not None or GREETING in self._waiting.values())

    def _speak_early(self) -> None:
        """What the agent has asked so far, if it is the greeting or, after that, one of the lists."""
        if not self._may_speak_early():
            return
        self._words = self._words or self._find_words()
        if self._words is None:
            self._early_is_over = True  # nobody knows; it is as if there had been a daemon
            return
        for id, method in list(self._waiting.items()):
            said = self._words.answer(method, self._opening.asked)
            if said is not None:
                if method != GREETING:
                    self._told[id] = method, decode_object(said)
                del self._waiting[id]
                self._unheard.add(id)
                self._tell(to_bytes(f'{{"jsonrpc":"2.0","id":{id},"result":{said}}}\n'), id)

    def _speak(self) -> bool:
        """Something to the agent; False if it is gone."""
        try:
            written = os.write(self._out, self._to_client[:CHUNK])
        except BlockingIOError:
            return True
        except OSError:
            return False
        del self._to_client[:written]
        while written and self._unsent:
            first = self._unsent[0]
            size = int(first[0])
            if written < size:
                first[0] = size - written
                break
            written -= size
            del self._unsent[0]
        return True

    def _tell(self, line: bytes, answers: str = "") -> None:
        self._to_client += line
        self._unsent.append([len(line), answers])

    def _complain(self, id: str, text: str, code: int = GONE) -> None:
        said = f'{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{encode(text)}}}}}\n'
        self._tell(to_bytes(said))

    # The daemon.

    def _seek(self, *, may_start: bool) -> None:
        self._again = self._opening.again()
        self._search = Search(self._channels, may_start=may_start)

    def _connect(self) -> None:
        """The search is over. Raises AtmError if a daemon might have been started and there is none even so."""
        assert self._search is not None
        search, self._search = self._search, None
        found = search.result()
        if self._has_ended:
            self._ends_at = time.monotonic() + LAST_WORDS_SECONDS
        if found is None:
            if self._to_daemon:  # said meanwhile: now it is worth starting one
                self._search = Search(self._channels, may_start=True)
            return
        self._moving = Moving(self._channels) if self._is_own() else None
        self._join(found)

    def _join(self, found: tuple[Line, bytes]) -> None:
        self._line, rest = found
        self._line.setblocking(False)
        self._early_is_over = True
        again, ids = self._again
        self._to_daemon[:0] = again
        self._unsaid, self._is_told = len(again), False
        self._unheard |= {encode(id) for id in ids}
        self._pass_on(rest)

    def _move(self) -> None:
        """From the server in this process to the daemon's. Streams end; whoever listens begins anew."""
        assert self._line is not None
        assert self._moving is not None
        assert self._moving.found is not None
        found, self._moving = self._moving.found, None
        self._line.close()
        self._from_daemon.forget()
        for id in self._waiting:
            self._complain(id, "this stream has ended, because an atm daemon has come; begin it again")
        self._waiting.clear()
        self._again = self._opening.again()
        self._join(found)

    def _attend_daemon(self, happened: int) -> None:
        assert self._line is not None
        try:
            while happened & ~select.POLLOUT:
                data = self._line.recv(BUFFER)
                if not data:
                    raise EOFError
                self._pass_on(data)
                if not happened & select.POLLHUP:  # of one that has gone we take everything that it left
                    break
            if happened & select.POLLOUT:
                del self._to_daemon[: self._line.send(self._to_daemon[:BUFFER])]
                self._is_told = True
        except BlockingIOError:
            return
        except (OSError, EOFError):
            self._lose()

    def _pass_on(self, data: bytes) -> None:
        for line in self._from_daemon.feed(data):
            id = answered(line)
            if id is not None and id in self._unheard:
                self._unheard.discard(id)
                method, told = self._told.pop(id, ("", None))
                if method and self._words is not None and result_in(line) != told:
                    self._tell(self._words.changed(method))
                continue
            if id is not None:
                self._waiting.pop(id, None)
            self._tell(line, id or "")
        for id in self._from_daemon.too_long:
            if self._waiting.pop(id, None) is not None:
                self._complain(id, "the answer was too long to be carried; ask for less at once", TOO_LONG)
        self._from_daemon.too_long.clear()

    def _hang_up(self) -> None:
        assert self._line is not None
        self._line.close()
        self._line = None
        if self._moving is not None:
            self._moving.give_up()
            self._moving = None
        self._from_daemon.forget()

    def _lose(self) -> None:
        """It died, or was stopped. What it was asked may or may not have been done: the agent has to look."""
        self._hang_up()
        if self._is_told:
            self._to_daemon.clear()
            self._unheard.clear()
            self._told.clear()
            for id in self._waiting:
                self._complain(
                    id, "the atm daemon went away before it answered; look whether it was done, then ask again"
                )
            self._waiting.clear()
        else:
            del self._to_daemon[: self._unsaid]  # all of it is for the next one
            if self._to_daemon:
                self._search = Search(self._channels, may_start=True)
        now = time.monotonic()
        self._losses = [*(at for at in self._losses if now - at < LOSSES_WITHIN), now]
        if len(self._losses) > MOST_LOSSES:
            raise AtmError("the daemon keeps closing the connection", "see `atm logs`, then start the agent again")
