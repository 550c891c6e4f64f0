"""Whatever bytes stand in a path, a query or a body, the page's server refuses them in words, and never answers 500."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from tests.web.served import Answer, Browser

from atm.ui.web import gate
from atm.ui.web.app import KINDS
from atm.ui.web.endpoints import ENDPOINTS, GET
from atm.ui.web.reading import NEEDS_ID

STRANGE = {
    "NUL": "%00",
    "NUL in the middle": "a%00b",
    "an escape sequence": "%1b%5b2J",
    "a bell": "%07",
    "DEL": "%7f",
    "a line break": "1%0a2",
    "a carriage return": "1%0d2",
    "no UTF-8": "%ff%fe",
    "half a character": "%ed%a0%80",
    "cut short": "%c3",
    "no escape": "%zz",
    "the largest": "%f4%8f%bf%bf",
    "written from right to left": "%e2%80%ae1",
    "folders": "..%2f..%2fetc%2fpasswd",
    "an option": "--help",
    "a path": "%2fetc%2fpasswd",
    "a star": "%2a",
    "very long": "9" * 5000,
    "nothing": "",
    "blank": "%20",
    "not a number": "nan",
    "without end": "inf",
    "beyond": "1e400",
    "before": "-1e308",
    "digits of elsewhere": quote("١٢٣"),
    "percent": "%25",
    "twice": "1&id=%00",
}
BODIES = {
    "NUL": "\0",
    "NUL in the middle": "a\0b",
    "half a character": "\ud800",
    "an escape sequence": "\x1b[2J",
    "an option": "--help",
    "folders": "../../etc/passwd",
    "a number": 7,
    "nothing": None,
    "a list": ["\0"],
    "an object": {"\0": "\0"},
    "true": True,
}


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Nobody waits here."""
    monkeypatch.setattr(gate, "BURST", 1e9)
    monkeypatch.setattr(gate, "LOGINS", 1e9)
    monkeypatch.setattr(gate, "STRANGERS", 1e9)


def addresses(strange: str) -> Iterator[str]:
    """Every endpoint that is asked, with something strange in each place where a caller may put it."""
    for one in ENDPOINTS:
        if one.method != GET:
            continue
        path = one.path.replace("{what}", "threads")
        if "{team}" in path and one.name != "events":
            yield path.replace("{team}", strange)
            for name, _ in one.query:
                yield f"{path.replace('{team}', 'crew')}?{name}={strange}"
                yield f"{path.replace('{team}', 'crew')}?{strange}={strange}"
        yield f"{path.replace('{team}', strange or '%00')}"
    yield from (f"/api/teams/crew/read/{what}?id={strange}" for what in NEEDS_ID)
    yield from (f"/api/teams/crew/offers?kind={kind}&id={strange}" for kind in KINDS)
    yield f"/api/teams/crew/offers?kind={strange}&id={strange}"
    yield f"/api/teams/crew/read/{strange}?id=1"
    yield f"/api/{strange}"
    yield f"/static/{strange}"
    yield f"/static/views/{strange}"


def check(answer: Answer, asked: object) -> None:
    """A word for every refusal; and none of them is Python's."""
    assert answer.status < 500, (asked, answer.status, answer.body[:300])
    if answer.headers["content-type"].startswith("application/json"):
        said = json.loads(answer.body)
        if answer.status >= 400:
            assert said["error"], asked
            text = json.dumps(said)
            for word in ("Traceback", "embedded null", "codec can't", "ValueError"):
                assert word not in text, (asked, text)


@pytest.mark.parametrize("name", STRANGE)
def test_nothing_in_an_address_breaks_the_server(browser: Browser, name: str):
    for address in dict.fromkeys(addresses(STRANGE[name])):
        check(browser.get(address), address)


@pytest.mark.parametrize("name", STRANGE)
def test_no_version_that_a_stream_is_asked_for_breaks_it(browser: Browser, name: str):
    with browser.listen(f"crew/events?after={STRANGE[name]}#") as events:
        assert events.status in (200, 404)
    line = Browser(browser.port)
    line.cookie = browser.cookie
    check(line.get(f"/api/teams/{STRANGE[name] or '%00'}/events"), name)


@pytest.mark.parametrize("name", BODIES)
def test_nothing_in_a_body_breaks_the_server(browser: Browser, name: str):
    strange = BODIES[name]
    usual = {"kind": "member", "id": "kite", "deed": "write", "text": "hello"}
    for key in usual:
        check(browser.post("/api/teams/crew/deeds", {**usual, key: strange}), (key, strange))
    for kind in KINDS:
        for deed in ("write", "answer", "cancel", "approve", "deny and say why", "skip", "add", "resume", "comment"):
            fields = {"kind": kind, "id": strange, "deed": deed, "text": strange}
            if deed in ("cancel", "approve", "skip", "resume") and isinstance(strange, str) and "\0" not in strange:
                continue  # that is a command like any other; what its words may be is tested where it is
            check(browser.post("/api/teams/crew/deeds", fields), fields)
    check(Browser(browser.port).post("/api/login", {"key": strange}), strange)


@pytest.mark.parametrize("what", ["task", "output", "diff", "run", "merge", "receipts", "diagnose"])
def test_an_id_that_no_id_can_be_is_refused_in_words(browser: Browser, what: str):
    answer = browser.get(f"/api/teams/crew/read/{what}?id=a%00b")
    assert answer.status == 400
    assert "control character" in answer.json["error"]


def test_a_text_that_no_command_can_take_is_refused_in_words_and_nothing_is_sent(browser: Browser, crew):
    answer = browser.deed("crew", "member", "kite", "write", "a\0b")
    assert answer.status == 400
    assert "NUL" in answer.json["error"]
    assert crew.rows("kite") == []


@pytest.mark.parametrize("moment", ["nan", "inf", "-inf", "1e400", "1e308", "-1e308", "99999999999999"])
def test_a_moment_that_is_none_is_refused_in_words(browser: Browser, moment: str):
    answer = browser.get(f"/api/teams/crew/at?moment={moment}")
    assert answer.status == 400
    assert "moment" in answer.json["error"]
