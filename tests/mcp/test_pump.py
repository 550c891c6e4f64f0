"""The pump between an agent and the daemon, over real pipes and sockets, with a daemon that does what a test says."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from atm.core.errors import AtmError
from atm.ui.mcp.catalog import tools_for
from atm.ui.mcp.hello import LONGEST_LINE
from atm.ui.mcp.prompts import prompts_for
from atm.ui.mcp.resources import RESOURCES
from atm.ui.mcp.serving.roles import LEAD, OBSERVER, ROLES, TEAMMATE
from atm.ui.mcp.stdio import moving, pump
from atm.ui.mcp.stdio.early import ASKED_AT_ONCE, EarlyWords
from atm.ui.mcp.stdio.lines import Opening, PumpLines
from atm.ui.mcp.stdio.pump import Pump

INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}\n'
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
FOLLOW = b'{"jsonrpc":"2.0","id":"s","method":"resources/subscribe","params":{"uri":"atm://crew/board"}}\n'


class Bench:
    """A pump in a thread, the agent's ends of its pipes, and the daemon's ends of its lines."""

    def __init__(self) -> None:
        self._stdin, self.to_pump = os.pipe()
        self.from_pump, self._stdout = os.pipe()
        self.lines: list[socket.socket] = []
        self.is_connected = threading.Event()
        self.may_go_on = threading.Event()
        self.may_reach = True
        self.is_own = False
        self.code: list[int | AtmError] = []
        self.asked: list[bool] = []
        self.early: Callable[[], EarlyWords | None] = lambda: None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._door = threading.Lock()
        self._is_closed = False

    def _run(self) -> None:
        try:
            made = Pump(self._channels, self._stdin, self._stdout, early=self.early, is_own=lambda: self.is_own)
            self.code.append(made.run())
        except AtmError as error:
            self.code.append(error)
        finally:
            os.close(self._stdout)

    def _channels(self, may_start: bool) -> tuple[Any, bytes] | None:
        self.asked.append(may_start)
        if not self.may_reach:
            if may_start:
                raise AtmError("there is no daemon")
            return None
        with self._door:
            if self._is_closed:  # a search that begins when all is over would leave its line behind
                raise AtmError("the test is over")
            ours, theirs = socket.socketpair()
            theirs.settimeout(60)
            self.lines.append(theirs)
        self.is_connected.set()
        assert self.may_go_on.wait(60)
        return ours, b""

    def start(self) -> Bench:
        self._thread.start()
        return self

    @property
    def daemon(self) -> socket.socket:
        assert self.is_connected.wait(60)
        return self.lines[-1]

    def say(self, data: bytes) -> None:
        os.write(self.to_pump, data)

    def write_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self.to_pump, view[: 1 << 16]) :]

    def hear(self) -> Any:
        """One line from the pump."""
        data = b""
        while not data.endswith(b"\n"):
            part = os.read(self.from_pump, 1)
            assert part, f"the pump has ended: {self.code}"
            data += part
        return json.loads(data)

    def reaches_daemon(self, expected: bytes) -> None:
        found = b""
        while len(found) < len(expected):
            found += self.daemon.recv(len(expected) - len(found))
        assert found == expected

    def end(self) -> int | AtmError:
        os.close(self.to_pump)
        self.to_pump = -1
        return self.join()

    def join(self) -> int | AtmError:
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.code[0]

    def close(self) -> None:
        if self.to_pump >= 0:
            os.close(self.to_pump)
        os.close(self.from_pump)
        self._thread.join(60)
        os.close(self._stdin)
        with self._door:
            self._is_closed = True
        for line in self.lines:
            line.close()


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench().start()
    made.may_go_on.set()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer than the tests wait themselves: what comes late is not lost, and what ends at once did not wait for it."""
    monkeypatch.setattr(pump, "LAST_WORDS_SECONDS", 90.0)
    monkeypatch.setattr(pump, "LOOK_SECONDS", 0.1)  # before it looks for a daemon again: there is one by then
    monkeypatch.setattr(pump, "LOSSES_WITHIN", 900.0)
    monkeypatch.setattr(moving, "LOOK_SECONDS", 0.1)


