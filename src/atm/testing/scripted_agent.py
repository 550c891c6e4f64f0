"""
A scripted coding agent: a program that looks, listens and calls hooks as the real ones do, and thinks nothing.

    python -m atm.testing.scripted_agent --vendor claude --session s1 --log seen.jsonl

In a terminal it shows a composer, understands bracketed paste, and submits on Enter; `--headless` reads prompts as
lines of JSON instead: {"prompt": "…"}, {"dialog": true}, {"exit": true}. Prompts that are commands: `/busy N` makes N
tool calls, `/dialog` opens a dialog that eats every key until `1` and Enter, `/exit` ends it. What came before it is
in the log: one line of JSON for each prompt, context, blocked stop, end of a turn, and key that a dialog ate.
"""

from __future__ import annotations

import argparse
import codecs
import json
import os
import queue
import re
import select
import shlex
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from atm.core.untrusted_text import one_line

BLOCKS = 8
"""A stop that was blocked so many times in one turn is no longer blocked: Claude Code's own limit."""
HOOK_SECONDS = 120.0
"""Longer than the vendors wait: on a busy machine a hook is late, and what it says must be heard all the same."""
LONGEST_PASTE = 1 << 20


class ScriptedVendor(NamedTuple):
    """How one vendor's agent looks, what it tells its hooks, and what it calls them; an empty name: it has none."""

    name: str
    mark: str
    dialog: tuple[str, ...]
    always: dict[str, Any]
    noticed: dict[str, Any]
    start: str = ""
    prompt: str = ""
    tool: str = ""
    stop: str = ""
    end: str = ""
    notice: str = ""


_SHELL_CALL: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "true"}}
_CLAUDE_DIALOG = ("Do you want to proceed?", "❯ 1. Yes", "  2. No, and tell Claude what to do differently (esc)")
_CODEX_DIALOG = ("Would you like to run the following command?", "› 1. Yes, proceed (y)", "  2. No (esc)")
_GEMINI_DIALOG = ("Allow execution of: 'true'?", "● 1. Yes, allow once", "  2. No, suggest changes (esc)")
_VENDORS = (
    ScriptedVendor(
        *("claude", "❯", _CLAUDE_DIALOG, {"permission_mode": "default"}),
        {"notification_type": "permission_prompt", "message": "Claude needs your permission to use Bash"},
        *("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd", "Notification"),
    ),
    ScriptedVendor(
        *("codex", "›", _CODEX_DIALOG, {"permission_mode": "default", "model": "scripted", "turn_id": "turn"}),
        _SHELL_CALL,
        *("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd", "PermissionRequest"),
    ),
    ScriptedVendor(
        *("gemini", ">", _GEMINI_DIALOG, {}),
        {"notification_type": "ToolPermission", "message": "Tool requires permission", "details": {}},
        *("SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd", "Notification"),
    ),
    ScriptedVendor("plain", ">", _CLAUDE_DIALOG, {}, {}),
)
VENDORS = {vendor.name: vendor for vendor in _VENDORS}


class AgentLog:
    """What the agent saw, one line of JSON each."""

    def __init__(self, path: str) -> None:
        self._path = path or os.devnull

    def add(self, kind: str, **facts: str) -> None:
        with open(self._path, "ab") as file:
            file.write(json.dumps({"kind": kind, **facts}).encode() + b"\n")


class AgentHooks:
    """Calls the hook program as the vendor does. Whatever goes wrong with it is no answer."""

    def __init__(self, vendor: ScriptedVendor, session: str, words: list[str]) -> None:
        self._vendor = vendor
        self._session = session
        self._words = words

    def call(self, event: str, **facts: Any) -> tuple[str, str]:
        """What is to be put into the context, and why it must not go on as it meant to; both mostly empty."""
        if not event:
            return "", ""
        payload = {
            "session_id": self._session,
            "transcript_path": "",
            "cwd": os.getcwd(),
            "hook_event_name": event,
            "timestamp": datetime.now(UTC).isoformat(),
            **self._vendor.always,
            **facts,
        }
        words, data = [*self._words, "hook", self._vendor.name, event], json.dumps(payload).encode()
        try:
            done = subprocess.run(words, input=data, capture_output=True, timeout=HOOK_SECONDS, check=False)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return "", ""
        if done.returncode == 2:
            return "", done.stderr.decode("utf-8", "replace").strip()
        return self._read(event, done.stdout.decode("utf-8", "replace")) if done.returncode == 0 else ("", "")

    def _read(self, event: str, said: str) -> tuple[str, str]:
        answer = _object(said)
        if answer is None:
            return (said.strip(), "") if event in ("SessionStart", "UserPromptSubmit") else ("", "")
        specific = answer.get("hookSpecificOutput")
        context = specific.get("additionalContext") if isinstance(specific, dict) else None
        blocks = answer.get("decision") in ("block", "deny")
        return context if isinstance(context, str) else "", str(answer.get("reason") or "") if blocks else ""


