"""`atm web`, and the daemon that carries the page."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import socket
from urllib.parse import urlsplit

import pytest
from tests.web.served import Browser

from atm.core.errors import UsageError
from atm.core.work_errors import DaemonTrouble
from atm.daemon.adapters import client
from atm.daemon.adapters.client import ask
from atm.team.services.standing import record_named
from atm.ui.cli.arguments import parse
from atm.ui.cli.session import Session
from atm.ui.cli.snapshot.web import COMMAND, execute


def free_port() -> int:
    """
    Below those that are given to whoever asks for any, and not the usual one: no other test gets it meanwhile, or as
    soon as it is free again.
    """
    while True:
        port = 10_000 + secrets.randbelow(20_000)
        with socket.socket() as line, contextlib.suppress(OSError):
            line.bind(("127.0.0.1", port))
            return port


def opened(house, *words: str) -> tuple[Browser, str]:
    """A browser at the page that `atm web` opened, and the key of its link."""
    said = house.atm("web", "--json", *words).json
    url = urlsplit(said["url"])
    assert (url.hostname, url.port) == ("127.0.0.1", said["port"])
    return Browser(said["port"]), url.fragment


@pytest.fixture
def page(house, room):
    """A daemon in a sandbox of ann and bob, whose page is closed at the end."""
    house.start()
    return house


def test_the_link_of_the_command_signs_in_and_the_page_does_what_the_command_line_does(page):
    browser, key = opened(page)
    assert browser.login(key).json["role"] == "human"
    assert browser.deed("crew", "member", "bob", "write", "from the page").status == 200
    assert [row["text"] for row in page.atm.rows("bob")] == ["from the page"]
    with browser.listen("crew") as events:
        assert events.next("snapshot")[1]["snapshot"]["team"] == "crew"


def test_the_command_starts_the_daemon_if_none_runs(house, room):
    browser, key = opened(house)
    assert browser.login(key).status == 200
    house.atm("daemon", "stop")


@pytest.mark.parametrize("how", ["ATM_DAEMON_AUTOSTART=0", "the setting daemon.autostart"])
def test_the_command_starts_no_daemon_where_that_is_forbidden_and_says_what_to_type(house, room, how):
    forbidden = {"ATM_DAEMON_AUTOSTART": "0"} if how.startswith("ATM") else {}
    if not forbidden:
        house.atm("config", "set", "daemon.autostart", "false")
    refused = house.atm("web", code=1, env=forbidden)
    assert how in refused.err
    assert "atm daemon start" in refused.err
    assert house.running is None
    house.start()
    assert urlsplit(house.atm("web", "--json", env=forbidden).json["url"]).hostname == "127.0.0.1"


def test_every_call_gives_another_link_to_the_same_page(page):
    first, second = opened(page), opened(page, "--observer")
    assert first[0].port == second[0].port
    assert first[1] != second[1]
    assert second[0].login(second[1]).json["role"] == "observer"
    assert second[0].login(first[1]).json["role"] == "human"


def test_a_page_that_is_closed_answers_nobody_and_can_be_opened_again(page):
    browser, key = opened(page, "--port", str(free_port()))
    assert browser.login(key).status == 200
    assert page.atm("web", "--stop").out == "the page is closed\n"
    with pytest.raises(OSError):
        browser.get("/api/hello")
    assert page.atm("web", "--stop", code=3).out == "the page is not open\n"
    again, key = opened(page)
    assert again.login(key).status == 200


def test_a_daemon_that_ends_closes_its_page_and_the_next_knows_nobody(page):
    browser, key = opened(page, "--port", str(free_port()))
    browser.login(key)
    with browser.listen("crew") as events:
        events.next("snapshot")
        assert page.end() == 0
        assert [kind for kind, _, _ in events if kind != "beat"] == []
    page.start()
    later, _ = opened(page, "--port", str(browser.port))
    assert later.port == browser.port
    assert browser.get("/api/hello").status == 401


def test_a_port_that_somebody_has_is_said_to_be_taken(page):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        result = page.atm("web", "--port", str(other.getsockname()[1]), code=1)
    assert "cannot be used" in result.err
    assert "--port" in result.err
    browser, key = opened(page)
    assert browser.login(key).status == 200


def test_an_open_page_keeps_its_port(page):
    browser, _ = opened(page)
    result = page.atm("web", "--port", "1" if browser.port != 1 else "2", code=1)
    assert f"open at port {browser.port} already" in result.err


def test_an_agent_gets_no_link_of_a_person(page, room):
    room.acting_pid = os.getpid()
    record_named(room, room.rosters.load("crew"), "ann", os.getppid())
    refused = page.atm("web", code=1)
    assert "only a person may open the page" in refused.err
    assert "--observer" in refused.err
    browser, key = opened(page, "--observer")
    assert browser.login(key).json["role"] == "observer"


def test_an_agent_that_asks_the_daemon_itself_gets_none_either(page, room, layout):
    opened(page)
    room.acting_pid = os.getpid()
    record_named(room, room.rosters.load("crew"), "ann", os.getppid())
    with pytest.raises(DaemonTrouble, match="only a person"):
        ask(layout, "web-invite", {"role": "human", "person": "human"}, seconds=30.0)


def test_a_team_that_is_named_stands_in_the_link(page):
    url = urlsplit(page.atm("web", "--json", "--team", "crew").json["url"])
    assert (url.path, url.query) == ("/login", "team=crew")


def test_the_page_does_not_speak_for_the_agent_that_started_the_daemon(house, room):
    house.start(env={"ATM_IDENTITY": "ann", "ATM_TEAM": "crew"})
    browser, key = opened(house)
    browser.login(key)
    browser.deed("crew", "member", "bob", "write", "hello")
    assert [row["from"] for row in house.atm.rows("bob")] == ["human"]


def test_without_its_libraries_the_command_names_the_one_that_brings_them(monkeypatch, room, house):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "starlette" else real(name))
    with pytest.raises(UsageError, match="starlette") as refused:
        execute(parse(COMMAND, []), Session(house.atm.environment))
    assert "[web]'" in refused.value.remedy
    assert house.running is None


def test_the_daemon_tells_who_is_at_the_page(page):
    browser, key = opened(page)
    browser.login(key)
    surfaces = {one["name"]: one for one in page.status()["surfaces"]}
    assert surfaces["web"]["state"] == "open"
    assert surfaces["web"]["visitors"] == ["human"]


def test_a_busy_daemon_is_waited_for_longer_than_by_those_who_can_do_without(monkeypatch, page):
    waits = []

    def ask_and_note(*given):
        if given[1].startswith("web-"):
            waits.append(given[3])
        return ask(*given)

    monkeypatch.setattr(client, "ask", ask_and_note)
    session = Session(page.atm.environment)
    assert execute(parse(COMMAND, ["--observer", "--no-open", "--json"]), session) == 0
    assert execute(parse(COMMAND, ["--stop"]), session) == 0
    assert len(waits) >= 4
    assert min(waits) >= 10 > client.QUERY_SECONDS
