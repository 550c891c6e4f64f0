"""
The MCP server's cases: how soon `atm mcp` answers and what it weighs, what a call costs beside the service it calls and
beside a bare echo server, and how many tokens answers take.

Nothing here imports the SDK: requests are lines of JSON, so that no client's own time is in the figures.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atm import config
from atm.delivery.services.briefing import brief
from atm.files.adapters.machine import find_layout
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.team.services.registry import find_team
from atm.wiring.board import build_boardroom
from atm.wiring.mail import build_room
from atm.wiring.worksync import build_syncroom
from atm.worksync.services.reading import briefing_block
from benchmarks.cases import Bench, _progress
from benchmarks.daemon import _memory, running
from benchmarks.mcp_programs import ECHO, Answered, HttpTalk, Talk, install_sdk
from benchmarks.measure import Program, Times, Variant, round_robin
from benchmarks.sandboxes import OWNER, SENDER, TEAM, TEXT, Sandbox
from benchmarks.worksync import seconds_of, write_task, write_tasks

LEAD, PERSON = "lena", "hugo"
WORKERS = (OWNER, SENDER, "cid", "dan", "eve")
SMALL_BOARD, LARGE_BOARD, QUICK_BOARD = 20, 10_000, 200
TIMED = ("mail_send", "task_briefing")
"""One that makes something durable, and one that reads much."""

LETTERS = 20
CALLS = 10
"""In a row, each time it is a variant's turn."""

HTTP_CALLS, QUICK_HTTP_CALLS = 50, 20
"""For one token: after 60 calls at once its bearer has to wait."""

BYTES_PER_TOKEN = 4
"""A rule of thumb for JSON in English; vendors' tokenizers differ by a third."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Seconds of each call, round by round."""

    rounds: tuple[tuple[float, ...], ...]

    @property
    def medians(self) -> Times:
        return Times(tuple(statistics.median(one) for one in self.rounds))

    def percentile(self, part: float) -> float:
        ordered = sorted(seconds for one in self.rounds for seconds in one)
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))]

    @property
    def middle_and_slowest(self) -> str:
        return f"{self.percentile(0.5) * 1000:.1f} and {self.percentile(0.99) * 1000:.1f} ms"


