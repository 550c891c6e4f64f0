"""Attacks on who somebody is: greetings, settings, roles, tokens and their file; and on what is outside of the team."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.mcp.conftest import claim
from tests.mcp.crew import Crew
from tests.trusting import trust

from atm.access.formats import decode_tokens
from atm.access.services import NoSuchToken, find, issue, revoke
from atm.core.errors import AtmError, BadSetting, NoSuchMember, NoSuchTeam, NotAllowed, UnreadableFile
from atm.files.formats.json_record import NotJson
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.members import add_member, create_team, remove_member
from atm.team.rules.team import Member
from atm.testing.files import MemoryAccessTokens
from atm.ui.mcp import resources
from atm.ui.mcp.catalog import not_delivered
from atm.ui.mcp.hello import BadHello, IdentityClaim, decode_hello, encode_hello
from atm.ui.mcp.http.serve import _bearer_of
from atm.ui.mcp.identity import LARGEST_SETTINGS, admit, settle_role
from atm.ui.mcp.schema import check, number, takes, whole
from atm.ui.mcp.serving.roles import asked_role
from atm.wiring.daemon import build_access_tokens


@pytest.fixture
def crew(layout: Any) -> Crew:
    return Crew(layout)


def unnamed(_: object) -> str:
    """Values that would make odd names of tests."""
    return "odd"


# The greeting.


@pytest.mark.parametrize(
    "path", ["relative", "../up", "./.", "~", "~root/x", "\ud83d", "/half\ud83d", "/nul\0"], ids=unnamed
)
@pytest.mark.parametrize("field", ["folder", "config"])
def test_a_path_that_means_something_else_in_the_daemon_is_refused(field, path):
    with pytest.raises(BadHello):
        decode_hello(json.dumps({"v": 1, "hello": "mcp", field: path}).encode() + b"\n")


def test_a_folder_whose_name_is_no_utf_8_finds_its_way(layout, tmp_path):
    named = f"{tmp_path}/caf\udce9"
    assert decode_hello(encode_hello(IdentityClaim(folder=named))).folder == named


@pytest.mark.parametrize("value", [5, [], {}, True, "x" * 5000, 1e999], ids=unnamed)
@pytest.mark.parametrize("field", ["team", "member", "role", "folder", "config"])
def test_a_greeting_of_other_types_is_refused(field, value):
    with pytest.raises(BadHello):
        decode_hello(json.dumps({"v": 1, "hello": "mcp", field: value}).encode() + b"\n")


@pytest.mark.parametrize(
    "name", ["/dev/zero", "/dev/stdin", "/dev/null", "/proc/self/mem", "/", "/no/such", "pipe", "big"]
)
def test_no_settings_file_makes_the_daemon_wait_or_read_without_end(room, layout, tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "big", "wb") as file:
        file.truncate(LARGEST_SETTINGS + 1)
    path = name if name.startswith("/") else str(tmp_path / name)
    with pytest.raises(BadSetting):
        admit(layout, claim(config=path), has_daemon=True)


def test_a_pipe_in_the_place_of_the_folder_s_settings_is_not_opened(room, layout, tmp_path):
    os.mkfifo(tmp_path / ".atm.toml")
    assert admit(layout, claim(folder=str(tmp_path)), has_daemon=True).role == "teammate"


# Roles.


@pytest.fixture
def identity_file(home: Path, tmp_path: Path) -> Callable[[str], str]:
    """A repository whose settings name somebody, to which the user has said yes; its folder."""

    def write(name: str) -> str:
        (tmp_path / ".atm.toml").write_text(f'[core]\nidentity = "{name}"\ndefault_team = "crew"\n')
        trust(home, tmp_path)
        return str(tmp_path)

    return write


@pytest.mark.parametrize("name", ["lena", "LENA", "hugo"])
def test_a_repository_makes_nobody_lead_nor_human(crew, identity_file, name):
    """Whoever may write into the agent's folder, or wrote what was cloned there, would choose whom it leads."""
    folder = identity_file(name)
    caller = admit(crew.layout, IdentityClaim(folder=folder), has_daemon=True)
    assert caller.role == "teammate"
    settle_role(caller, asked_role(caller.settings, ""))  # as it is before every call
    assert caller.role == "teammate"


