"""Other users of the machine at the page's port: what they try costs the owner nothing. By a second user."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.web.served import Browser, PageServer

from atm.daemon.adapters.loopback_peers import has_table, user_at, user_in
from atm.ui.http import patience
from atm.ui.http.peers import (
    MOST_CONNECTIONS,
    MOST_PEERS,
    OF_EACH_USER,
    OF_OTHER_USERS,
    UNKNOWN,
    OpenConnections,
    Peer,
    PeerBuckets,
    peer_of,
)
from atm.ui.http.refusing import Bucket
from atm.ui.web import gate
from atm.ui.web.gate import LOGINS

needs_second_user = pytest.mark.skipif(
    not has_table() or not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="only root starts processes of another user, and only Linux says whose a connection is",
)

# The rules.

OWN, ANN, BOB = Peer("user 1", is_own=True), Peer("user 2", is_own=False), Peer("user 3", is_own=False)


def test_each_other_user_has_a_few_connections_and_the_owner_has_the_rest():
    open_now = OpenConnections()
    assert [open_now.open(ANN) for _ in range(OF_EACH_USER + 2)] == [True] * OF_EACH_USER + [False, False]
    assert open_now.open(BOB)
    own = [open_now.open(OWN) for _ in range(MOST_CONNECTIONS)]
    assert sum(own) == MOST_CONNECTIONS - OF_OTHER_USERS


def test_all_other_users_together_leave_the_owner_its_share():
    open_now = OpenConnections()
    others = [open_now.open(Peer(f"user {number}", is_own=False)) for number in range(2 * OF_OTHER_USERS)]
    assert sum(others) == OF_OTHER_USERS
    assert open_now.open(OWN)


def test_a_connection_that_was_closed_makes_room_for_another():
    open_now = OpenConnections()
    assert all(open_now.open(ANN) for _ in range(OF_EACH_USER))
    assert not open_now.open(ANN)
    open_now.close(ANN)
    assert open_now.open(ANN)


def test_each_peer_empties_a_bucket_of_its_own():
    buckets = PeerBuckets(3)
    assert [buckets.take("ann", 0.0, 1.0) > 0 for _ in range(4)] == [False, False, False, True]
    assert buckets.take("bob", 0.0, 1.0) == 0
    assert buckets.take("ann", 1.0, 1.0) == 0, "calls come back with time"


def test_buckets_of_many_peers_are_bounded_and_an_empty_one_is_kept():
    buckets = PeerBuckets(1)
    assert buckets.take("ann", 0.0, 0.001) == 0
    for number in range(2 * MOST_PEERS):
        buckets.buckets[f"user {number}"] = Bucket(1, 0.0)
        if len(buckets.buckets) > MOST_PEERS:
            buckets._forget(0.0, 0.001)
    assert len(buckets.buckets) <= MOST_PEERS
    assert buckets.take("ann", 0.0, 0.001) > 0


@pytest.mark.parametrize(
    ("user", "can_tell", "peer"),
    [
        (1000, True, Peer("user 1000", is_own=True)),
        (1001, True, Peer("user 1001", is_own=False)),
        (None, True, UNKNOWN),
        (None, False, Peer("address 127.0.0.1", is_own=True)),
    ],
)
def test_a_peer_is_named_by_its_user_and_where_the_system_does_not_tell_by_its_address(user, can_tell, peer):
    assert peer_of(user, 1000, "127.0.0.1", can_tell=can_tell) == peer


# The table of sockets.

HEAD = b"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def row(there: str, here: str, state: str = "01", user: int = 1001) -> bytes:
    return f"   0: {there} {here} {state} 00000000:00000000 00:00000000 00000000 {user:>5}        0 77\n".encode()


THERE, HERE = ("127.0.0.1", 0x1234), ("127.0.0.1", 0x20E4)
needs_little_endian = pytest.mark.skipif(sys.byteorder != "little", reason="rows as a little-endian machine has them")


@needs_little_endian
@pytest.mark.parametrize(
    ("table", "user"),
    [
        (row("0100007F:1234", "0100007F:20E4"), 1001),
        (row("0000000000000000FFFF00000100007F:1234", "0000000000000000FFFF00000100007F:20E4"), 1001),
        (row("0100007F:20E4", "0100007F:1234", user=1), None),
        (row("0200007F:1234", "0100007F:20E4"), None),
        (row("0100007F:1234", "0100007F:20E5"), None),
        (row("0100007F:1234", "0100007F:20E4", "01", 0), 0),
        (row("0100007F:1234", "0100007F:20E4", "05", 0), None),
        (row("0100007F:1234", "0100007F:20E4", "05"), 1001),
        (b"", None),
        (b"nothing of this kind\n" * 3, None),
    ],
    ids=["open", "v6", "our end", "another address", "another port", "root", "closed", "half closed", "empty", "junk"],
)
def test_the_owner_of_the_peers_own_socket_is_meant(table, user):
    assert user_in(HEAD + table, THERE, HERE) == user


@pytest.mark.skipif(not has_table(), reason="only Linux says whose a connection is")
def test_the_user_of_a_real_connection_is_found_until_it_is_closed():
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        there, peer = server.accept()
        with there:
            assert user_at(peer, there.getsockname()) == os.getuid()
            client.close()
            assert user_at(peer, there.getsockname()) in (None, os.getuid() or None)


# With a second user.

GUESSES = """
import email.parser, encodings.idna, http.client, os, sys
os.setgroups([]); os.setgid(54321); os.setuid(54321)
port, number = map(int, sys.argv[1:])
said = []
for at in range(number):
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"X-Atm": "page", "Origin": f"http://127.0.0.1:{port}"}
    line.request("POST", "/api/login", b'{"key": "%d"}' % at, headers)
    said.append(line.getresponse().status)
    line.close()