def test_lines_go_both_ways_as_they_are(bench):
    bench.say(INITIALIZE)
    bench.reaches_daemon(INITIALIZE)
    bench.daemon.sendall(b'{"jsonrpc":"2.0","id":0,"result":{"x":"\xc3\xa4"}}\n')
    assert bench.hear() == {"jsonrpc": "2.0", "id": 0, "result": {"x": "ä"}}
    assert bench.end() == 0


def test_when_the_agent_goes_it_goes_at_once(bench):
    bench.say(INITIALIZE)
    bench.reaches_daemon(INITIALIZE)
    bench.daemon.sendall(b'{"jsonrpc":"2.0","id":0,"result":{}}\n')
    bench.hear()
    assert bench.end() == 0


def test_what_was_asked_last_is_still_answered(bench):
    bench.say(b'{"jsonrpc":"2.0","id":5,"method":"tools/call"}\n')
    bench.reaches_daemon(b'{"jsonrpc":"2.0","id":5,"method":"tools/call"}\n')
    os.close(bench.to_pump)
    bench.to_pump = -1
    bench.daemon.sendall(b'{"jsonrpc":"2.0","id":5,"result":{}}\n')
    assert bench.hear()["id"] == 5
    assert bench.join() == 0


def test_nobody_waits_for_a_stream_at_the_end(bench):
    line = b'{"jsonrpc":"2.0","id":"listen-1","method":"subscriptions/listen"}\n'
    bench.say(line)
    bench.reaches_daemon(line)
    assert bench.end() == 0


def test_an_agent_that_reads_no_more_is_gone(bench):
    os.close(bench.from_pump)
    bench.from_pump = os.open(os.devnull, os.O_RDONLY)
    assert bench.join() == 0


def test_requests_under_way_get_an_error_when_the_daemon_dies(bench, eventually):
    bench.say(b'{"jsonrpc":"2.0","id":1,"method":"a"}\n{"jsonrpc":"2.0","id":"two","method":"b"}\n')
    bench.reaches_daemon(b'{"jsonrpc":"2.0","id":1,"method":"a"}\n{"jsonrpc":"2.0","id":"two","method":"b"}\n')
    bench.daemon.sendall(b'{"jsonrpc":"2.0","id":1,"result":{}}\n{"jsonrpc":"2.0","id":"two","resu')
    assert bench.hear() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    bench.daemon.close()
    died = bench.hear()
    assert (died["id"], died["error"]["code"]) == ("two", -32000)
    assert "look whether it was done" in died["error"]["message"]
    bench.say(b'{"jsonrpc":"2.0","id":3,"method":"c"}\n')
    eventually(lambda: len(bench.lines) == 2)
    bench.reaches_daemon(b'{"jsonrpc":"2.0","id":3,"method":"c"}\n')


