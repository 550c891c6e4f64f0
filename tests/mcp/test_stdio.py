"""`atm mcp` as agents have it: a real process, the real daemon or none, the official client and lines by hand."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import StdioServerParameters
from tests.conftest import UNHURRIED
from tests.mcp.conftest import run
from tests.mcp.starting import Starting
from tests.proving import proves
from tests.teamd.forked import BRISK, stop_and_wait

from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.members import create_team
from atm.ui.cli.main import main
from atm.ui.mcp.catalog import tools_for
from atm.ui.mcp.stdio.early import ASKED_AT_ONCE
from atm.ui.views.extras import extra_command
from mcp import Client as Official

ERAS = ("legacy", "2026-07-28")
NO_DAEMON = {"ATM_DAEMON_AUTOSTART": "0"}


def official(house: Any, *words: str, era: str = "legacy", env: dict[str, str] | None = None, **more: Any) -> Any:
    command = house.atm.command("mcp", *words)
    environment = {**house.atm.environment, **(env or {})}
    started = StdioServerParameters(command=command[0], args=command[1:], env=environment, cwd=house.atm.folder)
    return Official(started, mode=era, read_timeout_seconds=60, **more)


@proves("R002-27.2-48")
@pytest.mark.parametrize("era", ERAS)
def test_the_official_client_sends_and_reads_through_the_daemon(shared, era):
    async def talk() -> None:
        async with official(shared, "--team", shared.team, "--as", "ann", era=era) as ann:
            assert {tool.name for tool in (await ann.list_tools()).tools} == {
                tool.name for tool in tools_for("teammate")
            }
            me = (await ann.call_tool("task_briefing", {})).structured_content
            assert (me["member"], me["role"], me["daemon"]) == ("ann", "teammate", True)
            sent = await ann.call_tool("mail_send", {"to": "bob", "text": "hello"})
            assert not sent.is_error
        async with official(shared, env={"ATM_TEAM": shared.team, "ATM_IDENTITY": "bob"}, era=era) as bob:
            read = await bob.call_tool("mail_read", {})
            assert "hello" in read.content[0].text
            assert "hello" not in (await bob.call_tool("mail_read", {})).content[0].text

    run(talk())
    shared.until(lambda: shared.status()["surfaces"][0]["connections"] == 0)


@pytest.mark.parametrize("era", ERAS)
def test_without_a_daemon_it_serves_in_its_own_process(house, room, era):
    async def talk() -> None:
        async with official(house, "--team", "crew", "--as", "ann", era=era, env=NO_DAEMON) as ann:
            me = (await ann.call_tool("task_briefing", {})).structured_content
            assert (me["member"], me["daemon"]) == ("ann", False)
            assert not (await ann.call_tool("mail_send", {"to": "bob", "text": "hello"})).is_error

    run(talk())
    assert house.running is None
    assert [row["text"] for row in house.atm.rows("bob")] == ["hello"]


def test_it_starts_the_daemon_if_none_runs(house, room):
    async def talk() -> None:
        async with official(house, "--team", "crew", "--as", "ann") as ann:
            assert (await ann.call_tool("task_briefing", {})).structured_content["daemon"] is True

    run(talk())
    assert house.running is not None


def test_a_daemon_that_cannot_start_is_done_without(house, room, layout, speak):
    os.makedirs(layout.state_root, exist_ok=True)
    with open(layout.daemon, "w"):
        pass  # a file lies where its folder belongs
    spoken = speak(house, "--team", "crew", "--as", "ann")
    spoken.shake_hands()
    assert spoken.call("task_briefing")["structuredContent"]["daemon"] is False
    assert spoken.end() == 0
    assert b"serving in this process" in spoken.process.stderr.read()


def test_everything_that_agents_ask_for_at_once_is_answered_while_the_daemon_is_starting(house, room, layout, speak):
    """Claude Code waits for tools, prompts and resources, Gemini CLI for prompts before it asks for tools."""
    with Starting(layout) as daemon:
        spoken = speak(house, "--team", "crew", "--as", "ann")
        spoken.shake_hands()
        early = {method: spoken.ask(method)["result"] for method in ASKED_AT_ONCE}
        assert daemon.is_waited_for()
    assert spoken.call("task_briefing")["structuredContent"]["daemon"] is True
    later = {method: spoken.ask(method)["result"] for method in ASKED_AT_ONCE}
    assert [method for method in ASKED_AT_ONCE if early[method] != later[method]] == ["resources/list"]
    assert early["resources/list"] == {"resources": []}
    assert [one["method"] for one in spoken.notices] == ["notifications/resources/list_changed"]
    assert spoken.end() == 0


@proves("R002-16.6-05", "R002-16.7-20", "R002-16.7-23")
def test_roles_see_what_the_roster_lets_them_see(shared):
    create_team(shared.room, "led", lead="lena")

    async def names(*words: str) -> set[str]:
        async with official(shared, *words) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    async def talk() -> None:
        assert await names("--team", "led", "--as", "lena") == {tool.name for tool in tools_for("lead")}
        assert await names("--team", shared.team, "--as", "ann", "--role", "lead") == {
            tool.name for tool in tools_for("teammate")
        }
        assert await names("--team", shared.team) == {tool.name for tool in tools_for("observer")}

    run(talk())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--as", "user"), "nobody may sign as 'user'"),
        (("--as", "system"), "nobody may sign as"),
        (("--as", ""), "is empty"),
        (("--as", "../x"), "path separator"),
        (("--team", "a/b"), "path separator"),
        (("--role", "king"), "must be one of"),
        (("--http", "--as", "ann"), "do not go together"),
    ],
)
def test_a_launcher_that_asks_for_nonsense_is_told_so(house, words, said):
    refused = house.atm("mcp", *words, code=1)
    assert said in refused.err
    assert refused.out == ""


def test_names_in_the_environment_that_nobody_may_bear_are_refused_too(shared):
    for env in ({"ATM_IDENTITY": "system"}, {"ATM_ROLE": "king"}):
        assert shared.atm("mcp", env=env, code=1).err


@pytest.mark.parametrize(("closing", "stream"), [("<&-", "input"), (">&-", "output")])
def test_a_closed_stream_is_said_and_not_replaced_by_a_socket(shared, closing, stream):
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closing}', "sh", *shared.atm.command("mcp", "--as", "ann")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=shared.atm.environment,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert f"standard {stream} is closed".encode() in done.stderr


def test_broken_settings_are_said_and_not_guessed(shared):
    (shared.atm.folder / ".atm.toml").write_text("[core\n")
    assert "mend that line" in shared.atm("mcp", code=1).err


@pytest.mark.parametrize("env", [{}, NO_DAEMON], ids=["daemon", "alone"])
def test_when_the_agent_goes_nothing_is_left(house, room, speak, env):
    spoken = speak(house, "--as", "ann", env=env)
    spoken.shake_hands()
    assert spoken.end() == 0


def test_a_script_that_says_everything_at_once_gets_all_answers(shared):
    said = b"".join(
        json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n"
        for id, method, params in [
            (
                1,
                "initialize",
                {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
            ),
            (2, "tools/call", {"name": "task_briefing", "arguments": {}}),
            (3, "tools/list", {}),
        ]
    )
    done = shared.atm("mcp", "--as", "ann", stdin=said)
    assert sorted(json.loads(line)["id"] for line in done.out.splitlines()) == [1, 2, 3]


def test_changes_are_told_as_they_happen(shared, speak):
    spoken = speak(shared, "--as", "ann")
    spoken.shake_hands()
    spoken.ask("resources/subscribe", uri=f"atm://{shared.team}/inbox/ann")
    send(shared.room, shared.team, "ann", Draft(sender="bob", text="look"))
    assert spoken.hear() == {
        "jsonrpc": "2.0",
        "method": "notifications/resources/updated",
        "params": {"uri": f"atm://{shared.team}/inbox/ann"},
    }


def test_changes_are_told_to_those_who_listen_in_the_later_era(shared):
    async def talk() -> None:
        async with (
            official(shared, "--as", "ann", era="2026-07-28") as ann,
            ann.listen(resource_subscriptions=[f"atm://{shared.team}/inbox/ann"]) as changes,
        ):
            await asyncio.to_thread(send, shared.room, shared.team, "ann", Draft(sender="bob", text="look"))
            assert (await anext(aiter(changes))).uri == f"atm://{shared.team}/inbox/ann"

    run(talk())


def test_a_server_without_a_daemon_hears_of_changes_from_one_that_comes_later(house, room, speak):
    spoken = speak(house, "--as", "ann", env={**NO_DAEMON, "PYTHONPATH": f"{BRISK}:{UNHURRIED}"})
    spoken.shake_hands()
    spoken.ask("resources/subscribe", uri="atm://crew/inbox/ann")
    house.start().listen()  # answered once it has looked at what was there: from now on it tells of everything
    house.until(lambda: house.status()["listeners"] >= 3)
    send(room, "crew", "ann", Draft(sender="bob", text="look"))
    assert spoken.hear()["method"] == "notifications/resources/updated"


def test_an_agent_that_was_served_in_its_own_process_moves_to_a_daemon_that_comes_and_back_when_it_goes(
    house, room, speak
):
    spoken = speak(house, "--as", "ann", env={**NO_DAEMON, "PYTHONPATH": f"{BRISK}:{UNHURRIED}"})
    spoken.shake_hands()

    def is_with_the_daemon() -> bool:
        return bool(spoken.call("task_briefing")["structuredContent"]["daemon"])

    for _ in range(2):
        assert not is_with_the_daemon()
        house.start()
        house.until(is_with_the_daemon)
        assert house.end() == 0


@pytest.mark.parametrize("env", [{}, NO_DAEMON])
def test_a_client_that_probes_for_the_later_era_and_shakes_hands_all_the_same_is_served(house, room, speak, env):
    spoken = speak(house, "--team", "crew", "--as", "ann", env=env)
    about = {"protocolVersion": "2026-07-28", "clientCapabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    probed = spoken.ask(
        "server/discover", _meta={f"io.modelcontextprotocol/{key}": value for key, value in about.items()}
    )
    assert "2026-07-28" in probed["result"]["supportedVersions"]
    spoken.shake_hands()
    assert spoken.call("task_briefing")["structuredContent"]["member"] == "ann"
    assert spoken.end() == 0


def test_a_daemon_killed_in_the_middle_costs_one_answer_and_the_next_is_found(daemon, speak):
    spoken = speak(daemon, "--as", "ann")
    spoken.shake_hands()
    waiting = spoken.begin("tools/call", name="mail_request", arguments={"to": "bob", "text": "?", "wait_seconds": 50})
    daemon.until(lambda: daemon.atm.rows("bob"))
    daemon.kill()
    lost = spoken.hear()
    assert (lost["id"], lost["error"]["code"]) == (waiting, -32000)
    assert spoken.call("task_briefing")["structuredContent"]["daemon"] is True
    assert daemon.running is not None
    assert spoken.end() == 0


def test_subscriptions_survive_a_restart_of_the_daemon(daemon, room, speak):
    spoken = speak(daemon, "--as", "ann")
    spoken.shake_hands()
    spoken.ask("resources/subscribe", uri="atm://crew/inbox/ann")
    daemon.atm("daemon", "restart")
    daemon.listen()  # answered once it has looked at what was there: from now on it tells of everything
    daemon.until(lambda: daemon.status()["surfaces"][0]["connections"] == 1)
    assert spoken.call("task_briefing")["structuredContent"]["member"] == "ann"
    send(room, "crew", "ann", Draft(sender="bob", text="look"))
    assert spoken.hear()["method"] == "notifications/resources/updated"


def test_a_daemon_that_was_stopped_stays_stopped_until_an_agent_speaks(daemon, speak):
    spoken = speak(daemon, "--as", "ann")
    spoken.shake_hands()
    spoken.call("task_briefing")  # it has met the daemon, which the handshake alone does not say
    daemon.atm("daemon", "stop")
    assert daemon.running is None
    assert spoken.call("task_briefing")["structuredContent"]["daemon"] is True
    assert daemon.running is not None


def test_the_daemon_stops_in_time_with_clients_and_calls_under_way(daemon, speak):
    agents = [speak(daemon, "--as", "ann") for _ in range(3)]
    for agent in agents:
        agent.shake_hands()
        agent.begin("tools/call", name="mail_request", arguments={"to": "bob", "text": "?", "wait_seconds": 50})
    daemon.until(lambda: len(daemon.atm.rows("bob")) == 3)
    assert daemon.end() == 0
    assert "left: nothing" in daemon.texts("daemon")[-1]
    assert all("error" in agent.hear() for agent in agents)


def test_twenty_agents_at_once_start_one_daemon_and_all_are_served(house, room, speak):
    agents = [speak(house, "--as", "ann" if number % 2 else "bob") for number in range(20)]
    for number, agent in enumerate(agents):
        agent.shake_hands()
        agent.begin("tools/call", name="mail_send", arguments={"to": "bob", "text": f"letter {number}"})
    assert all(not agent.hear()["result"]["isError"] for agent in agents)
    assert sorted(row["text"] for row in house.atm.rows("bob")) == sorted(f"letter {n}" for n in range(20))
    assert house.status()["surfaces"][0]["connections"] == 20
    assert [agent.end() for agent in agents] == [0] * 20


def test_a_killed_pump_leaves_the_daemon_as_it_was(shared, speak):
    spoken = speak(shared, "--as", "ann")
    spoken.shake_hands()
    spoken.process.send_signal(signal.SIGKILL)
    shared.until(lambda: shared.status()["surfaces"][0]["connections"] == 0)
    assert shared.answers


def test_the_daemon_without_clients_does_not_load_the_sdk(daemon, speak):
    assert [one for one in daemon.status()["surfaces"] if one["name"] == "mcp"] == [
        {
            "name": "mcp",
            "socket": f"{os.path.dirname(daemon.socket)}/mcp.sock",
            "connections": 0,
            "served": 0,
            "loaded": False,
        }
    ]
    speak(daemon, "--as", "ann").shake_hands()
    daemon.until(lambda: daemon.status()["surfaces"][0]["loaded"] is True)


def test_a_home_too_deep_for_a_socket_serves_all_the_same(house, tmp_path, speak):
    house.atm.environment["ATM_HOME"] = str(tmp_path / ("deep" * 25))
    house.atm.team("crew", "ann")
    spoken = speak(house, "--as", "ann")
    spoken.shake_hands()
    assert spoken.call("task_briefing")["structuredContent"]["daemon"] is True
    assert spoken.end() == 0
    house.atm("daemon", "stop")


SOURCE = Path(__file__).parents[2] / "src"
PROBE = """
import sys
before = set(sys.modules)
import atm.ui.cli.mcp.mcp, atm.ui.mcp.stdio.pump, atm.ui.mcp.stdio.reaching
print(" ".join(sorted(set(sys.modules) - before)))
"""

HEAVY = {
    *("asyncio", "json", "re", "typing", "dataclasses", "enum", "socket", "subprocess", "threading", "logging"),
    *("mcp", "contextlib", "tempfile", "pathlib", "inspect", "tomllib", "datetime"),
}


def test_the_pump_loads_nothing_heavy(house):
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n{PROBE}"],
        capture_output=True,
        check=True,
        timeout=120,
    )
    loaded = set(done.stdout.decode().split())
    assert not loaded & HEAVY, loaded & HEAVY


def test_a_message_that_javascript_cut_in_half_is_understood(shared, speak):
    spoken = speak(shared, "--as", "ann")
    spoken.shake_hands()
    spoken.say(
        rb'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"mail_send","arguments":'
        rb'{"to":"bob","text":"half a face \ud83d"}}}'
    )
    said = spoken.hear()
    assert (said["id"], said["result"]["isError"]) == ("x", False)
    assert shared.atm.rows("bob")[0]["text"].startswith("half a face")


def test_mail_that_a_dead_agent_never_saw_is_given_back(shared, speak):
    """The agent is stopped and reads nothing; its answer waits in the daemon; then it is killed."""
    for number in range(20):
        send(shared.room, shared.team, "ann", Draft(sender="bob", text=f"letter {number} " + "x" * 3000))
    agents = [speak(shared, "--as", "ann")]
    agents[0].shake_hands()
    stop_and_wait(agents[0].process)
    agents[0].begin("tools/call", name="mail_read", arguments={"limit": 20})
    agents[0].process.send_signal(signal.SIGKILL)
    agents[0].process.wait(60)

    async def talk() -> None:
        async with official(shared, "--as", "ann") as ann:
            seen: set[str] = set()

            async def read() -> bool:
                said = (await ann.call_tool("mail_read", {"limit": 20})).content[0].text
                seen.update(number for number in map(str, range(20)) if f"letter {number} " in said)
                return len(seen) == 20

            async with asyncio.timeout(60):
                while not await read():
                    await asyncio.sleep(0.05)

    run(talk())


@pytest.mark.parametrize("how", [(), ("--http",)])
def test_without_its_extra_it_says_how_to_get_it_and_starts_no_daemon(layout, monkeypatch, capsys, home, how):
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setenv("ATM_HOME", str(home))
    monkeypatch.setattr("atm.wiring.daemon.start_daemon", lambda *_, **__: pytest.fail("a daemon was started"))
    monkeypatch.setattr("atm.ui.cli.mcp.mcp._check_streams", lambda _: None)
    assert main(["mcp", *how]) == 1
    said = capsys.readouterr().err
    assert "the MCP server is not installed" in said
    assert extra_command("mcp") in said