def test_a_launcher_that_says_lead_gets_it_also_with_the_name_of_the_repository(crew, identity_file):
    folder = identity_file("lena")
    assert admit(crew.layout, IdentityClaim(folder=folder, role="lead"), has_daemon=True).role == "lead"


@pytest.mark.parametrize("role", ["", "teammate", "lead", "human"])
def test_a_repository_to_which_nobody_said_yes_names_nobody(crew, tmp_path, role):
    (tmp_path / ".atm.toml").write_text('[core]\nidentity = "lena"\ndefault_team = "crew"\n')
    caller = admit(crew.layout, IdentityClaim(folder=str(tmp_path), role=role), has_daemon=True)
    assert (caller.member, caller.role) == ("", "observer")


def test_what_the_launcher_says_is_not_changed_by_any_file(crew, identity_file):
    folder = identity_file("lena")
    caller = admit(crew.layout, IdentityClaim(team="crew", member="ann", folder=folder), has_daemon=True)
    assert (caller.member, caller.role) == ("ann", "teammate")


@pytest.mark.parametrize("name", ["lead", "team-lead", "Lead", "leader", "human", "bob", "daemon", "claude"])
def test_a_name_like_that_of_somebody_important_opens_nothing(crew, name):
    caller = admit(crew.layout, claim(member=name), has_daemon=True)
    assert caller.role == ("teammate" if name == "bob" else "observer")


@pytest.mark.parametrize("argument", ["from", "member", "as", "sender", "role", "team", "identity", "_meta", "actor"])
def test_no_argument_of_any_changing_tool_changes_who_acts(crew, argument):
    for tool in ("mail_send", "mail_broadcast", "board_add", "board_claim", "board_beat"):
        error = crew.refused("ann", tool, **{argument: "lena"})
        assert error.code == "usage"


def test_an_observer_gets_no_token_to_report_with(crew):
    observer = crew.caller("ann", "observer")
    said = crew.call_as(observer, "member_work_sync_status", {})
    assert "reportToken" not in said
    assert "reportToken" in crew.call("ann", "member_work_sync_status")


def test_who_is_removed_while_connected_becomes_an_observer_at_once(crew):
    caller = admit(crew.layout, claim(), has_daemon=True)
    remove_member(crew.room, "crew", "ann", force=True)
    with pytest.raises((NoSuchMember, NotAllowed)):
        crew.call_as(caller, "mail_send", {"to": "bob", "text": "still here"})
    settle_role(caller, "")
    assert caller.role == "observer"


def test_a_lead_who_is_lead_no_more_sees_nothing_of_others(crew):
    caller = admit(crew.layout, claim(member="lena"), has_daemon=True)
    path = Path(crew.layout.team_config("crew"))
    path.write_text(path.read_text().replace('"leadAgentId": "lena@crew"', '"leadAgentId": "bob@crew"'))
    settle_role(caller, "")
    assert caller.role == "teammate"
    with pytest.raises(NotAllowed):
        crew.call_as(caller, "mail_inbox", {"member": "ann"})


# What lies outside of the team.


@pytest.fixture
def other(crew: Crew) -> Crew:
    create_team(crew.room, "other", lead="olga")
    add_member(crew.room, "other", Member("ann"))
    send(crew.room, "other", "ann", Draft(sender="olga", text="secret of others"))
    return crew


@pytest.mark.parametrize(
    "uri",
    [
        *("atm://other/inbox/ann", "atm://other/board", "atm://other/agenda/ann", "atm://OTHER/inbox/ann"),
        *("atm://crew/inbox/..%2f..%2fother%2finboxes%2fann", "atm://crew/inbox/../../other/inboxes/ann"),
        *("atm://crew%2f..%2fother/inbox/ann", "atm://crew/../other/inbox/ann", "atm://%6fther/inbox/ann"),
        *("atm://crew/inbox/ann%00", "atm://crew/inbox/%ff", "atm://crew/inbox/bob", "atm://crew/inbox/b%6fb"),
        *("atm://crew/agenda/bob", "atm://crew/agenda/lena", "atm://crew/inbox/", "atm://crew/board/ann"),
        *("file:///etc/passwd", "ATM://crew/inbox/ann", "atm:/crew/inbox/ann", "atm://", "", "atm://crew/notes/ann"),
        *("atm://crew/inbox/ann/../bob", "atm://crew/inbox/ann?x", "atm://crew/inbox/ann#x", "atm://user@crew/board"),
    ],
    ids=unnamed,
)
def test_no_uri_leads_out_of_the_team_or_to_somebody_else(other, uri):
    with pytest.raises(AtmError) as refused:
        resources.read(other.caller("ann"), uri)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("id", ["../1", "..", "1/../2", "\0", "-1", "1e3", "9" * 5000, "\u0661", ".lock"], ids=unnamed)