@pytest.mark.parametrize("last", [b"", b'{"jsonrpc":"2.0","method":"m"}\n'], ids=["nothing", "a notice"])
def test_what_is_said_after_the_daemon_has_gone_goes_to_the_next_one(last, eventually):
    """It has hung up, and the agent speaks before the pump has had the time to notice."""
    bench = Bench().start()
    bench.daemon.sendall(last)
    bench.daemon.close()
    bench.say(b'{"jsonrpc":"2.0","id":1,"method":"a"}\n')
    bench.may_go_on.set()
    try:
        if last:
            assert bench.hear()["method"] == "m"
        eventually(lambda: len(bench.lines) == 2)
        bench.reaches_daemon(b'{"jsonrpc":"2.0","id":1,"method":"a"}\n')
        bench.daemon.sendall(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
        assert bench.hear() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    finally:
        bench.close()


def test_what_a_daemon_said_before_it_went_is_not_lost(bench, eventually):
    """It speaks and goes before the pump has told it what the agent said at the beginning."""
    bench.say(INITIALIZE)
    bench.reaches_daemon(INITIALIZE)
    bench.may_go_on.clear()
    bench.daemon.close()
    assert bench.hear()["error"]
    eventually(lambda: len(bench.lines) == 2)
    bench.daemon.sendall(b'{"jsonrpc":"2.0","method":"m"}\n')
    bench.daemon.close()
    bench.may_go_on.set()
    assert bench.hear()["method"] == "m"


def test_a_new_daemon_is_told_what_the_agent_said_at_the_beginning_and_its_answers_are_swallowed(bench, eventually):
    bench.say(INITIALIZE + INITIALIZED + FOLLOW)
    bench.reaches_daemon(INITIALIZE + INITIALIZED + FOLLOW)
    bench.daemon.sendall(b'{"jsonrpc":"2.0","id":0,"result":{}}\n{"jsonrpc":"2.0","id":"s","result":{}}\n')
    assert [bench.hear()["id"], bench.hear()["id"]] == [0, "s"]
    bench.daemon.close()
    eventually(lambda: len(bench.lines) == 2)
    bench.reaches_daemon(INITIALIZE + INITIALIZED + FOLLOW)
    bench.daemon.sendall(b'{"jsonrpc":"2.0","id":0,"result":{}}\n{"jsonrpc":"2.0","id":"s","result":{}}\n')
    bench.daemon.sendall(b'{"jsonrpc":"2.0","method":"notifications/resources/updated"}\n')
    assert bench.hear()["method"] == "notifications/resources/updated"


def test_a_daemon_is_started_anew_only_when_the_agent_speaks(bench, eventually):
    bench.say(INITIALIZE)
    bench.reaches_daemon(INITIALIZE)
    bench.may_reach = False
    bench.daemon.close()
    assert bench.hear()["error"]
    eventually(lambda: bench.asked[1:2] == [False])
    bench.may_reach = True
    eventually(lambda: len(bench.lines) == 2)
    assert bench.asked.count(True) == 1


def test_without_any_daemon_it_ends_with_an_error(bench):
    bench.say(INITIALIZE)
    bench.reaches_daemon(INITIALIZE)
    bench.may_reach = False
    bench.daemon.close()
    assert bench.hear()["error"]
    bench.say(b'{"jsonrpc":"2.0","id":9,"method":"x"}\n')
    assert str(bench.join()) == "there is no daemon"


def test_a_daemon_that_hangs_up_again_and_again_is_given_up(bench, eventually):
    for count in range(1, 7):
        line = b'{"jsonrpc":"2.0","id":%d,"method":"x"}\n' % count
        bench.say(line)
        eventually(lambda count=count: len(bench.lines) == count)
        bench.reaches_daemon(line)
        bench.daemon.close()
        if count < 6:
            assert bench.hear()["id"] == count
    assert "keeps closing" in str(bench.join())


def test_a_line_of_which_nobody_knows_whose_it_is_ends_the_connection_with_a_word(bench):
    def flood() -> None:
        for _ in range(12):
            part = b"x" * (1 << 20)
            while part:
                part = part[os.write(bench.to_pump, part) :]
        os.write(bench.to_pump, b"\n")

    writing = threading.Thread(target=flood)
    writing.start()
    complaint = bench.hear()
    assert (complaint["id"], complaint["error"]["message"]) == (None, "a line has at most 4 MB; say less at once")
    assert str(bench.join()) == "a message was too long, and does not say whose it is"
    writing.join(60)


BEFORE = b'{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"x":"'
BEHIND = b'{"method":"tools/call","params":{"x":"%s"},"jsonrpc":"2.0","id":%s}'


@pytest.mark.parametrize("id", [b"7", b'"seven \\" 7"', b"-1"])
def test_whoever_says_too_much_is_answered_under_the_id_of_that(bench, id):
    """Of 50 MB, wherever the id stands; and the pump goes on."""
    much = b"x" * (LONGEST_LINE + 1)
    for line in (BEFORE % id + b"y" * (50 << 20) + b'"}}', BEHIND % (much, id), BEHIND % (b'\\"id\\":5}' + much, id)):
        writing = threading.Thread(target=bench.write_all, args=(line + b"\n",))
        writing.start()
        complaint = bench.hear()
        writing.join(60)
        assert (complaint["id"], complaint["error"]["code"]) == (json.loads(id), -32600)
    bench.say(INITIALIZE)
    bench.reaches_daemon(INITIALIZE)


@pytest.mark.parametrize(
    "line",
    [
        b'{"params":{"id":5,"x":"%s"},"method":"x"}',
        b'{"params":{"x":"%s","id":5}}',
        b'{"id":null,"x":"%s"}',
        b'{"id":[1],"x":"%s"}',
        b'{"id":1.5,"x":"%s"}',
        b'{"params":"%s,\\"id\\":5}',
        b"%s",
    ],
)
def test_an_id_that_is_none_or_another_s_is_not_taken_for_the_caller_s(line):
    lines = PumpLines(10_000)
    assert lines.feed(line % (b"x" * 20_000) + b"\n") == []
    assert lines.too_long == [""]


def test_an_answer_that_is_too_long_to_be_carried_is_not_waited_for(bench, eventually):
    bench.say(b'{"jsonrpc":"2.0","id":7,"method":"tools/call"}\n')
    bench.daemon.recv(1000)
    bench.daemon.sendall(b'{"jsonrpc":"2.0","id":7,"result":{"x":"' + b"x" * (4 * LONGEST_LINE) + b'"}}\n')
    assert bench.hear()["id"] == 7


def test_what_is_no_json_is_handed_on_for_the_server_to_judge(bench):
    bench.say(b"nonsense\n\n  \n[1]\n")
    bench.reaches_daemon(b"nonsense\n[1]\n")


def test_neither_side_waits_for_the_other_for_ever(bench, eventually):
    """Both write far more than any buffer holds before they read: the classic embrace."""
    request = b'{"jsonrpc":"2.0","method":"n","params":{"x":"' + b"r" * 60_000 + b'"}}\n'
    answer = b'{"jsonrpc":"2.0","method":"m","params":{"x":"' + b"a" * 60_000 + b'"}}\n'
    done: list[str] = []

    def write_all(write: Callable[[bytes], int], data: bytes, name: str) -> None:
        view = memoryview(data * 40)
        while view:
            view = view[write(bytes(view[:65_536])) :]
        done.append(name)

    eventually(lambda: bench.lines)
    bench.daemon.settimeout(None)
    threads = [
        threading.Thread(target=write_all, args=(lambda data: os.write(bench.to_pump, data), request, "agent")),
        threading.Thread(target=write_all, args=(bench.daemon.send, answer, "daemon")),
    ]
    for thread in threads:
        thread.start()
    heard = taken = 0
    while heard < len(answer) * 40:
        heard += len(os.read(bench.from_pump, 1 << 20))
    while taken < len(request) * 40:
        taken += len(bench.daemon.recv(1 << 20))
    for thread in threads:
        thread.join(60)
    assert sorted(done) == ["agent", "daemon"]


# Lines.


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_come_out_whole_however_they_come_in(size):
    lines = PumpLines(100)
    said = b'{"a":1}\n\n  \n{"b":2}\nlast'
    assert [line for part in cut(said, size) for line in lines.feed(part)] == [b'{"a":1}\n', b'{"b":2}\n']
    assert lines.feed(b"!\n") == [b"last!\n"]


@pytest.mark.parametrize("size", [1, 10, 99, 1000])
def test_a_line_that_is_too_long_is_left_out_once(size):
    lines = PumpLines(100)
    said = b"a\n" + b"x" * 350 + b"\nb\n" + b"y" * 101 + b"\nc\n"
    assert [line for part in cut(said, size) for line in lines.feed(part)] == [b"a\n", b"b\n", b"c\n"]
    assert lines.too_long == ["", ""]


def test_the_longest_line_is_no_longer_than_the_server_takes():
    assert PumpLines(LONGEST_LINE).feed(b"x" * LONGEST_LINE + b"\n") != []


def test_what_is_followed_no_more_is_not_followed_again():
    opening = Opening()
    for line in (INITIALIZE, INITIALIZED, FOLLOW):
        fields = json.loads(line)
        opening.note(fields["method"], fields, line)
    assert opening.again() == (INITIALIZE + INITIALIZED + FOLLOW, [0, "s"])
    opening.note("resources/unsubscribe", {"params": {"uri": "atm://crew/board"}}, b"-")
    opening.note("resources/subscribe", {"params": None}, b"?\n")
    assert opening.again()[0] == INITIALIZE + INITIALIZED + b"?\n"


# From the server in this process to a daemon that has come.


@pytest.fixture
def own() -> Iterator[Bench]:
    """A pump whose first line leads to a server of its own. There is no daemon until a test says so."""
    made = Bench()
    made.is_own = True
    made.start()
    made.may_go_on.set()
    assert made.is_connected.wait(60)
    made.may_reach = False
    yield made
    made.close()


def comes(bench: Bench, eventually: Any) -> None:
    """A daemon, which the pump finds: its line is there, and the pump is told so a moment later."""
    bench.is_own, bench.may_reach = False, True
    eventually(lambda: len(bench.lines) == 2)


def leaves_the_own(bench: Bench) -> None:
    assert bench.lines[0].recv(1) == b"", "the server in this process is left"


def test_it_moves_to_a_daemon_that_comes_and_tells_it_what_the_agent_said_at_the_beginning(own, eventually):
    own.say(INITIALIZE + INITIALIZED + FOLLOW)
    own.reaches_daemon(INITIALIZE + INITIALIZED + FOLLOW)
    own.daemon.sendall(b'{"jsonrpc":"2.0","id":0,"result":{}}\n{"jsonrpc":"2.0","id":"s","result":{}}\n')
    assert [own.hear()["id"], own.hear()["id"]] == [0, "s"]
    comes(own, eventually)
    own.reaches_daemon(INITIALIZE + INITIALIZED + FOLLOW)
    leaves_the_own(own)
    own.daemon.sendall(b'{"jsonrpc":"2.0","id":0,"result":{}}\n{"jsonrpc":"2.0","id":"s","result":{}}\n')
    own.say(CALL)
    own.reaches_daemon(CALL)
    own.daemon.sendall(b'{"jsonrpc":"2.0","id":2,"result":"of the daemon"}\n')
    assert own.hear()["result"] == "of the daemon", "the answers that the agent has are not said again"
    assert True not in own.asked[1:], "it looks, and starts none"


def test_what_is_under_way_is_answered_where_it_was_asked(own, eventually):
    own.say(CALL)
    own.reaches_daemon(CALL)
    comes(own, eventually)
    own.lines[0].sendall(b'{"jsonrpc":"2.0","id":2,"result":"of its own"}\n')
    assert own.hear()["result"] == "of its own"
    leaves_the_own(own)
    own.say(CALL)
    own.reaches_daemon(CALL)


def test_a_stream_ends_when_it_moves_so_that_whoever_listens_begins_anew(own, eventually):
    own.say(b'{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{}}\n')
    own.daemon.recv(1000)
    comes(own, eventually)
    ended = own.hear()
    assert (ended["id"], ended["error"]["code"]) == (9, -32000)


def test_a_daemon_that_goes_before_it_is_told_anything_loses_nothing(own, eventually):
    own.say(CALL)
    own.reaches_daemon(CALL)
    comes(own, eventually)
    own.lines[1].close()
    own.lines[0].sendall(b'{"jsonrpc":"2.0","id":2,"result":1}\n')
    assert own.hear()["result"] == 1
    leaves_the_own(own)
    own.say(CALL)
    eventually(lambda: len(own.lines) == 3)
    own.reaches_daemon(CALL)


def test_a_daemon_that_turns_it_away_is_done_without(eventually):
    def refuse(_: bool) -> None:
        refused.set()
        raise AtmError("mcp-missing")

    refused = threading.Event()
    searching = moving.Moving(refuse)
    eventually(lambda: searching.patience() == 0.0)
    searching.look()
    assert refused.wait(60)
    assert searching.bell is not None
    assert os.read(searching.bell, 1) == b"", "it rings"
    searching.ring()
    assert searching.found is None
    assert (searching.patience() or 0) > moving.LOOK_SECONDS


# While the daemon is still starting.

LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
CALL = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"task_briefing"}}\n'


