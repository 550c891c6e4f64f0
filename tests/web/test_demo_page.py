"""`atm demo` ends with the page of its run, which somebody can look at and which takes itself away."""

from __future__ import annotations

import os
import signal
from urllib.parse import urlsplit

from tests.web.served import Browser


def test_the_demo_ends_with_a_page_on_which_its_conflict_can_be_replayed(atm, eventually):
    said = atm("demo", "--json", timeout=300).json
    url = urlsplit(said["url"])
    browser = Browser(url.port or 0)
    try:
        assert browser.login(url.fragment).status == 200
        assert url.query == "team=till"
        marks = browser.get("/api/teams/till/replay").json["marks"]
        conflict = next(mark for mark in marks if mark["kind"] == "merge" and "conflict" in mark["what"])
        then = browser.get(f"/api/teams/till/at?moment={conflict['at']}").json
        stands = {merge["task"]: merge["status"] for merge in then["merges"]}
        assert stands[conflict["about"]] == "conflict_detected"
        rival = conflict["what"].split("with #")[1].split(";")[0].split(",")[0]
        assert stands[rival] == "merged"
        before = browser.get(f"/api/teams/till/at?moment={marks[0]['at']}").json
        assert len(before["tasks"]) < len(then["tasks"])
        assert browser.get(f"/api/teams/till/at?moment={marks[-1]['at']}").json["merges"]
    finally:
        os.kill(said["keeper"], signal.SIGTERM)
    eventually(lambda: not _answers(browser))
    eventually(lambda: not _is_there(said["keeper"]))


def _answers(browser: Browser) -> bool:
    """The page that knows this browser: at the usual port may be that of another test soon."""
    try:
        return browser.get("/api/hello").status == 200
    except OSError:
        return False


def _is_there(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
