"""
The Agent Client Protocol, which programs of several vendors speak.

No words can be put into a turn that runs: a second prompt would end it. A refusal carries no reason, so reasons are
said with the next prompt. Nothing is ever allowed for longer than once, and no mode is chosen that allows everything.
"""

from __future__ import annotations

import secrets
import threading

from atm.vendors.acp import ACP
from atm.vendors.driver import (
    ASKS,
    DEFAULT,
    EDITS,
    GONE,
    IDLE,
    OUTPUT,
    PLAN,
    PROCESS,
    READY,
    TROUBLE,
    USAGE,
    WORKING,
)
from atm.vendors.drivers.hearing import Ear, JsonLines, Questions
from atm.vendors.drivers.lines import LONGEST_LINE
from atm.vendors.drivers.rpc import Rpc
from atm.vendors.drivers.said import count_in, record_in, records_in, shortened, text_in
from atm.vendors.drivers.wording import as_words, refusal, with_reasons

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from atm.core.plain import Plain, Record
    from atm.vendors.driver import Brief, Heard

MODES = {DEFAULT: ("default",), EDITS: ("autoEdit", "auto_edit", "default"), PLAN: ("plan",), ASKS: ("default",)}
"""What agents call our modes, best first."""

COMMANDS = "/$"
ASKED_WHILE_PLANNING = ("read", "search", "fetch", "think", "switch_mode", "other")
"""Kinds of tools that an agent may be allowed while it plans: what edits, deletes, moves or executes is refused."""

LEAVING = ("switch_mode", "other")
"""Kinds of what asks to leave the plan for the work. Gemini's is called `other`, as tools of MCP servers are."""

MODE_UPDATE = "[MODE_UPDATE] "
"""How Gemini's own notes about modes begin, which it says as if they were its words."""


