"""`atm deliver`: what the daemon's delivery does, once and now; through a real server and a real terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.optional import needs
from tests.proving import proves

from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.team.rules.endpoints import Endpoint
from atm.team.rules.liveness import IDLE
from atm.team.services.endpoints import put_endpoint
from atm.team.services.presence import beat

needs_tmux = needs("tmux")


def post(room, *texts, to="ann"):
    return [send(room, "crew", to, Draft(sender="bob", text=text)).message_id for text in texts]


def register(room, name="ann", **more):
    here = {"host": room.presence.host, "boot": room.presence.boot}
    here["url_pid"] = os.getpid()  # whose server it is
    endpoint = Endpoint(at=time.time() - 60, session="ses_1", **{"vendor": "", **here, **more})
    put_endpoint(room, room.rosters.load("crew"), name, endpoint)


class Handler(BaseHTTPRequestHandler):
    """As much of OpenCode as a delivery needs."""

    server: Any

    def log_message(self, *_: object) -> None:
        return

    def do_GET(self) -> None:
        wanted = self.path.rpartition("/")[2]
        rows = self.server.rows
        found = rows if wanted == "message" else next((row for row in rows if row["info"]["id"] == wanted), None)
        self._answer(404 if found is None else 200, json.dumps(found).encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        id = body.get("messageID") or f"msg_{len(self.server.rows)}"
        self.server.rows.append({"info": {"id": id, "role": "user"}, "parts": body["parts"]})
        self._answer(204, b"")

    def _answer(self, status: int, data: bytes) -> None:
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if status != 204:
            self.wfile.write(data)


@pytest.fixture
def opencode() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.rows = []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=lambda: server.serve_forever(0.01))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def told(server) -> str:
    return "\n".join(row["parts"][0]["text"] for row in server.rows)


def test_with_nothing_unread_there_is_nothing_to_do(crew, room):
    done = crew("deliver", code=3)
    assert done.out == "nobody has unread mail\n"
    assert crew("deliver", "--json", code=3).json == {"action": "deliver", "team": "crew", "members": []}


def test_where_there_is_no_way_the_reason_is_said(crew, room):
    post(room, "one")
    (one,) = crew("deliver", "--json").json["members"]
    assert (one["member"], one["outcome"], one["ids"]) == ("ann", "waiting", [])
    assert "no session" in one["evidence"]
    text = crew("deliver").out
    assert "ann" in text
    assert "no session" in text
    assert [row["read"] for row in crew.rows("ann")] == [False]


@proves("R000-headless-01", "R002-16.1-04")
def test_through_an_agents_own_server(crew, room, opencode):
    register(room, vendor="opencode", url=opencode.url)
    sent = post(room, "the parser is done")
    (one,) = crew("deliver", "--json").json["members"]
    assert (one["outcome"], one["ids"]) == ("surfaced", sent)
    assert told(opencode).count("the parser is done") == 1
    assert crew("deliver", code=3).out == "nobody has unread mail\n"
    assert crew("receipts", sent[0], "--json").json["recipients"][0]["state"] == "surfaced"


def test_only_one_member(crew, room, opencode):
    register(room, vendor="opencode", url=opencode.url)
    register(room, "bob", vendor="opencode", url=opencode.url)
    post(room, "for ann")
    post(room, "for bob", to="bob")
    crew("deliver", "bob")
    assert ("for bob" in told(opencode), "for ann" in told(opencode)) == (True, False)


@pytest.mark.parametrize("name", ["ANN", "Ann@CREW", "ann@crew"])
def test_a_name_in_any_case(crew, room, opencode, name):
    register(room, vendor="opencode", url=opencode.url)
    post(room, "one")
    assert crew("deliver", name, "--json").json["members"][0]["outcome"] == "surfaced"


def test_a_name_that_nobody_has_is_an_error(crew, room):
    assert "anne" in crew("deliver", "anne", code=1).err


def test_an_unknown_team_is_an_error(crew, room):
    crew("deliver", "--team", "nowhere", code=1)


def test_an_inbox_that_cannot_be_read_keeps_no_other_mail_back(crew, room, opencode):
    """Members are served in the order of the roster; the first one's trouble is its own."""
    register(room, "bob", vendor="opencode", url=opencode.url)
    post(room, "for bob", to="bob")
    crew.inbox("ann").write_text("{")
    crew("deliver", code=None)
    assert "for bob" in told(opencode)


def test_a_server_of_another_machine_is_told_nothing(crew, room):
    register(room, vendor="opencode", url="http://192.0.2.1:4096")
    post(room, "one")
    (one,) = crew("deliver", "--json").json["members"]
    assert one["outcome"] == "refused"
    assert [row["read"] for row in crew.rows("ann")] == [False]


def test_a_completed_team_is_left_alone(crew, room, opencode):
    register(room, vendor="opencode", url=opencode.url)
    post(room, "one")
    (crew.home / ".claude/teams/crew/COMPLETED").write_text("{}")
    crew("deliver", code=3)
    assert opencode.rows == []