def _object(text: str | bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class Agent:
    """The agent behind either surface."""

    def __init__(self, vendor: ScriptedVendor, hooks: AgentHooks, log: AgentLog, think: float) -> None:
        self.vendor = vendor
        self.log = log
        self.is_asking = False
        self._hooks = hooks
        self._think = think
        self.stopped = threading.Event()

    def begin(self, asking: bool) -> None:
        self._call(self.vendor.start, source="startup")
        if asking:
            self.ask()
        self.log.add("ready")

    def end(self) -> None:
        self._call(self.vendor.end, reason="prompt_input_exit" if self.vendor.name == "claude" else "exit")
        self.log.add("exit")

    def take(self, prompt: str) -> None:
        """Something was submitted: an answer to a dialog, the order to open one, or a prompt."""
        if self.is_asking:
            self.answer(prompt)
        elif prompt == "/dialog":
            self.ask()
        else:
            self.turn(prompt)

    def ask(self) -> None:
        """Open a dialog: from here on, only `1` and Enter is heard."""
        self.is_asking = True
        self.log.add("dialog")
        self._call(self.vendor.notice, **self.vendor.noticed)

    def answer(self, typed: str) -> None:
        if typed == "1":
            self.is_asking = False
            self.log.add("answered")
        else:
            self.log.add("eaten", text=typed)

    def turn(self, prompt: str) -> None:
        """One turn, from the prompt to the last stop that nobody blocks."""
        self.log.add("prompt", text=prompt)
        if refusal := self._call(self.vendor.prompt, prompt=prompt):
            self.log.add("refused", text=refusal)
        else:
            self._work(prompt)
        self.log.add("turn-end")

    def _work(self, prompt: str) -> None:
        busy = re.fullmatch(r"/busy (\d{1,4})", prompt)
        tools = int(busy[1]) if busy else 1
        for blocks in range(BLOCKS + 1):
            self._use_tools(tools)
            said = {"last_assistant_message": "done", "prompt_response": "done"}
            reason = self._call(self.vendor.stop, stop_hook_active=blocks > 0, prompt=prompt, **said)
            if not reason or self.stopped.is_set():
                return
            self.log.add("blocked", text=reason)
            tools, prompt = 1, reason

    def _use_tools(self, count: int) -> None:
        for _ in range(count):
            if self.stopped.wait(self._think):
                return
            response = {"stdout": "", "llmContent": "", "returnDisplay": ""}
            if feedback := self._call(self.vendor.tool, tool_response=response, **_SHELL_CALL):
                self.log.add("context", event=self.vendor.tool, text=feedback)

    def _call(self, event: str, **facts: Any) -> str:
        context, block = self._hooks.call(event, **facts)
        if context:
            self.log.add("context", event=event, text=context)
        return block


def run_headless(agent: Agent) -> None:
    """Lines of JSON on stdin; anything else is passed over."""
    for line in sys.stdin.buffer:
        order = _object(line) or {}
        prompt = order.get("prompt")
        if order.get("exit") is True or prompt == "/exit":
            return
        if order.get("dialog") is True or isinstance(prompt, str):
            agent.take(prompt if isinstance(prompt, str) else "/dialog")


class Keys:
    """Bytes of a terminal, as (what, text): `text`, `paste`, `enter`, `erase`, `clear`, `quit`."""

    _TOKEN = re.compile(
        r"\x1b\[200~(?P<paste>.*?)\x1b\[201~|(?P<other>\x1b\[(?!200~)[0-?]*[^0-?]|\x1bO.|\x1b[^\[O\x1b]|\x1b(?=\x1b))"
        r"|(?P<enter>\r)|(?P<erase>[\x7f\x08])|(?P<clear>\x15)|(?P<quit>[\x03\x04])|(?P<text>[^\x00-\x1f\x7f]+|\n|\t)"
        r"|(?P<control>[\x00-\x1a\x1c-\x1f])",
        re.DOTALL,
    )

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""

    def feed(self, data: bytes) -> Iterator[tuple[str, str]]:
        self._pending = (self._pending + self._decoder.decode(data))[-LONGEST_PASTE:]
        at = 0
        while found := self._TOKEN.match(self._pending, at):
            at = found.end()
            yield found.lastgroup or "", found[found.lastgroup or 0]
        self._pending = self._pending[at:]  # the beginning of a sequence, or of a paste that has not ended yet


class AgentSurface:
    """The picture: what was said, and below it the composer or a dialog. Drawn at the end of the normal screen."""

    def __init__(self, agent: Agent, suggestion: str) -> None:
        self.composer = ""
        self._agent = agent
        self._suggestion = suggestion
        self._height = 0
        self._lock = threading.RLock()

    def draw(self, *said: str) -> None:
        with self._lock:
            width, rows = (told or least for told, least in zip(os.get_terminal_size(1), (80, 24), strict=True))
            up = f"\x1b[{self._height - 1}A" if self._height > 1 else ""
            above = [row for text in said for row in _wrapped(text, width)]
            block = self._block(width, max(1, rows - 6))
            _write(f"\r{up}\x1b[J" + "\r\n".join([*above, *block]))
            self._height = len(block)

    def _block(self, width: int, most: int) -> list[str]:
        rule = "─" * (width - 1)
        if self._agent.is_asking:
            return [rule, *(row[: width - 1] for row in self._agent.vendor.dialog)]
        text = (_wrapped(self.composer, width - 2) or [""])[-most:]
        faint = f"\x1b[2m{one_line(self._suggestion)[: width - 4]}\x1b[22m" if not self.composer else ""
        first = f"{self._agent.vendor.mark} {text[0]}{faint}"
        return [rule, first, *(f"  {row}" for row in text[1:]), rule, "  ? for shortcuts"]


def _wrapped(text: str, width: int) -> list[str]:
    """Rows of at most so many cells, safe for a terminal."""
    rows, row, cells = [], "", 0
    for sign in one_line(text):
        wide = 0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        if cells + wide > max(2, width - 1):
            rows.append(row)
            row, cells = "", 0
        row, cells = row + sign, cells + wide
    return [*rows, row] if row else rows


class AgentTerminal:
    """The agent at a terminal: keys come in while it works; prompts wait for their turn."""

    def __init__(self, agent: Agent, surface: AgentSurface) -> None:
        self._agent = agent
        self._surface = surface
        self._prompts: queue.Queue[str | None] = queue.Queue()
        self._typed = ""
        self._is_done = False

    def run(self) -> None:
        worker = threading.Thread(target=self._work, daemon=True)
        worker.start()
        keys = Keys()
        self._surface.draw(f"scripted {self._agent.vendor.name}")
        while not self._is_done:
            if not select.select([0], [], [], 0.5)[0]:
                continue
            data = os.read(0, 65_536)
            for what, text in keys.feed(data):
                (self._answer if self._agent.is_asking else self._edit)(what, text)
            self._surface.draw()
            self._is_done = self._is_done or not data
        self._agent.stopped.set()
        self._prompts.put(None)
        worker.join(HOOK_SECONDS)

    def _work(self) -> None:
        while (prompt := self._prompts.get()) is not None:
            self._agent.take(prompt)
            self._surface.draw("● done")

    def _edit(self, what: str, text: str) -> None:
        if what in ("text", "paste"):
            self._surface.composer += text
        elif what in ("erase", "clear"):
            self._surface.composer = self._surface.composer[:-1] if what == "erase" else ""
        elif what == "enter":
            self._submit(self._surface.composer)
        elif what == "quit":
            self._is_done = True

    def _submit(self, prompt: str) -> None:
        self._surface.composer = ""
        self._is_done |= prompt == "/exit"
        if prompt and not self._is_done:
            self._surface.draw(f"{self._agent.vendor.mark} {prompt}")
            self._prompts.put(prompt)

    def _answer(self, what: str, text: str) -> None:
        """A dialog's keys: pastes and everything else go nowhere."""
        if what == "enter":
            self._agent.answer(self._typed)
            self._typed = ""
        elif what in ("text", "paste"):
            self._typed += text


def run_in_terminal(agent: Agent, suggestion: str, asking: bool) -> None:
    import termios
    import tty

    before = termios.tcgetattr(0)
    try:
        tty.setraw(0)
        _write("\x1b[?2004h")
        agent.begin(asking)
        AgentTerminal(agent, AgentSurface(agent, suggestion)).run()
        _write("\x1b[?2004l\r\n")
        termios.tcsetattr(0, termios.TCSADRAIN, before)
    except (OSError, termios.error):  # the terminal is gone
        return


def _write(text: str) -> None:
    os.write(1, text.encode("utf-8", "replace"))


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripted_agent", description="A coding agent that follows a script.")
    parser.add_argument("--vendor", choices=sorted(VENDORS), default="plain")
    parser.add_argument("--session", default="scripted-session")
    parser.add_argument("--headless", action="store_true", help="prompts as lines of JSON on stdin")
    parser.add_argument("--think", type=float, default=0.0, help="seconds before each tool call ends")
    parser.add_argument("--log", default="", help="where it writes down what it saw")
    parser.add_argument("--dialog", action="store_true", help="begin with a dialog")
    parser.add_argument("--suggestion", default="", help="faint words in the empty composer")
    parser.add_argument("--atm", default="", help="the program whose hooks it calls; default: this Python's atm")
    args = parser.parse_args(words)
    vendor = VENDORS[args.vendor]
    hooks = AgentHooks(
        vendor, args.session, shlex.split(args.atm, posix=os.name != "nt") or [sys.executable, "-m", "atm"]
    )
    agent = Agent(vendor, hooks, AgentLog(args.log), args.think)
    if not args.headless and not sys.stdin.isatty():
        print("scripted_agent: stdin is no terminal; use --headless", file=sys.stderr)
        return 2
    if args.headless:
        agent.begin(args.dialog)
        run_headless(agent)
    else:
        run_in_terminal(agent, args.suggestion, args.dialog)
    agent.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
