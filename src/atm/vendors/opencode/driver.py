"""
OpenCode: `opencode serve`, over HTTP on loopback. One server and one session for one agent.

What it does comes as events. That a turn is over is asked for when an event says so: after an abort it says so twice,
the second time when the next turn may run already. A refusal always has a message, for without one the turn would end.
"""

from __future__ import annotations

import queue
import threading
import time

from atm.core.plain import dicts_in
from atm.vendors.driver import GONE, IDLE, OUTPUT, PLAN, READY, SESSION, TROUBLE, USAGE, WORKING
from atm.vendors.drivers.hearing import Ear, Questions
from atm.vendors.drivers.lines import Lines
from atm.vendors.drivers.said import (
    call_in_words,
    count_in,
    number_in,
    record_in,
    records_in,
    shortened,
    text_in,
    value_in,
)
from atm.vendors.drivers.wording import NO_REASON, with_reasons
from atm.vendors.opencode.http import OpenCodeLine, quoted
from atm.vendors.opencode.permissions import as_rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from atm.core.plain import Plain, Record
    from atm.vendors.driver import Brief, Heard

START_SECONDS = 60.0
"""For the server to answer: it needs four, and more on a machine that is busy."""

SILENT_SECONDS = 5.0
"""After which it is tried although it has printed nothing. What connects before it listens may never be answered."""

PAUSE = 0.1
MOST_BREAKS = 20
"""Times that the stream may break, one after the other, before we believe that the server is gone."""

MOST_JOBS = 256
MOST_MESSAGES = 64
LAST_MESSAGES = 20
"""Among which its own last one is looked for: mail may have come after it."""