def test_what_waits_in_the_spool_is_delivered_on_the_way(crew, room, opencode, block):
    register(room, vendor="opencode", url=opencode.url)
    reopen = block("ann")
    assert crew("send", "ann", "spooled", "--from", "bob", "--json").json["outcome"] == "queued"
    reopen()
    crew("spool", "retry", code=None)
    crew("deliver", code=None)
    assert told(opencode).count("spooled") == 1


def test_many_at_once_tell_a_server_each_message_once(crew, room, opencode):
    register(room, vendor="opencode", url=opencode.url)
    sent = post(room, *(f"number {n}." for n in range(6)))
    for _ in range(6):
        processes = [crew.start("deliver") for _ in range(4)]
        for process in processes:
            process.communicate(timeout=60)
    assert [told(opencode).count(f"number {n}.") for n in range(len(sent))] == [1] * len(sent)
    assert [told(opencode).index(f"number {n}.") for n in range(len(sent))] == sorted(
        told(opencode).index(f"number {n}.") for n in range(len(sent))
    )


class Pane:
    """A scripted agent without hooks in a tmux server of its own."""

    def __init__(self, folder: Path, eventually: Callable[..., None]) -> None:
        self._eventually = eventually
        self._name = f"atm-test-{uuid.uuid4().hex[:12]}"
        self._log = folder / "seen.jsonl"
        words = [sys.executable, "-m", "atm.testing.scripted_agent", "--log", str(self._log)]
        said = self.tmux("new-session", "-x", "120", "-y", "30", "-d", "-P", "-F", "#{socket_path} #{pane_id}", *words)
        self.socket, _, self.id = said.strip().rpartition(" ")

    def tmux(self, *words: str) -> str:
        environment = {key: value for key, value in os.environ.items() if key not in ("TMUX", "TMUX_PANE")}
        command = ["tmux", "-u", "-L", self._name, "-f", "/dev/null", *words]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=30, check=False).stdout

    @property
    def prompts(self) -> list[str]:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [row["text"] for row in map(json.loads, lines) if row["kind"] == "prompt"]

    def prompts_before(self, fence: str) -> list[str]:
        """All that were submitted by now: prompts are taken in order, so the fence comes after them."""
        self.tmux("send-keys", "-t", self.id, "-l", fence)
        self.tmux("send-keys", "-t", self.id, "Enter")
        self._eventually(lambda: any(prompt.endswith(fence) for prompt in self.prompts), 60)
        *before, last = self.prompts
        assert last == fence, "something was written in the composer and not submitted"
        return before

    def close(self) -> None:
        self.tmux("kill-server")
        Path(self.socket).unlink(missing_ok=True)


@pytest.fixture
def pane(tmp_path, eventually) -> Iterator[Pane]:
    made = Pane(tmp_path, eventually)
    eventually(lambda: "─" in made.tmux("capture-pane", "-p", "-t", made.id), 60)
    yield made
    made.close()


@needs_tmux
def test_through_a_terminal(crew, room, pane, eventually):
    register(room, server=pane.socket, pane=pane.id)
    post(room, "the parser is done; $(touch pwned)")
    (one,) = crew("deliver", "--json").json["members"]
    assert one["outcome"] == "surfaced", one
    eventually(lambda: pane.prompts, 60)  # it leaves the composer before the agent takes it up
    assert len(pane.prompts) == 1
    assert pane.prompts[0].endswith("the parser is done; $(touch pwned)]")
    crew("deliver", code=3)
    post(room, "two\nlines", "and another")
    assert crew("deliver", "--json").json["members"][0]["outcome"] == "surfaced"
    assert len(pane.prompts_before("and then?")) == 2
    path = Path(pane.prompts[1].rpartition(" read ")[2])
    assert "two\nlines" in path.read_text()


@needs_tmux
def test_a_terminal_may_be_forbidden(crew, room, pane, configure):
    configure(delivery={"tmux": False})
    register(room, server=pane.socket, pane=pane.id)
    post(room, "one")
    assert crew("deliver", "--json").json["members"][0]["outcome"] == "waiting"
    assert pane.prompts_before("and then?") == []


@needs_tmux
def test_two_deliveries_at_once_paste_a_line_once(crew, room, pane):
    register(room, server=pane.socket, pane=pane.id)
    post(room, "the only one")
    processes = [crew.start("deliver") for _ in range(3)]
    for process in processes:
        process.communicate(timeout=60)
    assert len(pane.prompts_before("and then?")) == 1


@needs_tmux
def test_two_deliveries_at_once_wake_an_idle_agent_once(crew, room, pane):
    register(room, vendor="claude", server=pane.socket, pane=pane.id)
    beat(room.presence, "crew", "ann", time.time(), "a test", state=IDLE)
    post(room, "one")
    processes = [crew.start("deliver") for _ in range(3)]
    for process in processes:
        process.communicate(timeout=60)
    assert len(pane.prompts_before("and then?")) == 1, pane.prompts
    assert [row["read"] for row in crew.rows("ann")] == [False]
