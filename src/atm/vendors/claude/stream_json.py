"""
Claude Code: stream-json on standard input and output (`claude -p --input-format stream-json`).

Everything that the process says is a line; it asks by control requests, and is asked by them. Its plan mode is no wall
on this path: it asks before it writes, and would write if somebody said yes. So this driver says no itself.
"""

from __future__ import annotations

import threading

from atm.vendors.driver import EDITS, GONE, IDLE, OUTPUT, PROCESS, READY, TROUBLE, USAGE, WORKING
from atm.vendors.drivers.hearing import Ear, JsonLines, Questions
from atm.vendors.drivers.lines import LONGEST_LINE
from atm.vendors.drivers.said import (
    call_in_words,
    count_in,
    number_in,
    percent_of,
    record_in,
    records_in,
    shortened,
    text_in,
)
from atm.vendors.drivers.wording import NO_REASON, PLANNING, as_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from atm.core.plain import Plain, Record
    from atm.vendors.driver import Brief, Heard

ASKED_WHILE_PLANNING = ("ExitPlanMode", "AskUserQuestion", "WebFetch", "WebSearch")
"""What a host is asked for an agent that plans, beside tools of MCP servers. All else is refused."""

COMMANDS = "/"
"""How a prompt begins that Claude Code takes for a command of its own."""

READ, MADE, USED = "cacheReadInputTokens", "cacheCreationInputTokens", ("inputTokens", "outputTokens")
NO_ANSWER = "nobody chose an answer; decide by yourself, or ask a teammate"