@dataclass(frozen=True, slots=True)
class Size:
    """What an answer takes."""

    what: str
    seen: int
    """Bytes that a model gets to see."""
    sent: int
    """Bytes on the wire: results carry their content twice, tools the schema of their answers."""

    @property
    def tokens(self) -> int:
        return round(self.seen / BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class McpFigures:
    """What was found."""

    starts: dict[str, Times]
    """`bare` interpreter, and `atm mcp` until its first answer."""
    pump_memory: int
    pump_most: int
    """Bytes, now and at most so far."""
    daemon_before: int
    daemon_after: int
    """Bytes, before and after the first client."""
    calls: dict[str, Calls]
    """Each tool of `TIMED` over stdio, its `… service` in this process, and the `echo`."""
    echo_start: float
    echo_memory: int
    """Seconds to the first answer of the echo server, and bytes: a process of this SDK for each agent."""
    http: Calls
    sizes: tuple[Size, ...]


def measure_mcp(bench: Bench) -> McpFigures:
    """Late: afterwards the environment holds the SDK, which the other cases do without."""
    bench.say("MCP: the SDK into the environment, and its first client")
    install_sdk(bench.installation)
    with ExitStack() as stack:
        sandbox, _ = stack.enter_context(running(bench, new_crew(bench.new_folder())))
        before = _memory(sandbox)
        pump = stack.enter_context(talk_to_atm(bench, sandbox, OWNER))
        pump.call("team_status")
        after = _memory(sandbox)
        starts = time_starts(bench, sandbox)
        echo, echo_start = _start_echo(bench, sandbox)
        stack.enter_context(echo)
        calls = time_calls(bench, sandbox, pump, echo)
        memory, most = pump.memory()
        http = time_http(bench, sandbox)
        sizes = [*sizes_of_tools(bench, sandbox), *sizes_of_answers(bench, sandbox, pump)]
        echo_memory = echo.memory()[1]
    sizes.append(size_of_large_list(bench))
    return McpFigures(starts, memory, most, before, after, calls, echo_start, echo_memory, http, tuple(sizes))


# Who is there.


def new_crew(home: Path) -> Sandbox:
    """A lead, five who work, a person, and a small board of which everybody who works has some."""
    sandbox = Sandbox(home)
    layout = find_layout(sandbox.environment)
    room = build_room(layout)
    create_team(room, TEAM, lead=LEAD)
    for name in WORKERS:
        add_member(room, TEAM, Member(name, model="opus", cwd=str(home)))
    add_member(room, TEAM, Member(PERSON, backend="human"))
    write_tasks(Path(layout.tasks(TEAM)), SMALL_BOARD, lambda number: WORKERS[number % len(WORKERS)])
    return sandbox


def talk_to_atm(bench: Bench, sandbox: Sandbox, member: str, **environment: str) -> Talk:
    """`atm mcp` of a member, after the handshake."""
    named = ["--as", member] if member else []
    words = (bench.installation.atm, "mcp", "--team", TEAM, *named)
    return Talk(words, {**sandbox.environment, **environment}, str(bench.folder)).shake_hands()


# The first answer.


def time_starts(bench: Bench, sandbox: Sandbox) -> dict[str, Times]:
    """From the start of the program until the answer to `initialize` is here, beside a warm daemon."""
    bench.say(f"MCP: `atm mcp` to its first answer, {bench.effort.rounds} rounds")
    made, folder, started = bench.installation, str(bench.folder), list[Talk]()
    words = (made.atm, "mcp", "--team", TEAM, "--as", SENDER)

    def start() -> None:
        started.append(Talk(words, sandbox.environment, folder).initialize())

    variants = [
        Variant("bare", Program((made.python, "-I", "-c", "pass"), sandbox.environment, folder)),
        Variant("mcp", start, check=lambda: started.pop().end()),
    ]
    return round_robin(variants, bench.effort.rounds, _progress(bench, bench.effort.rounds))


def _start_echo(bench: Bench, sandbox: Sandbox) -> tuple[Talk, float]:
    started = time.perf_counter()
    echo = Talk((bench.installation.python, "-c", ECHO), sandbox.environment, str(bench.folder)).initialize()
    taken = time.perf_counter() - started
    return echo.confirm(), taken


# Calls.


def time_calls(bench: Bench, sandbox: Sandbox, pump: Talk, echo: Talk) -> dict[str, Calls]:
    """Through the pump and the daemon, in this process, and to an echo server, taking turns."""
    bench.say(f"MCP: calls, {bench.effort.rounds} rounds of {CALLS}")
    services = Services(sandbox)
    variants: dict[str, Callable[[], float]] = {
        "echo": lambda: echo.time("echo", {"text": TEXT}),
        "mail_send": lambda: pump.time("mail_send", {"to": SENDER, "text": TEXT}),
        "mail_send service": lambda: seconds_of(services.send),
        "task_briefing": lambda: pump.time("task_briefing", {}),
        "task_briefing service": lambda: seconds_of(services.brief),
    }
    return _take_turns(variants, bench.effort.rounds)


class Services:
    """The services behind some tools, called as a program would that has no server."""

    def __init__(self, sandbox: Sandbox) -> None:
        layout = find_layout(sandbox.environment)
        settings = config.load(layout, sandbox.environment, str(sandbox.home), {})
        self._room = build_room(layout, settings)
        self._boardroom = build_boardroom(layout, settings, self._room)
        self._syncroom = build_syncroom(layout, settings, self._boardroom)

    def send(self) -> None:
        sent = send(self._room, TEAM, SENDER, Draft(sender=OWNER, text=TEXT))
        if sent.outcome != "success":
            raise RuntimeError(f"{sent.outcome}: {sent.warnings}")

    def brief(self) -> object:
        team = find_team(self._room, TEAM)
        return brief(self._boardroom, TEAM, OWNER), briefing_block(self._syncroom, team, OWNER, can_report=True)


def _take_turns(variants: dict[str, Callable[[], float]], rounds: int) -> dict[str, Calls]:
    """Some calls of each in every round. One round more is thrown away."""
    taken: dict[str, list[tuple[float, ...]]] = {name: [] for name in variants}
    for number in range(rounds + 1):
        names = [*variants]
        first = number % len(names)
        for name in [*names[first:], *names[:first]]:
            seconds = tuple(variants[name]() for _ in range(CALLS))
            if number:
                taken[name].append(seconds)
    return {name: Calls(tuple(found)) for name, found in taken.items()}


def time_http(bench: Bench, sandbox: Sandbox) -> Calls:
    """The same briefing over streamable HTTP, on one connection for each token."""
    tokens, calls = (1, QUICK_HTTP_CALLS) if bench.effort.rounds < 10 else (4, HTTP_CALLS)
    bench.say(f"MCP: {tokens} × {calls} calls over HTTP")
    secrets = [_new_secret(bench, sandbox) for _ in range(tokens)]
    words = (bench.installation.atm, "mcp", "--http", "--port", "0", "--json")
    with Talk(words, sandbox.environment, str(bench.folder)) as server:
        port = int(json.loads(server.hear())["port"])
        return Calls(tuple(tuple(_http_calls(port, secret, calls)) for secret in secrets))


def _new_secret(bench: Bench, sandbox: Sandbox) -> str:
    words = [bench.installation.atm, "mcp", "token", "new", "--team", TEAM, "--as", OWNER, "--json"]
    done = subprocess.run(words, env=sandbox.environment, cwd=bench.folder, check=True, stdout=subprocess.PIPE)
    return str(json.loads(done.stdout)["token"])


def _http_calls(port: int, secret: str, calls: int) -> Iterator[float]:
    with HttpTalk(port, secret) as talk:
        talk.time("task_briefing", {})
        for _ in range(calls):
            yield talk.time("task_briefing", {})


# Sizes.


def sizes_of_tools(bench: Bench, sandbox: Sandbox) -> Iterator[Size]:
    """Clients give their models the name, the description and the schema of the arguments."""
    for role, member in (("teammate", OWNER), ("lead", LEAD), ("human", PERSON), ("observer", "")):
        with talk_to_atm(bench, sandbox, member) as talk:
            answer = talk.ask("tools/list")
        tools: list[dict[str, Any]] = answer.result["tools"]
        seen = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in tools]
        text = json.dumps(seen, ensure_ascii=False, separators=(",", ":"))
        yield Size(f"`tools/list`, {role}: {len(tools)} tools", len(text.encode()), len(answer.line))


