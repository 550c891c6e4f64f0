"""
Codex: `codex app-server`, JSON-RPC over standard input and output.

One thread, in a sandbox that may write in its folder and in those that it was told of. Its plan mode is only
instructions: it gets a read-only sandbox beside it. A refusal carries no reason; it is said as words into the turn.
"""

from __future__ import annotations

import secrets
import threading

from atm.vendors.driver import ASKS, GONE, IDLE, OUTPUT, PLAN, READY, SESSION, TROUBLE, USAGE, WORKING
from atm.vendors.drivers.hearing import Ear, JsonLines, Questions
from atm.vendors.drivers.lines import LONGEST_LINE
from atm.vendors.drivers.rpc import Rpc
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
from atm.vendors.drivers.wording import PLANNING, refusal, with_reasons

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from atm.core.plain import Plain, Record
    from atm.vendors.driver import Brief, Heard
    from atm.vendors.drivers.rpc import Then

COMMAND, FILES = "item/commandExecution/requestApproval", "item/fileChange/requestApproval"
WIDER, SERVER, CHOICE = (
    *("item/permissions/requestApproval", "mcpServer/elicitation/request"),
    "item/tool/requestUserInput",
)
TOOLS = {COMMAND: "shell", FILES: "edit", WIDER: "permissions", SERVER: "mcp", CHOICE: "question"}
"""What it asks, and what we call that. All else that it could ask is beyond us, and told so."""

WRITING = (COMMAND, FILES, WIDER)
READ_ONLY: Record = {"type": "readOnly", "networkAccess": False}
TOLD = (
    "itemId",
    "command",
    "cwd",
    "reason",
    "permissions",
    "message",
    "serverName",
    "questions",
    "requestedSchema",
    "url",
    "additionalPermissions",
    "grantRoot",
    "networkApprovalContext",
)
MOST_ITEMS = 64
"""Of a turn, whose contents are known when somebody asks about one."""