class StreamJsonDriver:
    """Implements `vendors.driver.Driver` for Claude Code."""

    explains_late = False

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], brief: Brief, longest: int = LONGEST_LINE) -> None:
        self._session = brief.resume or brief.session
        self._plans = brief.plans
        self._for_work = "acceptEdits" if brief.after_plan == EDITS else "default"
        self._ear = Ear()
        self._lines = JsonLines(stdin, stdout, self._ear, longest)
        self._questions = Questions(self._ear, "claude")
        self._is_ready = False
        self._in_context = 0
        self._last = 0
        self._lock = threading.Lock()
        self._heard: dict[str, Callable[[Record], None]] = {
            "control_response": self._hear_response,
            "control_request": self._hear_request,
            "control_cancel_request": self._hear_withdrawal,
            "system": self._hear_system,
            "assistant": self._hear_words,
            "result": self._hear_result,
        }

    def begin(self, hear: Callable[[Heard], None]) -> None:
        self._ear.listen(hear)
        self._lines.start(self._take, self._end)
        self._control({"subtype": "initialize"})

    def say(self, text: str) -> bool:
        """In the middle of a turn it is steering: the model sees it after the tool that runs."""
        if not self._is_ready:
            return False
        words: Record = {"type": "text", "text": as_words(text, COMMANDS)}
        return self._lines.send({"type": "user", "message": {"role": "user", "content": [words]}})

    def answer(self, question: str, *, allow: bool, reason: str = "") -> None:
        kept = self._questions.take(question)
        if kept is not None:
            self._respond(question, self._yes(kept, reason) if allow else _no(reason))

    def go_to_work(self) -> None:
        self._plans = False
        self._control({"subtype": "set_permission_mode", "mode": self._for_work})

    def interrupt(self) -> None:
        self._control({"subtype": "interrupt"})

    def close(self) -> None:
        self._lines.finish()

    def forget(self) -> None:
        self._lines.forget()

    # What is said to it.

    def _control(self, request: Record) -> None:
        with self._lock:
            self._last += 1
            id = f"atm-{self._last}"
        self._lines.send({"type": "control_request", "request_id": id, "request": request})

    def _respond(self, id: str, answer: Record) -> None:
        said: Record = {"subtype": "success", "request_id": id, "response": answer}
        self._lines.send({"type": "control_response", "response": said})

    def _yes(self, kept: Record, reason: str) -> Record:
        arguments = record_in(kept, "input")
        if kept["tool"] == "AskUserQuestion":
            return _choice(arguments, reason)
        answer: Record = {"behavior": "allow", "updatedInput": arguments}
        if kept["tool"] == "ExitPlanMode":
            self._plans = False
            # What its brief says, whatever it did before it planned.
            answer["updatedPermissions"] = [{"type": "setMode", "mode": self._for_work, "destination": "session"}]
        return answer

    # What it says.

    def _take(self, record: Record) -> None:
        heard = self._heard.get(text_in(record, "type"))
        if heard is not None:
            heard(record)

    def _hear_response(self, record: Record) -> None:
        """The first is about our greeting; of the others there is nothing to be known."""
        if self._is_ready:
            return
        if text_in(record, "response", "subtype") == "success":
            self._is_ready = True
            self._ear.tell(READY, session=self._session)
        else:
            self._ear.tell(GONE, f"it did not begin: {shortened(text_in(record, 'response', 'error'))}")
            self._lines.finish()

    def _hear_request(self, record: Record) -> None:
        id, request = text_in(record, "request_id"), record_in(record, "request")
        if text_in(request, "subtype") != "can_use_tool":
            error: Record = {"subtype": "error", "request_id": id, "error": "not supported by atm"}
            self._lines.send({"type": "control_response", "response": error})
            return
        tool, arguments = text_in(request, "tool_name"), record_in(request, "input")
        if self._plans and tool not in ASKED_WHILE_PLANNING and not tool.startswith("mcp__"):
            self._respond(id, _no(PLANNING))
        else:
            self._questions.ask(id, tool, arguments, {"tool": tool, "input": arguments})

    def _hear_withdrawal(self, record: Record) -> None:
        self._questions.withdraw(text_in(record, "request_id"))

    def _hear_system(self, record: Record) -> None:
        subtype = text_in(record, "subtype")
        if subtype == "init":  # of every turn
            self._session = text_in(record, "session_id") or self._session
            self._ear.tell(WORKING, session=self._session)
        elif subtype == "api_retry":
            why = f"{record.get('error_status') or ''} {text_in(record, 'error')}".strip()
            times = f"attempt {count_in(record, 'attempt')} of {count_in(record, 'max_retries')}"
            self._ear.tell(TROUBLE, f"its model does not answer ({why or 'no status'}), {times}")

    def _hear_words(self, record: Record) -> None:
        if record.get("parent_tool_use_id"):
            return  # a helper that it started itself
        usage = record_in(record, "message", "usage")
        counted = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
        self._in_context = sum(count_in(usage, key) for key in counted) or self._in_context
        for block in records_in(record, "message", "content"):
            if text_in(block, "type") == "text":
                self._ear.tell(OUTPUT, shortened(text_in(block, "text")))
            elif text_in(block, "type") == "tool_use":
                self._ear.tell(OUTPUT, call_in_words(text_in(block, "name"), record_in(block, "input")))

    def _hear_result(self, record: Record) -> None:
        """A turn's end. "success" is no success if it says that it is an error."""
        self._tell_usage(record)
        self._questions.withdraw_all()
        text, subtype = text_in(record, "result"), text_in(record, "subtype")
        ok = subtype == "success" and record.get("is_error") is False
        why = text or "; ".join(_texts(record.get("errors"))) or text_in(record, "terminal_reason") or subtype
        self._ear.tell(IDLE, text if ok else "", ok=ok, error="" if ok else shortened(why))

    def _tell_usage(self, record: Record) -> None:
        models = [facts for facts in record_in(record, "modelUsage").values() if isinstance(facts, dict)]
        tokens = sum(count_in(facts, key) for facts in models for key in (*USED, READ, MADE))
        room = max((count_in(facts, "contextWindow") for facts in models), default=0)
        self._ear.tell(
            USAGE,
            tokens=tokens if models else None,
            cost=number_in(record, "total_cost_usd"),
            context_percent=percent_of(self._in_context, room),
            counts=PROCESS,
        )

    def _end(self) -> None:
        self._questions.withdraw_all()
        self._ear.tell(GONE)


def _no(reason: str) -> Record:
    """The model sees these very words."""
    return {"behavior": "deny", "message": reason or NO_REASON}


def _choice(arguments: Record, chosen: str) -> Record:
    """A question of the model's to people: a bare yes is no answer to it."""
    if not chosen:
        return _no(NO_ANSWER)
    answers: Record = {text_in(question, "question"): chosen for question in records_in(arguments, "questions")}
    return {"behavior": "allow", "updatedInput": {**arguments, "answers": answers}}


def _texts(value: Plain) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