class AcpDriver:
    """Implements `vendors.driver.Driver`."""

    explains_late = True

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], brief: Brief, longest: int = LONGEST_LINE) -> None:
        self._brief = brief
        self._plans = brief.plans
        self._may_leave = False
        self._offered: list[str] = []
        self._session = brief.resume
        self._ear = Ear()
        self._lines = JsonLines(stdin, stdout, self._ear, longest)
        self._rpc = Rpc(self._lines, self._asked, self._told)
        self._questions = Questions(self._ear, ACP)
        self._life = secrets.token_hex(4)
        self._is_ready = False
        self._is_working = False
        self._first = [brief.instructions] if brief.instructions and not brief.resume else []
        self._words: list[str] = []
        self._tokens = 0
        self._lock = threading.Lock()

    def begin(self, hear: Callable[[Heard], None]) -> None:
        self._ear.listen(hear)
        self._lines.start(self._rpc.take, self._end)
        self._rpc.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}}, self._greeted)

    def say(self, text: str) -> bool:
        with self._lock:
            if not self._is_ready or self._is_working:
                return False
            self._is_working = True
            first, self._first = self._first, []
            self._words = []
        words: Record = {"type": "text", "text": as_words(with_reasons(first, text), COMMANDS)}
        self._ear.tell(WORKING, session=self._session)
        is_said = self._rpc.ask("session/prompt", {"sessionId": self._session, "prompt": [words]}, self._turn_ended)
        if not is_said:
            self._turn_ended({}, "it does not read what it is told")
        return is_said

    def answer(self, question: str, *, allow: bool, reason: str = "") -> None:
        kept = self._questions.take(question)
        if kept is None:
            return
        option = _option(kept, "allow_once" if allow else "reject_once")
        if allow and not option:
            self._ear.tell(TROUBLE, "it offers no way to allow this once: it is refused")
            option = _option(kept, "reject_once")
        elif allow and text_in(kept, "kind") in LEAVING:
            self._may_leave = True
        elif not allow and reason:
            with self._lock:
                self._first.append(refusal(text_in(kept, "title"), reason))
        self._choose(kept["id"], option)

    def go_to_work(self) -> None:
        self._plans = False
        wanted = next((mode for mode in MODES[self._brief.after_plan] if mode in self._offered), "")
        if wanted:
            self._rpc.ask("session/set_mode", {"sessionId": self._session, "modeId": wanted}, self._changed)
        else:
            self._changed({}, "it has no mode for work")

    def _changed(self, _: Record, error: str) -> None:
        if error:
            self._ear.tell(TROUBLE, f"it stays in its mode: {shortened(error)}")

    def interrupt(self) -> None:
        """It ends a turn only when its open questions are answered."""
        for kept in self._questions.withdraw_all():
            self._choose(kept["id"], "")
        if self._is_working:
            self._rpc.tell("session/cancel", {"sessionId": self._session})

    def close(self) -> None:
        self._lines.finish()

    def forget(self) -> None:
        self._lines.forget()

    # Shaking hands.

    def why_not_load(self, _: str) -> str:
        """Why a program would lose this conversation if it loaded it now; empty if it would not."""
        return ""

    def _greeted(self, _: Record, error: str) -> None:
        place: Record = {"cwd": self._brief.cwd, "mcpServers": []}
        if error:
            self._give_up(error)
        elif self._session and (why := self.why_not_load(self._session)):
            self._give_up(why)
        elif self._session:
            self._rpc.ask("session/load", {"sessionId": self._session, **place}, self._opened)
        else:
            self._rpc.ask("session/new", place, self._opened)

    def _opened(self, result: Record, error: str) -> None:
        self._session = self._session or text_in(result, "sessionId")
        self._offered = [text_in(mode, "id") for mode in records_in(result, "modes", "availableModes")]
        wanted = next((mode for mode in MODES[self._brief.mode] if mode in self._offered), "")
        if error or not self._session:
            self._give_up(error or "it opened no session")
        elif wanted:
            self._rpc.ask("session/set_mode", {"sessionId": self._session, "modeId": wanted}, self._settled)
        elif self._plans:
            self._give_up("it has no mode in which it only plans")
        else:
            self._settled({}, "")

    def _settled(self, _: Record, error: str) -> None:
        if error:
            self._give_up(error)
        else:
            self._is_ready = True
            self._ear.tell(READY, session=self._session)

    def _give_up(self, why: str) -> None:
        self._ear.tell(GONE, f"it did not begin: {shortened(why)}")
        self._lines.finish()

    # What it says.

    def _asked(self, id: Plain, method: str, params: Record) -> None:
        if method != "session/request_permission":
            self._rpc.refuse(id, method)
            return
        call = record_in(params, "toolCall")
        kind, title = text_in(call, "kind"), text_in(call, "title")
        kept: Record = {"id": id, "kind": kind, "title": title, "options": params.get("options")}
        if self._plans and kind not in ASKED_WHILE_PLANNING:
            self._choose(id, _option(kept, "reject_once"))
            return
        told: Record = {key: call[key] for key in ("title", "kind", "content", "locations", "rawInput") if key in call}
        self._questions.ask(f"{self._life}-{id}", kind or "tool", told, kept)

    def _choose(self, id: Plain, option: str) -> None:
        chosen: Record = {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}
        self._rpc.reply(id, {"outcome": chosen})

    def _told(self, method: str, params: Record) -> None:
        update = record_in(params, "update")
        kind, text = text_in(update, "sessionUpdate"), text_in(update, "content", "text")
        if method != "session/update" or not self._is_working:
            return  # also what it says again of a session that it has loaded
        if kind == "current_mode_update":
            self._hear_mode(text_in(update, "currentModeId"))
        elif kind == "agent_message_chunk" and text.startswith(MODE_UPDATE):
            self._hear_mode(text.removeprefix(MODE_UPDATE))
        elif kind == "agent_message_chunk":
            self._words.append(text)
        elif kind == "tool_call":
            self._tell_words()
            self._ear.tell(OUTPUT, shortened(f"{text_in(update, 'kind')}: {text_in(update, 'title')}"))

    def _hear_mode(self, mode: str) -> None:
        """It plans no more if it says so and somebody has said yes to that: a model can say such words too."""
        if mode != PLAN and self._may_leave:
            self._plans = False

    def _tell_words(self) -> str:
        """What it said up to here: its words come in pieces."""
        text = "".join(self._words)
        self._words = []
        if text:
            self._ear.tell(OUTPUT, shortened(text))
        return text

    def _turn_ended(self, result: Record, error: str) -> None:
        self._questions.withdraw_all()
        said, reason = self._tell_words(), text_in(result, "stopReason")
        used = record_in(result, "_meta", "quota", "token_count")
        self._tokens += count_in(used, "input_tokens") + count_in(used, "output_tokens")
        if used:
            self._ear.tell(USAGE, tokens=self._tokens, cost=None, context_percent=None, counts=PROCESS)
        ok = not error and reason == "end_turn"
        with self._lock:
            self._is_working = False
        self._ear.tell(IDLE, said if ok else "", ok=ok, error="" if ok else shortened(error or reason or "unknown"))

    def _end(self) -> None:
        self._questions.withdraw_all()
        self._ear.tell(GONE)


def _option(kept: Record, kind: str) -> str:
    """The option of a kind; empty if there is none."""
    found = (text_in(one, "optionId") for one in records_in(kept, "options") if text_in(one, "kind") == kind)
    return next(found, "")
