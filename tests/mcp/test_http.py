"""`atm mcp --http`: a real process on loopback, the official client, and those who should not get in."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from tests.conftest import UNHURRIED
from tests.mcp.conftest import run
from tests.mcp.served import Served, hello
from tests.teamd.forked import BRISK

from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.ui.http.refusing import Bucket
from atm.ui.mcp.catalog import tools_for
from atm.ui.mcp.http.gate import BURST

ERAS = ("legacy", "2026-07-28")


@pytest.mark.parametrize("era", ERAS)
def test_the_official_client_works_with_a_token(served, era):
    token = served.token("--as", "ann")

    async def talk() -> None:
        async with served.client(token, era) as ann:
            assert {tool.name for tool in (await ann.list_tools()).tools} == {
                tool.name for tool in tools_for("teammate")
            }
            me = (await ann.call_tool("task_briefing", {})).structured_content
            assert (me["member"], me["source"]) == ("ann", "token")
            assert not (await ann.call_tool("mail_send", {"to": "bob", "text": "hello"})).is_error

    run(talk())
    assert [row["text"] for row in served.atm.rows("bob")] == ["hello"]


def test_a_token_gives_no_more_than_it_says_and_than_the_roster_allows(served):
    async def role(token: str) -> str:
        async with served.client(token) as client:
            return str((await client.call_tool("task_briefing", {})).structured_content["role"])

    assert run(role(served.token("--as", "ann", "--role", "lead"))) == "teammate"
    assert run(role(served.token("--as", "ann", "--role", "observer"))) == "observer"


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
@pytest.mark.parametrize("era", ERAS)
def test_changes_are_told_over_http_too(own_served, house, room, era):
    house.start().listen()  # answered once it has looked at what was there: from now on it tells of everything
    house.until(lambda: house.status()["listeners"] >= 3)

    async def listen() -> None:
        async with (
            own_served.client(own_served.token("--as", "ann"), "2026-07-28") as ann,
            ann.listen(resource_subscriptions=["atm://crew/inbox/ann"]) as changes,
        ):
            await asyncio.to_thread(send, room, "crew", "ann", Draft(sender="bob", text="look"))
            assert (await anext(aiter(changes))).uri == "atm://crew/inbox/ann"

    async def follow() -> None:
        heard = asyncio.Event()

        async def handler(message: Any) -> None:
            if getattr(message, "method", "") == "notifications/resources/updated":
                heard.set()

        async with own_served.client(own_served.token("--as", "ann"), message_handler=handler) as ann:
            await ann.session.subscribe_resource("atm://crew/inbox/ann")
            # The client opens its listening stream on its own, some time after the handshake.
            while not heard.is_set():
                await asyncio.to_thread(send, room, "crew", "ann", Draft(sender="bob", text="look"))
                await asyncio.wait([asyncio.ensure_future(heard.wait())], timeout=0.5)

    run(follow() if era == "legacy" else listen())


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer ", "Bearer atm_wrong", "Basic YTpi", "bearer " + "x" * 5000, "Bearer \xe4"],
)
def test_without_a_good_token_nobody_gets_in(served, authorization):
    headers = {} if authorization is None else {"authorization": authorization}
    refused = served.post(hello(), **headers)
    assert refused.status == 401
    assert refused.getheader("www-authenticate", "").startswith("Bearer ")
    assert refused.getheader("access-control-allow-origin") is None


def test_a_revoked_token_is_worth_nothing_at_once(served):
    made = served.atm("mcp", "token", "new", "--team", served.team, "--as", "ann", "--json").json
    good = {"authorization": f"Bearer {made['token']}"}
    assert served.post(hello(), **good).status == 200
    served.atm("mcp", "token", "revoke", made["id"])
    assert served.post(hello(), **good).status == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost:{port}.evil"]
)
def test_another_host_name_is_refused_before_anything_else(served, host):
    token = served.token("--as", "ann")
    refused = served.post(hello(), host=host.format(port=served.port), authorization=f"Bearer {token}")
    assert refused.status == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "https://localhost:{port}", "file://"]
)
def test_pages_of_other_sites_are_refused(served, origin):
    token = served.token("--as", "ann")
    refused = served.post(hello(), origin=origin.format(port=served.port), authorization=f"Bearer {token}")
    assert refused.status == 403


def test_its_own_names_are_let_in(served):
    token = served.token("--as", "ann")
    for name in ("127.0.0.1", "localhost"):
        address = f"{name}:{served.port}"
        let_in = served.post(hello(), host=address, origin=f"http://{address}", authorization=f"Bearer {token}")
        assert let_in.status == 200


def test_a_body_that_is_too_large_is_refused(served):
    token = served.token("--as", "ann")
    assert served.post(raw=b" " * (4 << 20) + b"{}", authorization=f"Bearer {token}").status == 413


@pytest.mark.parametrize("raw", [b"", b"nonsense", b"[" * 50_000, b"[]", b"null", b"\xff\xfe", b'{"jsonrpc":"2.0"}'])
def test_a_body_that_is_nonsense_is_an_error_and_no_more(served, raw):
    token = served.token("--as", "ann")
    for version in ({}, {"mcp_protocol_version": "2026-07-28"}, {"mcp_protocol_version": "nonsense"}):
        assert 400 <= served.post(raw=raw, authorization=f"Bearer {token}", **version).status < 500
    assert served.post(hello(), authorization=f"Bearer {token}").status == 200


def test_whoever_calls_too_often_waits_and_others_do_not(served):
    ann, bob = served.token("--as", "ann"), served.token("--as", "bob")
    said = [served.post(hello(), authorization=f"Bearer {ann}") for _ in range(BURST)]
    assert [answer.status for answer in said] == [200] * BURST
    slowed = [headers for status, headers in served.flood(ann) if status == 429]
    assert int(slowed[0]["retry-after"]) >= 1
    assert served.post(hello(), authorization=f"Bearer {bob}").status == 200


def test_guessing_tokens_is_slow(own_served):
    assert own_served.post(hello(), authorization=f"Bearer atm_{1:064x}").status == 401
    assert {status for status, _ in own_served.flood(f"atm_{2:064x}")} == {401, 429}


def test_a_session_is_of_no_use_to_another_bearer(served):
    ann, bob = served.token("--as", "ann"), served.token("--as", "bob")
    session = served.post(hello(), authorization=f"Bearer {ann}").getheader("mcp-session-id")
    assert session
    stolen = served.post(
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, authorization=f"Bearer {bob}", mcp_session_id=session
    )
    assert stolen.status == 404


def test_it_listens_on_this_machine_only_and_stops_on_control_c(own_served):
    with open(f"/proc/{own_served.process.pid}/net/tcp") as table:
        rows = [line.split()[1:4] for line in table if f":{own_served.port:04X} " in line]
    assert [local for local, _, state in rows if state == "0A"] == [f"0100007F:{own_served.port:04X}"]
    assert own_served.end() == 0


def test_a_port_that_is_taken_is_said(served):
    refused = served.atm("mcp", "--http", "--port", str(served.port), code=1)
    assert f"port {served.port} cannot be used" in refused.err
    assert "choose another" in served.atm("mcp", "--http", "--port", "99999", code=1).err


def test_a_file_of_tokens_that_others_may_write_lets_nobody_in(served):
    token = served.token("--as", "ann")
    os.chmod(served.layout.access_tokens, 0o666)
    try:
        assert served.post(hello(), authorization=f"Bearer {token}").status == 401
    finally:
        os.chmod(served.layout.access_tokens, 0o600)


def test_tools_of_other_roles_do_not_exist_over_http_either(served):
    async def talk() -> None:
        async with served.client(served.token("--as", "ann", "--role", "observer")) as client:
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool("mail_send", {"to": "bob", "text": "x"})

    run(talk())


def test_it_starts_a_daemon_to_hear_of_changes(house, room):
    made = Served(house, ATM_DAEMON_AUTOSTART="1", PYTHONPATH=f"{BRISK}:{UNHURRIED}")
    house.until(lambda: house.running is not None and house.status()["listeners"] >= 2)
    assert made.end() == 0


# The bucket.


def test_a_bucket_fills_again_with_time():
    bucket = Bucket(left=2, at=0.0)
    assert [bucket.take(0.0, 2, 1.0) for _ in range(3)] == [0.0, 0.0, 1.0]
    assert bucket.take(1.0, 2, 1.0) == 0.0
    assert [bucket.take(100.0, 2, 1.0) for _ in range(3)] == [0.0, 0.0, 1.0]


def test_a_report_over_http_is_judged_by_a_daemon_that_runs_and_noted_if_there_is_none(own_served, house):
    """As the docs say of it. The bearer's token proves who reports, so that no report token is needed."""
    token = own_served.token("--as", "ann")
    own_served.atm("tasks", "add", "Write it", "--owner", "ann", "--team", "crew")

    async def report() -> Any:
        async with own_served.client(token) as ann:
            seen = (await ann.call_tool("task_briefing", {})).structured_content["workSync"]
            said = {"from": "ann", "agendaFingerprint": seen["agendaFingerprint"], "state": "still_working"}
            return (await ann.call_tool("member_work_sync_report", said)).structured_content

    noted = run(report())
    assert (noted["ok"], noted.get("pendingValidation"), "leaseExpiresAt" in noted) == (True, True, False)
    house.start()
    judged = run(report())
    assert (judged["ok"], judged.get("pendingValidation"), "leaseExpiresAt" in judged) == (True, None, True)
