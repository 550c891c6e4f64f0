"""Access tokens: one suite for the twin and for the file, and what a file can be besides."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from atm.access import services as access_tokens
from atm.access.adapters import AccessTokenFile
from atm.access.ports import AccessTokens
from atm.access.rules import AccessToken
from atm.access.services import NoSuchToken, digest, find, issue, revoke
from atm.core.errors import RequestError, UnreadableFile
from atm.files.adapters.locking import Locks
from atm.files.adapters.machine import RealChance, RealClock, host_name
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.testing import QuickDisk
from atm.testing.files import MemoryAccessTokens
from atm.testing.rooms import memory_room
from atm.wiring.daemon import build_access_tokens

ROOM = memory_room()
create_team(ROOM, "crew")
for name in ("ann", "bob"):
    add_member(ROOM, "crew", Member(name))


@pytest.fixture(params=["twin", "file"])
def tokens(request: pytest.FixtureRequest, layout) -> AccessTokens:
    return MemoryAccessTokens() if request.param == "twin" else build_access_tokens(layout)


def make(tokens: AccessTokens, member: str = "ann") -> tuple[str, AccessToken]:
    return issue(tokens, ROOM, team=ROOM.rosters.load("crew"), member=member, role="")


def test_there_are_none_at_first(tokens):
    assert tokens.all() == []


def test_a_token_is_found_by_its_secret_alone(tokens):
    secret, made = make(tokens)
    make(tokens, "bob")
    found = find(tokens.all(), secret)
    assert found is not None
    assert (found.id, found.team, found.member, found.role) == (made.id, "crew", "ann", "")
    for wrong in ("", secret[:-1], secret + "x", secret.upper(), made.sha256, made.id, "\ud800", secret + "x" * 500):
        assert find(tokens.all(), wrong) is None


def test_a_revoked_one_is_found_no_more_and_others_are(tokens):
    (ann, made), (bob, _) = make(tokens), make(tokens, "bob")
    assert revoke(tokens, made.id).member == "ann"
    assert find(tokens.all(), ann) is None
    assert find(tokens.all(), bob) is not None
    with pytest.raises(NoSuchToken):
        revoke(tokens, made.id)


def test_there_is_an_end_to_how_many(tokens, monkeypatch):
    monkeypatch.setattr(access_tokens, "MOST_TOKENS", 2)
    make(tokens)
    make(tokens)
    with pytest.raises(RequestError):
        make(tokens)
    assert len(tokens.all()) == 2


def test_a_change_that_fails_changes_nothing(tokens):
    make(tokens)

    def fail(known: list[AccessToken]) -> list[AccessToken]:
        raise RequestError("no")

    with pytest.raises(RequestError):
        tokens.change(fail)
    assert len(tokens.all()) == 1


# The file.


def test_the_file_holds_no_secret_and_is_for_its_owner_alone(layout):
    secret, _ = make(build_access_tokens(layout))
    path = Path(layout.access_tokens)
    assert secret.encode() not in path.read_bytes()
    assert digest(secret).encode() in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_another_process_changed_is_seen_at_once(layout):
    here, there = build_access_tokens(layout), build_access_tokens(layout)
    secret, made = make(here)
    assert find(there.all(), secret) is not None
    revoke(here, made.id)
    assert find(there.all(), secret) is None


def test_two_at_once_lose_nothing(layout):
    def make_one() -> None:
        # Without waiting for the platter: sixteen of them on a busy disk would outlast anybody's patience with a lock.
        locks = Locks(QuickDisk(), RealClock(), RealChance(), layout.locks, pid=os.getpid(), host=host_name())
        make(AccessTokenFile(locks, layout))

    threads = [threading.Thread(target=make_one) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(build_access_tokens(layout).all()) == 16


def write(data: bytes) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        path.write_bytes(data)
        path.chmod(0o600)

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        write(b"nonsense"),
        write(b"{}"),
        write(b'{"v": 2, "tokens": []}'),
        write(b'{"v": 1, "tokens": [7]}'),
        write(b'{"v": 1, "tokens": [{"id": "a"}]}'),
        write(b'{"v": 1, "tokens": [{"id": "a", "sha256": 7, "team": "", "member": "", "role": "", "created": 1}]}'),
        write(b"\xff\xfe"),
        write(b"[" * 100_000),
        lambda path: os.chmod(path, 0o666),
        lambda path: (path.rename(path.with_suffix(".real")), path.symlink_to(path.with_suffix(".real"))),
    ],
)
def test_a_file_that_is_not_as_we_left_it_lets_nobody_in(layout, spoil):
    make(build_access_tokens(layout))
    spoil(Path(layout.access_tokens))
    with pytest.raises(UnreadableFile):
        build_access_tokens(layout).all()