class AppServerDriver:
    """Implements `vendors.driver.Driver` for Codex."""

    explains_late = False

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], brief: Brief, longest: int = LONGEST_LINE) -> None:
        self._brief = brief
        self._mode = brief.mode
        self._ear = Ear()
        self._lines = JsonLines(stdin, stdout, self._ear, longest)
        self._rpc = Rpc(self._lines, self._asked, self._told)
        self._questions = Questions(self._ear, "codex/app-server")
        self._life = secrets.token_hex(4)
        self._thread = ""
        self._turn = ""
        self._model = brief.model
        self._last_words = ""
        self._is_stopping = False
        self._reasons: list[str] = []
        self._items: dict[str, Record] = {}
        self._lock = threading.Lock()
        self._heard: dict[str, Callable[[Record], None]] = {
            "turn/started": self._hear_start,
            "turn/completed": self._hear_end,
            "item/started": self._hear_item,
            "item/completed": self._hear_finished_item,
            "thread/tokenUsage/updated": self._hear_usage,
            "error": self._hear_error,
        }

    def begin(self, hear: Callable[[Heard], None]) -> None:
        self._ear.listen(hear)
        self._lines.start(self._rpc.take, self._end)
        about: Record = {"name": "atm", "title": "agent team manager", "version": "1"}
        self._rpc.ask("initialize", {"clientInfo": about, "capabilities": {"experimentalApi": True}}, self._greeted)

    def say(self, text: str) -> bool:
        """Into the turn that runs, or as a new one. If the turn ends meanwhile, a new one begins with it."""
        if not self._thread:
            return False
        with self._lock:
            turn, reasons, self._reasons = self._turn, self._reasons, []
        words = with_reasons(reasons, text)
        if turn:
            return self._steer(turn, words, lambda _, error: _if_any(error, lambda: self._start_turn(words)))
        return self._start_turn(words)

    def answer(self, question: str, *, allow: bool, reason: str = "") -> None:
        kept = self._questions.take(question)
        if kept is not None:
            if not allow and reason and kept["method"] != CHOICE:
                self._refuse(kept, refusal(text_in(kept, "words"), reason))
            else:
                self._decide(kept, allow=allow, reason=reason)

    def go_to_work(self) -> None:
        self._mode = self._brief.after_plan

    def interrupt(self) -> None:
        with self._lock:
            turn, self._is_stopping = self._turn, True
        if turn:
            self._stop(turn)

    def close(self) -> None:
        self._lines.finish()

    def forget(self) -> None:
        self._lines.forget()

    # Shaking hands.

    def _greeted(self, _: Record, error: str) -> None:
        if error:
            self._give_up(error)
            return
        self._rpc.tell("initialized")
        if self._brief.resume:
            resume: Record = {"threadId": self._brief.resume, "excludeTurns": True}
            self._rpc.ask("thread/resume", {**resume, **self._terms()}, self._opened)
        else:
            self._rpc.ask("thread/start", self._terms(), self._opened)

    @property
    def _asking(self) -> str:
        return "untrusted" if self._mode == ASKS else "on-request"

    def _terms(self) -> Record:
        """Where it works and what it may do there."""
        room: Record = {"writable_roots": [*self._brief.writable], "exclude_slash_tmp": True}
        config: Record = {"sandbox_workspace_write": room}
        if self._brief.environment:
            config["shell_environment_policy"] = {"set": dict(self._brief.environment)}
        terms: Record = {
            "cwd": self._brief.cwd,
            "approvalPolicy": self._asking,
            "sandbox": "read-only" if self._mode == PLAN else "workspace-write",
            "config": config,
        }
        if self._brief.model:
            terms["model"] = self._brief.model
        if self._brief.instructions:
            terms["developerInstructions"] = self._brief.instructions
        return terms

    def _opened(self, result: Record, error: str) -> None:
        thread = text_in(result, "thread", "id")
        if error or not thread:
            self._give_up(error or "it opened no thread")
            return
        self._model = text_in(result, "model") or self._model
        self._thread = thread
        self._ear.tell(READY, session=thread)

    def _give_up(self, why: str) -> None:
        self._ear.tell(GONE, f"it did not begin: {shortened(why)}")
        self._lines.finish()

    # What is said to it.

    def _start_turn(self, words: str) -> bool:
        params: Record = {"threadId": self._thread, "input": [{"type": "text", "text": words}]}
        if self._brief.plans:  # modes stay until they are changed
            settings: Record = {"model": self._model, "reasoning_effort": None, "developer_instructions": None}
            is_planning = self._mode == PLAN
            params["collaborationMode"] = {"mode": "plan" if is_planning else "default", "settings": settings}
            params["sandboxPolicy"] = READ_ONLY if is_planning else self._writable()
            params["approvalPolicy"] = self._asking
        self._is_stopping = False
        return self._rpc.ask("turn/start", params, self._turn_taken)

    def _writable(self) -> Record:
        roots: list[Plain] = [*self._brief.writable]
        return {"type": "workspaceWrite", "writableRoots": roots, "networkAccess": False, "excludeSlashTmp": True}

    def _turn_taken(self, _: Record, error: str) -> None:
        if error:
            self._ear.tell(IDLE, ok=False, error=shortened(error))

    def _steer(self, turn: str, words: str, then: Then) -> bool:
        params: Record = {"threadId": self._thread, "expectedTurnId": turn, "input": [{"type": "text", "text": words}]}
        return self._rpc.ask("turn/steer", params, then)

    def _refuse(self, kept: Record, why: str) -> None:
        """
        The reason goes first, into the turn, and the refusal when that is taken: Codex serves what it is sent side by
        side, and the model would be asked to go on before it knows why. With the next prompt if the turn is over.
        """

        def taken(_: Record, error: str) -> None:
            if error:
                with self._lock:
                    self._reasons.append(why)
            self._decide(kept, allow=False)

        if not self._turn or not self._steer(self._turn, why, taken):
            taken({}, "there is no turn to say it in")

    def _decide(self, kept: Record, *, allow: bool, reason: str = "") -> None:
        self._rpc.reply(kept["id"], _decision(kept, allow=allow, reason=reason))

    def _stop(self, turn: str) -> None:
        self._rpc.ask("turn/interrupt", {"threadId": self._thread, "turnId": turn}, _nothing)

    # What it says.

    def _asked(self, id: Plain, method: str, params: Record) -> None:
        if method not in TOOLS:
            self._rpc.refuse(id, method)
            return
        arguments: Record = {key: params[key] for key in TOLD if params.get(key) is not None}
        item = self._items.get(text_in(params, "itemId"), {})
        if method == FILES and "changes" in item:
            arguments["changes"] = item["changes"]
            arguments["path"] = ", ".join(text_in(change, "path") for change in records_in(item, "changes"))
        words = call_in_words(TOOLS[method], arguments)
        kept: Record = {"id": id, "method": method, "words": words, "input": arguments}
        if self._mode == PLAN and method in WRITING:
            self._refuse(kept, PLANNING)
            return
        self._questions.ask(f"{self._life}-{id}", TOOLS[method], arguments, kept)

    def _told(self, method: str, params: Record) -> None:
        if method == "serverRequest/resolved":
            self._questions.withdraw(f"{self._life}-{params.get('requestId')}")
        elif text_in(params, "threadId") in ("", self._thread) and method in self._heard:
            self._heard[method](params)

    def _hear_start(self, params: Record) -> None:
        with self._lock:
            turn = self._turn = text_in(params, "turn", "id")
            self._last_words = ""
            is_stopping = self._is_stopping
        self._ear.tell(WORKING, session=self._thread)
        if is_stopping:
            self._stop(turn)

    def _hear_end(self, params: Record) -> None:
        status = text_in(params, "turn", "status")
        with self._lock:
            self._turn = ""
            self._items.clear()
        self._questions.withdraw_all()
        if status == "interrupted":
            # A command that went to the background goes on otherwise, until the whole server ends.
            self._rpc.ask("thread/backgroundTerminals/clean", {"threadId": self._thread}, _nothing)
        ok = status == "completed"
        why = text_in(params, "turn", "error", "message") or status or "unknown"
        self._ear.tell(IDLE, self._last_words if ok else "", ok=ok, error="" if ok else shortened(why))

    def _hear_item(self, params: Record) -> None:
        item = record_in(params, "item")
        kind, id = text_in(item, "type"), text_in(item, "id")
        if len(self._items) < MOST_ITEMS:
            self._items[id] = item
        if kind == "commandExecution":
            self._ear.tell(OUTPUT, call_in_words("shell", item))

    def _hear_finished_item(self, params: Record) -> None:
        item = record_in(params, "item")
        self._items.pop(text_in(item, "id"), None)
        if text_in(item, "type") in ("agentMessage", "plan"):
            self._last_words = text_in(item, "text")
            self._ear.tell(OUTPUT, shortened(self._last_words))

    def _hear_usage(self, params: Record) -> None:
        usage = record_in(params, "tokenUsage")
        total = number_in(usage, "total", "totalTokens")
        full = percent_of(count_in(usage, "last", "totalTokens"), count_in(usage, "modelContextWindow"))
        self._ear.tell(USAGE, tokens=total, cost=None, context_percent=full, counts=SESSION)

    def _hear_error(self, params: Record) -> None:
        """Most often it tries again; if it does not, the turn says so itself."""
        self._ear.tell(TROUBLE, shortened(text_in(params, "error", "message") or "it met an error"))

    def _end(self) -> None:
        self._questions.withdraw_all()
        self._ear.tell(GONE)


def _decision(kept: Record, *, allow: bool, reason: str) -> Record:
    """In the shape that each of its questions wants. Nothing is allowed for longer than this once."""
    method = kept["method"]
    if method == WIDER:
        return {"permissions": record_in(kept, "input", "permissions") if allow else {}}
    if method == SERVER:
        return {"action": "accept" if allow else "decline", "content": {} if allow else None}
    if method == CHOICE:
        chosen: Record = {"answers": [reason] if reason else []}
        return {"answers": {text_in(one, "id"): chosen for one in records_in(kept, "input", "questions")}}
    return {"decision": "accept" if allow else "decline"}


def _if_any(error: str, otherwise: Callable[[], object]) -> None:
    if error:
        otherwise()


def _nothing(_: Record, error: str) -> None:
    """Whatever came of it shows in what it does next."""