def test_no_task_id_is_a_path(crew, id):
    crew.add()
    for tool, more in (
        ("board_show", {}),
        ("board_claim", {}),
        ("board_comment", {"text": "x"}),
        ("board_show", {"part": "history"}),
    ):
        crew.refused("ann", tool, id=id, **more)


@pytest.mark.parametrize(
    "to", ["../bob", "bob@../crew", "bob@crew/../other", "/etc/passwd", "bob\0", "@", "bob@", "a@b@c"], ids=unnamed
)
def test_no_address_is_a_path(crew, to):
    crew.refused("ann", "mail_send", to=to, text="x")
    assert not [path for path in Path(crew.layout.teams).rglob("*.json") if "passwd" in path.name]


def test_receipts_and_mail_of_others_do_not_exist_for_a_teammate(other):
    id = other.call("bob", "mail_send", to="lena", text="between us")["message_id"]
    assert other.refused("ann", "mail_inbox", trace=id).code == other.refused("ann", "mail_inbox", trace="nosuch").code
    assert other.refused("ann", "mail_read", id=id).code == "no-such-message"
    assert other.refused("ann", "mail_ack", id=id).code == "no-such-message"
    assert "waiting" in other.call("ann", "mail_inbox", unacknowledged=True)


@pytest.mark.parametrize(
    "value", [10**5000, -(10**5000), 10**400, 1e308, float("inf"), float("nan"), -1, 2**63], ids=unnamed
)
def test_numbers_that_nobody_can_write_out_are_refused_with_a_sentence(value):
    for schema in (whole(most=50), number(most=50)):
        with pytest.raises(AtmError):
            check(takes({"n": schema}), {"n": value})


def test_mail_that_was_read_long_ago_is_not_unread_because_somebody_looked_again_and_gave_up(crew):
    id = crew.call("bob", "mail_send", to="ann", text="one")["message_id"]
    crew.call("ann", "mail_read")
    again = crew.call("ann", "mail_read", id=id)
    not_delivered(crew.caller("ann"), "mail_read", again, "the client did not wait")
    assert [row.read for row in crew.rows("ann")] == [True]
    assert crew.call("ann", "mail_read")["messages"] == []


def test_mail_that_was_first_read_by_its_id_and_not_delivered_is_unread_again(crew):
    id = crew.call("bob", "mail_send", to="ann", text="one")["message_id"]
    not_delivered(crew.caller("ann"), "mail_read", crew.call("ann", "mail_read", id=id), "the client did not wait")
    assert [row.read for row in crew.rows("ann")] == [False]


# Tokens.


def made(layout: Any, room: Any, member: str = "ann", role: str = "") -> tuple[str, Any]:
    return issue(build_access_tokens(layout), room, team=room.rosters.load("crew"), member=member, role=role)


def test_a_file_that_others_could_write_is_not_made_good_by_making_a_token(room, layout):
    """What somebody entered there would be in a file of mode 0600 afterwards, and count."""
    made(layout, room)
    path = Path(layout.access_tokens)
    os.chmod(path, 0o666)
    before = path.read_bytes()
    tokens = build_access_tokens(layout)
    for attempt in (lambda: made(layout, room), lambda: revoke(tokens, "x"), tokens.all):
        with pytest.raises(UnreadableFile):
            attempt()
    assert path.read_bytes() == before


