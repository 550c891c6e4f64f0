"""Who should not get in: strangers, pages of other sites, other names of this machine, those who ask too much."""

from __future__ import annotations

import json

import pytest
from tests.web.served import Browser, PageServer

from atm.ui.web import gate
from atm.ui.web.app import LARGEST_BODY
from atm.ui.web.doors import OBSERVER
from atm.ui.web.endpoints import ENDPOINTS, GET
from atm.ui.web.gate import BURST, LOGINS, STRANGERS

CLOSED = [one for one in ENDPOINTS if one.name != "login"]
PATHS = [one.path.replace("{team}", "crew").replace("{what}", "threads") for one in CLOSED if one.method == GET]


def test_a_link_signs_in_once_and_the_cookie_is_for_no_script(server):
    key, first, second = server.key(), Browser(server.port), Browser(server.port)
    answer = first.login(key)
    assert answer.json == {"role": "human", "person": "human"}
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert first.get("/api/hello").status == 200
    stolen = second.login(key)
    assert stolen.status == 403
    assert "used already" in stolen.json["error"]
    assert second.get("/api/hello").status == 401


def test_whoever_signs_out_is_a_stranger_again(browser):
    kept = browser.cookie
    assert browser.post("/api/logout", {}).status == 200
    browser.cookie = kept
    assert browser.get("/api/hello").status == 401


@pytest.mark.parametrize("path", PATHS)
def test_strangers_see_nothing_of_any_team(server, path):
    answer = Browser(server.port).get(path)
    assert answer.status == 401
    assert "crew" not in json.dumps(answer.json)


@pytest.mark.parametrize(
    "cookie", ["", "atm-1=x", "atm-{port}=", "atm-{port}=0", "atm-{port}=é", "=; ;;", "atm-{port}"]
)
def test_no_other_cookie_is_worth_anything(server, cookie):
    stranger = Browser(server.port)
    answer = stranger.get("/api/teams", Cookie=cookie.format(port=server.port).encode().decode("latin-1"))
    assert answer.status == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1.nip.example:{port}"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_pages_of_other_sites_and_other_names_get_nothing(server, browser, headers):
    for answer in (
        browser.call("GET", "/api/teams", **{key: value.format(port=server.port) for key, value in headers.items()}),
        browser.call("GET", "/", **{key: value.format(port=server.port) for key, value in headers.items()}),
        browser.call("POST", "/api/logout", {}, **{k: v.format(port=server.port) for k, v in headers.items()}),
    ):
        assert answer.status == 403
    assert browser.get("/api/hello").status == 200


def test_a_call_that_changes_something_needs_the_mark_of_the_page(browser):
    assert browser.call("POST", "/api/logout", {}, **{"X-Atm": "-"}).status == 403
    assert browser.get("/api/hello").status == 200


@pytest.mark.parametrize(
    "path", ["/", "/t/crew/board", "/static/index.html", "/static/no", "/api/hello", "/api/no", "/login"]
)
def test_every_answer_forbids_scripts_and_frames_of_others(server, path):
    for visitor in (server.browser(), Browser(server.port)):
        headers = visitor.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["access-control-allow-origin"] is None


@pytest.mark.parametrize(
    "path", ["/static/../host.py", "/static/%2e%2e/host.py", "/static//etc/passwd", "/static/", "/static/..%2fhost.py"]
)
def test_nothing_but_the_files_of_the_page_is_served(browser, path):
    assert browser.get(path).status == 404


def test_an_observer_looks_and_changes_nothing(server, crew):
    observer = server.browser(OBSERVER)
    assert observer.get("/api/teams/crew").json["snapshot"]["team"] == "crew"
    assert observer.get("/api/teams/crew/offers?kind=task&id=3").json == {"offers": []}
    answer = observer.deed("crew", "task", "3", "answer", "blue")
    assert answer.status == 403
    assert "only look" in answer.json["error"]
    assert "blue" not in crew("tasks", "show", "3").out


def test_who_guesses_keys_has_to_wait(server, monkeypatch):
    monkeypatch.setattr(gate, "LOGINS_PER_SECOND", 0.001)
    stranger = Browser(server.port)
    found = [stranger.login(f"{number:064x}").status for number in range(int(LOGINS) + 5)]
    assert found[0] == 403
    assert found[-1] == 429
    assert server.browser is not None


@pytest.mark.parametrize(("path", "most"), [("/api/hello", BURST), ("/", STRANGERS)])
def test_who_asks_too_much_waits_and_others_do_not(server, monkeypatch, path, most):
    monkeypatch.setattr(gate, "PER_SECOND", 0.001)  # or a busy machine never gets that far
    monkeypatch.setattr(gate, "STRANGERS_PER_SECOND", 0.001)
    greedy, other = server.browser(), server.browser()
    codes = {greedy.get(path).status for _ in range(int(most) + 1)}
    assert codes == {200, 429}
    assert other.get("/api/hello").status == 200


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"null", b'{"key": 1}'])
def test_what_is_no_login_is_refused_in_words(server, body):
    answer = Browser(server.port).call("POST", "/api/login", body)
    assert answer.status in (400, 403)
    assert answer.json["error"]


def test_a_body_without_end_is_cut_off(browser):
    answer = browser.call("POST", "/api/teams/crew/deeds", b'{"text": "' + b"x" * (LARGEST_BODY + 10) + b'"}')
    assert answer.status == 413


@pytest.mark.parametrize("team", ["nope", "..", "%2e%2e", "a%2fb", "x" * 400, "%00", "crew%0a"])
def test_a_team_that_is_not_there_is_no_error_of_ours(browser, team):
    for path in (f"/api/teams/{team}", f"/api/teams/{team}/events", f"/api/teams/{team}/read/threads"):
        assert browser.get(path).status == 404


def test_a_server_that_is_stopped_leaves_nobody_hanging(crew):
    made = PageServer({**crew.environment}, str(crew.folder))
    visitor = made.browser()
    with visitor.listen("crew") as events:
        events.next("snapshot")
        made.stop()
        assert [kind for kind, _, _ in events if kind != "beat"] == []