print(*said)
"""

CROWD = """
import encodings.idna, os, socket, sys
os.setgroups([]); os.setgid(54321); os.setuid(54321)
port, number = map(int, sys.argv[1:])
lines = []
for _ in range(number):
    try:
        line = socket.create_connection(("127.0.0.1", port), timeout=60)
        line.sendall(b"G")
        lines.append(line)
    except OSError:
        pass
print("ready", flush=True)
sys.stdin.readline()
"""


@contextmanager
def as_stranger(program: str, *words: object) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=60)


@needs_second_user
def test_the_guesses_of_another_user_do_not_lock_the_owner_out(server: PageServer, monkeypatch):
    monkeypatch.setattr(gate, "LOGINS_PER_SECOND", 0.001)
    with as_stranger(GUESSES, server.port, int(LOGINS) + 5) as stranger:
        said = stranger.communicate(timeout=120)[0].split()
    assert said[0] == "403"
    assert said[-1] == "429"
    assert server.browser().get("/api/hello").status == 200


@needs_second_user
def test_guesses_of_the_owners_own_user_leave_another_user_its_own(server: PageServer, monkeypatch):
    monkeypatch.setattr(gate, "LOGINS_PER_SECOND", 0.001)
    own = Browser(server.port)
    assert [own.login("x").status for _ in range(int(LOGINS) + 1)][-1] == 429
    with as_stranger(GUESSES, server.port, 1) as stranger:
        assert stranger.communicate(timeout=120)[0].split() == ["403"]


@needs_second_user
def test_a_crowd_of_slow_connections_of_another_user_leaves_the_owner_room(server: PageServer, monkeypatch):
    monkeypatch.setattr(patience, "REQUEST_SECONDS", 600.0)  # not even their deadline is needed
    with as_stranger(CROWD, server.port, MOST_CONNECTIONS + 50) as stranger:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == "ready\n"
        assert server.browser().get("/api/teams").status == 200


def test_a_connection_that_sends_a_byte_now_and_then_has_a_deadline(server: PageServer, monkeypatch):
    monkeypatch.setattr(patience, "REQUEST_SECONDS", 0.5)
    with socket.create_connection(("127.0.0.1", server.port), timeout=0.05) as line:
        assert _is_ended(line, b"GET /api/hello HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 100_000)


def _is_ended(line: socket.socket, text: bytes) -> bool:
    """Within so many bytes, each a twentieth of a second after the one before."""
    for at in range(600):
        try:
            line.sendall(text[at : at + 1])
            if line.recv(1) == b"":
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False