def test_a_mode_that_changes_while_the_server_runs_is_noticed(room, layout):
    made(layout, room)
    tokens = build_access_tokens(layout)
    assert len(tokens.all()) == 1
    os.chmod(layout.access_tokens, 0o620)
    with pytest.raises(UnreadableFile):
        tokens.all()


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder", "huge"])
def test_what_is_no_plain_file_holds_no_tokens_and_nobody_waits_for_it(room, layout, tmp_path, kind):
    made(layout, room)
    path = Path(layout.access_tokens)
    stolen = tmp_path / "stolen.json"
    path.rename(stolen)
    match kind:
        case "link":
            path.symlink_to(stolen)
        case "dangling":
            path.symlink_to(tmp_path / "nothing")
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "huge":
            with open(path, "wb") as file:
                file.truncate(100 << 20)
            path.chmod(0o600)
    for attempt in (lambda: made(layout, room), build_access_tokens(layout).all):
        with pytest.raises(UnreadableFile):
            attempt()


GOOD = {"id": "a", "sha256": "0" * 64, "team": "crew", "member": "ann", "role": "", "created": 1.0}


@pytest.mark.parametrize(
    "change",
    [
        *({"member": ""}, {"team": ""}, {"id": ""}, {"sha256": ""}, {"sha256": "\ud83d" * 64}, {"sha256": "G" * 64}),
        *(
            {"created": 10**400},
            {"created": -1},
            {"created": None},
            {"created": "1"},
            {"role": None},
            {"member": ["ann"]},
        ),
    ],
    ids=unnamed,
)
def test_a_damaged_token_lets_nobody_in(change):
    with pytest.raises(NotJson):
        decode_tokens(json.dumps({"v": 1, "tokens": [GOOD, {**GOOD, **change}]}).encode())


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b"\0" * 100, b'{"v":2,"tokens":[]}', b'{"v":1,"tokens":{}}', b'{"v":1}'], ids=unnamed
)
def test_a_damaged_file_lets_nobody_in(data):
    with pytest.raises(NotJson):
        decode_tokens(data)


class Repeating:
    """Chance that says everything several times."""

    def __init__(self) -> None:
        self._n = 0

    def new_id(self) -> str:
        self._n += 1
        return f"{self._n // 7:08x}-0000-4000-8000-{self._n:012x}"


def test_two_tokens_never_have_the_same_id(room):
    tokens, room.chance = MemoryAccessTokens(), Repeating()
    for _ in range(20):
        issue(tokens, room, team=room.rosters.load("crew"), member="ann", role="")
    assert len({token.id for token in tokens.all()}) == 20


def test_a_bearer_is_another_one_as_soon_as_its_token_says_something_else(room):
    tokens = MemoryAccessTokens()
    _, one = issue(tokens, room, team=room.rosters.load("crew"), member="ann", role="")
    before = _bearer_of(one)
    for field, value in (("member", "lena"), ("role", "lead"), ("team", "other"), ("sha256", "0" * 64)):
        kept = getattr(one, field)
        setattr(one, field, value)
        assert _bearer_of(one) != before
        setattr(one, field, kept)


def test_tokens_that_are_made_and_revoked_by_many_at_once_are_all_right_in_the_end(room, layout):
    def work(number: int) -> str:
        secret, token = made(layout, room, member="ann" if number % 2 else "bob")
        if number % 2:
            revoke(build_access_tokens(layout), token.id)
            with pytest.raises(NoSuchToken):
                revoke(build_access_tokens(layout), token.id)
        return secret

    with ThreadPoolExecutor(8) as pool:
        secrets = [*pool.map(work, range(24))]
    known = build_access_tokens(layout).all()
    assert [find(known, secret) is not None for secret in secrets] == [not number % 2 for number in range(24)]
    assert oct(os.stat(layout.access_tokens).st_mode & 0o777) == "0o600"


@pytest.mark.parametrize("secret", ["", "atm_", "\0", "\ud83d", "x" * 10_000_000, "0" * 64], ids=unnamed)
def test_no_odd_secret_finds_a_token(room, layout, secret):
    made(layout, room)
    assert find(build_access_tokens(layout).all(), secret) is None


def test_a_digest_from_the_file_is_no_token(room, layout):
    _, token = made(layout, room)
    assert find(build_access_tokens(layout).all(), token.sha256) is None


# The team's end.


def test_a_team_that_is_deleted_while_somebody_is_connected_is_gone_for_them(crew):
    caller = admit(crew.layout, claim(), has_daemon=True)
    Path(crew.layout.team_config("crew")).unlink()
    settle_role(caller, "")
    assert (caller.role, caller.team) == ("observer", "crew")
    with pytest.raises(NoSuchTeam):
        crew.call_as(caller, "team_status", {})