class OpenCodeDriver:
    """Implements `vendors.driver.Driver`. The process has to be ended by a signal: it does not watch its input."""

    explains_late = False

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], brief: Brief, seconds: float = START_SECONDS) -> None:
        self._brief = brief
        self._mode = brief.mode
        self._seconds = seconds
        self._ear = Ear()
        self._lines = Lines(stdin, stdout)
        self._http = OpenCodeLine(brief.port, brief.password, brief.cwd)
        self._questions = Questions(self._ear, "opencode/server")
        self._jobs: queue.Queue[Callable[[], None] | None] = queue.Queue(MOST_JOBS)
        self._printed = threading.Event()
        self._over = threading.Event()
        self._session = ""
        # Not as the prompt's `system`: it counts for the last message only, and mail that comes after it is that.
        self._first = [brief.instructions] if brief.instructions and not brief.resume else []
        self._is_working = False
        self._error = ""
        self._roles: dict[str, str] = {}
        self._heard: dict[str, Callable[[Record], None]] = {
            "session.status": self._hear_status,
            "session.idle": self._hear_idle,
            "session.error": self._hear_error,
            "permission.asked": self._hear_question,
            "permission.replied": self._hear_reply,
            "question.asked": self._hear_choice,
            "message.updated": self._hear_message,
            "message.part.updated": self._hear_part,
        }

    def begin(self, hear: Callable[[Heard], None]) -> None:
        self._ear.listen(hear)
        self._lines.start(lambda _: self._printed.set(), self._end)  # it prints where it listens
        threading.Thread(target=self._follow, daemon=True, name="atm opencode events").start()
        threading.Thread(target=self._work, daemon=True, name="atm opencode requests").start()

    def say(self, text: str) -> bool:
        return bool(self._session) and self._soon(lambda: self._prompt(text))

    def answer(self, question: str, *, allow: bool, reason: str = "") -> None:
        if self._questions.take(question) is not None:
            body: Record = {"reply": "once"} if allow else {"reply": "reject", "message": reason or NO_REASON}
            self._soon(lambda: self._post(f"/permission/{quoted(question)}/reply", body))

    def go_to_work(self) -> None:
        self._mode = self._brief.after_plan
        self._soon(self._change_rules)

    def _change_rules(self) -> None:
        rules: list[Plain] = [*as_rules(self._mode, self._brief.tools)]
        try:
            self._http.ask("PATCH", self._path, {"permission": rules})
        except OSError as error:
            self._ear.tell(TROUBLE, shortened(str(error)))

    def interrupt(self) -> None:
        if self._session:
            self._soon(lambda: self._post(f"{self._path}/abort", {}))

    def close(self) -> None:
        """The tool that runs would outlive the process: it is ended first."""
        if self._is_working:
            self.interrupt()
        self._soon(self._leave)

    def forget(self) -> None:
        self._lines.forget()

    # What is said to it, in a thread of its own.

    @property
    def _path(self) -> str:
        return f"/session/{quoted(self._session)}"

    def _soon(self, job: Callable[[], None] | None) -> bool:
        try:
            self._jobs.put_nowait(job)
        except queue.Full:
            self._ear.tell(TROUBLE, "it does not answer to what it is told")
            return False
        return True

    def _work(self) -> None:
        while not self._over.is_set() and (job := self._jobs.get()) is not None:
            job()

    def _post(self, path: str, body: Record) -> None:
        try:
            self._http.ask("POST", path, body)
        except OSError as error:
            self._ear.tell(TROUBLE, shortened(str(error)))

    def _prompt(self, text: str) -> None:
        first, self._first = self._first, []
        words = with_reasons(first, text)
        body: Record = {"parts": [{"type": "text", "text": words}], "agent": "plan" if self._mode == PLAN else "build"}
        provider, slash, model = self._brief.model.partition("/")
        if slash:
            body["model"] = {"providerID": provider, "modelID": model}
        try:
            self._http.ask("POST", f"{self._path}/prompt_async", body)
        except OSError as error:
            self._ear.tell(IDLE, ok=False, error=shortened(str(error)))

    def _leave(self) -> None:
        self._over.set()
        self._http.hang_up()
        self._lines.finish()

    # What it says, in a thread of its own.

    def _follow(self) -> None:
        until, breaks = time.monotonic() + self._seconds, 0
        self._printed.wait(min(SILENT_SECONDS, self._seconds))
        while not self._over.is_set():
            try:
                self._http.follow(self._opened, self._take)
                breaks, why = 0, "its stream ended"
            except OSError as error:
                breaks, why = breaks + 1, str(error)
            is_late = time.monotonic() > until if not self._session else breaks > MOST_BREAKS
            if is_late and not self._over.is_set():
                self._give_up(why)
            self._over.wait(PAUSE)

    def _opened(self) -> None:
        if self._session:
            self._catch_up()
            return
        try:
            session = self._find_session()
        except OSError as error:
            self._give_up(str(error))
            return
        self._session = session
        self._ear.tell(READY, session=session)

    def _find_session(self) -> str:
        """With this mode's rules: those that a session had before would count more than the process's environment."""
        rules: list[Plain] = [*as_rules(self._mode, self._brief.tools)]
        if self._brief.resume:
            self._http.ask("PATCH", f"/session/{quoted(self._brief.resume)}", {"permission": rules})
            return self._brief.resume
        made = text_in(self._http.ask("POST", "/session", {"title": "atm", "permission": rules}), "id")
        if not made:
            raise OSError("it made no session")
        return made

    def _catch_up(self) -> None:
        """The stream was broken: what happened meanwhile is asked for."""
        try:
            for question in dicts_in(self._http.ask("GET", "/permission")):
                self._hear_question(question)
        except OSError as error:
            self._ear.tell(TROUBLE, shortened(str(error)))
        self._hear_idle({"sessionID": self._session})

    def _give_up(self, why: str) -> None:
        self._ear.tell(GONE, f"it cannot be spoken to: {shortened(why)}")
        self._leave()

    def _take(self, event: Record | None) -> None:
        if event is None:
            self._ear.tell(TROUBLE, "it told of something too long to be heard")
            return
        heard = self._heard.get(text_in(event, "type"))
        if heard is None:
            return
        try:
            heard(record_in(event, "properties"))
        except Exception as error:  # noqa: BLE001 - one event that we misread must not make an agent deaf and dumb
            self._ear.tell(TROUBLE, f"an event was not understood: {error!r}")

    def _is_ours(self, facts: Record) -> bool:
        return text_in(facts, "sessionID") == self._session

    def _hear_status(self, facts: Record) -> None:
        kind = text_in(facts, "status", "type")
        if not self._is_ours(facts):
            return
        if kind == "busy" and not self._is_working:
            self._is_working, self._error = True, ""
            self._ear.tell(WORKING, session=self._session)
        elif kind == "retry":
            times = count_in(facts, "status", "attempt")
            self._ear.tell(
                TROUBLE, f"its model does not answer, attempt {times}: {text_in(facts, 'status', 'message')}"
            )

    def _hear_idle(self, facts: Record) -> None:
        """The end of a turn, if one runs and the server says now that it is over."""
        if not self._is_ours(facts) or not self._is_working:
            return
        try:
            if text_in(self._http.ask("GET", "/session/status"), self._session, "type") in ("busy", "retry"):
                return  # this is about the turn before
            messages = self._http.ask("GET", f"{self._path}/message?limit={LAST_MESSAGES}")
            self._tell_usage(self._http.ask("GET", self._path))
        except OSError as error:
            messages = []
            self._ear.tell(TROUBLE, shortened(str(error)))
        its_own = [one for one in dicts_in(messages) if text_in(one, "info", "role") == "assistant"]
        last = its_own[-1] if its_own else {}
        self._is_working = False
        self._questions.withdraw_all()
        why = error_text(value_in(last, "info", "error")) or self._error
        text = "".join(text_in(part, "text") for part in records_in(last, "parts") if part.get("type") == "text")
        self._ear.tell(IDLE, "" if why else text, ok=not why, error=shortened(why))

    def _tell_usage(self, session: Plain) -> None:
        used = record_in(session, "tokens")
        tokens = sum(count_in(used, key) for key in ("input", "output", "reasoning"))
        tokens += sum(count_in(used, "cache", key) for key in ("read", "write"))
        cost = number_in(session, "cost")
        if tokens and not cost:
            cost = None  # OpenCode counts 0 for a model whose price it does not know
        self._ear.tell(USAGE, tokens=tokens if used else None, cost=cost, context_percent=None, counts=SESSION)

    def _hear_error(self, facts: Record) -> None:
        if not self._is_ours(facts):
            return
        self._error = error_text(facts.get("error"))
        if not self._is_working:  # it did not even begin
            self._ear.tell(IDLE, ok=False, error=shortened(self._error))

    def _hear_question(self, facts: Record) -> None:
        """Of any session: the helpers that it starts have sessions of their own, and would wait for ever."""
        arguments: Record = {**record_in(facts, "metadata"), "patterns": facts.get("patterns")}
        if not self._questions.is_open(text_in(facts, "id")):
            self._questions.ask(text_in(facts, "id"), text_in(facts, "permission"), arguments, {})

    def _hear_reply(self, facts: Record) -> None:
        self._questions.withdraw(text_in(facts, "requestID"))

    def _hear_choice(self, facts: Record) -> None:
        """It was told not to ask people what they like: nobody would see it, and it would wait for ever."""
        self._soon(lambda: self._post(f"/question/{quoted(text_in(facts, 'id'))}/reject", {}))

    def _hear_message(self, facts: Record) -> None:
        if len(self._roles) > MOST_MESSAGES:
            self._roles.clear()
        self._roles[text_in(facts, "info", "id")] = text_in(facts, "info", "role")

    def _hear_part(self, facts: Record) -> None:
        part = record_in(facts, "part")
        if not self._is_ours(part) or self._roles.get(text_in(part, "messageID")) != "assistant":
            return
        if text_in(part, "type") == "text" and value_in(part, "time", "end"):
            self._ear.tell(OUTPUT, shortened(text_in(part, "text")))
        elif text_in(part, "type") == "tool" and text_in(part, "state", "status") == "running":
            self._ear.tell(OUTPUT, call_in_words(text_in(part, "tool"), record_in(part, "state", "input")))

    def _end(self) -> None:
        self._questions.withdraw_all()
        self._ear.tell(GONE)
        self._over.set()
        self._printed.set()
        self._http.hang_up()
        self._soon(None)


def error_text(error: Plain) -> str:
    """Empty if there is none."""
    return (text_in(error, "data", "message") or text_in(error, "name") or "unknown") if error else ""