@pytest.fixture
def cold() -> Iterator[Bench]:
    """A pump whose daemon is not there before the test says so."""
    made = Bench()
    made.early = lambda: EarlyWords(TEAMMATE)
    yield made.start()
    made.may_go_on.set()
    made.close()


def answer(id: int, result: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode() + b"\n"


def test_the_greeting_and_the_tools_are_answered_before_there_is_a_daemon(cold):
    cold.say(INITIALIZE)
    greeting = cold.hear()
    assert greeting["result"]["serverInfo"]["name"] == "atm"
    cold.say(INITIALIZED + LIST)
    told = cold.hear()
    assert "mail_send" in [tool["name"] for tool in told["result"]["tools"]]
    cold.say(CALL)
    cold.may_go_on.set()
    cold.reaches_daemon(INITIALIZE + INITIALIZED + LIST + CALL)
    cold.daemon.sendall(answer(0, greeting["result"]) + answer(1, told["result"]) + answer(2, {"x": 1}))
    assert cold.hear() == {"jsonrpc": "2.0", "id": 2, "result": {"x": 1}}  # what it knows it does not hear again
    assert cold.end() == 0


def test_tools_that_turn_out_to_be_others_are_said_to_have_changed(cold):
    cold.say(INITIALIZE + INITIALIZED + LIST)
    greeting, _ = cold.hear(), cold.hear()
    cold.may_go_on.set()
    cold.reaches_daemon(INITIALIZE + INITIALIZED + LIST)
    cold.daemon.sendall(answer(0, greeting["result"]) + answer(1, {"tools": []}))
    assert cold.hear()["method"] == "notifications/tools/list_changed"


def test_of_two_kinds_of_clients_those_that_shake_no_hands_wait_for_the_daemon(cold):
    cold.say(LIST)
    cold.may_go_on.set()
    cold.reaches_daemon(LIST)
    cold.daemon.sendall(answer(1, {"tools": []}))
    assert cold.hear()["result"] == {"tools": []}


def test_whoever_gives_up_the_later_era_and_shakes_hands_is_not_heard_in_both(cold):
    """As Claude Code 2.1.326 does when its probe is not answered in time: the server would go on in the later era."""
    cold.say(b'{"jsonrpc":"2.0","id":"probe","method":"server/discover"}\n')
    cold.say(INITIALIZE)
    assert (cold.hear()["id"], cold.hear()["id"]) == ("probe", 0)
    cold.say(INITIALIZED + CALL)
    cold.may_go_on.set()
    cold.reaches_daemon(INITIALIZE + INITIALIZED + CALL)


def test_whoever_says_all_at_once_and_goes_is_answered_when_there_is_a_daemon(cold):
    cold.say(INITIALIZE + INITIALIZED + CALL)
    os.close(cold.to_pump)
    cold.to_pump = -1
    assert cold.hear()["id"] == 0
    cold.may_go_on.set()
    cold.reaches_daemon(INITIALIZE + INITIALIZED + CALL)
    cold.daemon.sendall(answer(0, {}) + answer(2, {}))
    assert cold.hear()["id"] == 2
    assert cold.join() == 0


def test_a_daemon_that_runs_speaks_for_itself(bench):
    bench.early = lambda: EarlyWords(LEAD)
    bench.say(INITIALIZE)
    bench.reaches_daemon(INITIALIZE)
    bench.daemon.sendall(answer(0, {"mine": True}))
    assert bench.hear()["result"] == {"mine": True}


@pytest.mark.parametrize("role", ROLES)
def test_the_shipped_list_is_what_a_role_sees(role):
    words = EarlyWords(role)
    told = {name: json.loads(words.answer(method, None) or "")[name] for method, name in ASKED_AT_ONCE.items()}
    assert [tool["name"] for tool in told["tools"]] == [tool.name for tool in tools_for(role)]
    assert [prompt["name"] for prompt in told["prompts"]] == [prompt.name for prompt in prompts_for(role)]
    assert [one["uriTemplate"] for one in told["resourceTemplates"]] == [one.uri for one in RESOURCES]
    assert words.answer("tools/call", None) is None


@pytest.mark.parametrize(
    ("asked", "given"),
    [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2026-07-28", "2025-11-25"), (7, "2025-11-25")],
)
def test_the_greeting_is_in_the_version_that_was_asked_for(asked, given):
    words = EarlyWords(OBSERVER)
    assert json.loads(words.greeting({"protocolVersion": asked}))["protocolVersion"] == given
    assert json.loads(words.greeting(None))["protocolVersion"] == "2025-11-25"