def sizes_of_answers(bench: Bench, sandbox: Sandbox, pump: Talk) -> Iterator[Size]:
    bench.say(f"MCP: the size of answers, with {LETTERS} letters")
    briefing = pump.call("task_briefing")
    folder = Path(find_layout(sandbox.environment).tasks(TEAM))
    write_task(folder, SMALL_BOARD + 1, OWNER)  # and what it was told is out of date
    stale = _report(pump, briefing)
    accepted = _report(pump, pump.call("task_briefing"))
    if stale.structured.get("reason") != "stale_fingerprint" or not accepted.structured["ok"]:
        raise RuntimeError(f"reports were answered with {stale.text} and {accepted.text}")
    yield _size_of_answer(f"`task_briefing` with {SMALL_BOARD // len(WORKERS)} tasks", briefing)
    yield _size_of_answer("`member_work_sync_report`, accepted", accepted)
    yield _size_of_answer("the same, stale", stale)
    yield _size_of_answer(f"`mail_read` of {LETTERS} messages", _read_mail(sandbox, pump))


def _report(pump: Talk, briefing: Answered) -> Answered:
    block = briefing.structured["workSync"]
    said = {"from": OWNER, "state": "still_working"}
    return pump.call(
        "member_work_sync_report", {**said, **{key: block[key] for key in ("agendaFingerprint", "reportToken")}}
    )


def _read_mail(sandbox: Sandbox, pump: Talk) -> Answered:
    room = sandbox.room()
    for _ in range(LETTERS):
        send(room, TEAM, OWNER, Draft(sender=SENDER, text=TEXT))
    answer = pump.call("mail_read", {"limit": LETTERS})
    if len(answer.structured["messages"]) != LETTERS:
        raise RuntimeError(f"{len(answer.structured['messages'])} messages instead of {LETTERS}")
    return answer


def size_of_large_list(bench: Bench) -> Size:
    """In a home without a daemon, where `atm mcp` serves in its own process: the answer is the same."""
    tasks = QUICK_BOARD if bench.effort.rounds < 10 else LARGE_BOARD
    bench.say(f"MCP: the size of a list of {tasks:,} tasks")
    sandbox = new_crew(bench.new_folder())
    write_tasks(Path(find_layout(sandbox.environment).tasks(TEAM)), tasks, lambda _: OWNER)
    with talk_to_atm(bench, sandbox, OWNER, ATM_DAEMON_AUTOSTART="0") as talk:
        answer = talk.call("board_list")
    sandbox.remove()
    return _size_of_answer(f"`board_list`, the first page of {tasks:,} tasks", answer)


def _size_of_answer(what: str, answer: Answered) -> Size:
    return Size(what, len(answer.text.encode()), len(answer.line))
