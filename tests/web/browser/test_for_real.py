"""The page over real files: somebody signs in, sees what happens, answers, writes, looks back, and is cut off."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from tests.conftest import Atm
from tests.web.browser.conftest import Guarded
from tests.web.served import Browser, PageServer

from atm.files.formats.times import to_iso
from atm.ui.web.doors import OBSERVER


@pytest.fixture
def real(crew: Atm) -> Iterator[PageServer]:
    made = PageServer({**crew.environment}, str(crew.folder))
    yield made
    made.stop()


def sign_in(window: Guarded, real: PageServer, role: str = "human", team: str = "crew"):
    window.page.goto(f"{real.url}/login?team={team}#{real.key(role)}")
    window.page.wait_for_selector("#main .strip")
    return window.page


def test_a_person_signs_in_finds_the_question_and_answers_it(real, visit, crew, eventually):
    page = sign_in(visit(real), real)
    assert page.url == f"{real.url}/t/crew"
    eventually(lambda: page.title().startswith("1 needs you"))
    page.get_by_text("which colour?").first.wait_for()
    page.get_by_role("button", name="answer").first.click()
    page.locator("textarea, input[type=text]").first.fill("blue, --as ann")
    page.keyboard.press("Control+Enter")
    eventually(lambda: "needs you" not in page.title())
    assert "blue, --as ann" in crew("tasks", "show", "3").out


def test_what_others_do_is_seen_without_a_click(real, visit, crew):
    page = sign_in(visit(real), real)
    page.goto(f"{real.url}/t/crew/board")
    page.get_by_text("Write the parser").first.wait_for()
    crew("tasks", "add", "Something entirely new")
    page.get_by_text("Something entirely new").first.wait_for()


def test_a_request_is_approved_with_two_presses_and_its_command_in_sight(real, visit, crew, eventually):
    crew("teams", "add-member", "crew", "human", "--backend-type", "human")
    crew("approvals", "ask", "--tool", "Bash", "--command", "git push --force", "--as", "bob", "--wait", "0", code=3)
    window = visit(real, width=390, height=844)
    window.expects_refusals = True  # there is no diff of an agent that atm did not start
    page = sign_in(window, real)
    page.goto(f"{real.url}/t/crew/approvals")
    page.get_by_text("--force").first.wait_for()
    page.get_by_role("button", name="approve").first.click()
    page.locator(".btn.armed").first.wait_for()
    page.locator(".btn.armed").first.wait_for(state="detached")  # nobody pressed again in time
    assert crew("approvals", "list", "--json").json["approvals"][0]["state"] == "waiting"
    page.get_by_role("button", name="approve").first.click()
    page.locator(".btn.armed").first.click()
    eventually(lambda: crew("approvals", "list", "--all", "--json").json["approvals"][0]["state"] == "approved")
    page.get_by_text("Waits for you, 1").wait_for(state="attached")  # the question is still there


def test_a_link_that_was_used_is_refused_in_another_browser_and_a_new_one_is_not(real, visit):
    key = real.key()
    first, second = visit(real), visit(real)
    first.page.goto(f"{real.url}/login#{key}")
    first.page.wait_for_selector("#main")
    second.expects_refusals = True
    second.page.goto(f"{real.url}/login#{key}")
    second.page.get_by_text("This link was used up").wait_for()
    assert key not in second.page.url
    sign_in(second, real)


def test_an_observer_is_offered_nothing(real, visit):
    page = sign_in(visit(real), real, OBSERVER)
    page.get_by_text("which colour?").first.wait_for()
    assert page.get_by_role("button", name="answer").count() == 0
    page.get_by_text("observer").first.wait_for()


def test_a_page_that_is_cut_off_says_so_and_is_live_again_by_itself(real, visit, crew, eventually):
    window = visit(real)
    page = sign_in(window, real)
    page.goto(f"{real.url}/t/crew/board")
    page.get_by_text("Write the parser").first.wait_for()
    window.expects_refusals = True
    eventually(lambda: real.app.listeners == 1)  # this page, and not the one before it as well
    window.context.set_offline(True)  # first: a page that is only cut off is back before it could say so
    real.cut_off()
    page.wait_for_selector(".frame.stale", timeout=60_000)
    crew("tasks", "add", "While you were away")
    window.context.set_offline(False)
    page.get_by_text("While you were away").first.wait_for(timeout=60_000)
    page.wait_for_selector(".frame:not(.stale)")
    assert page.get_by_text("While you were away").count() == 1


def test_ten_tabs_are_live_together(real, visit, crew):
    window = visit(real)
    sign_in(window, real)
    tabs = [window.new_page() for _ in range(9)]
    for tab in tabs:
        tab.goto(f"{real.url}/t/crew/board")
    for tab in tabs:
        tab.get_by_text("Write the parser").first.wait_for(timeout=60_000)
    crew("tasks", "add", "For every tab")
    for tab in tabs:
        tab.get_by_text("For every tab").first.wait_for(timeout=60_000)


def test_replay_shows_the_team_as_it_was(real, visit, crew):
    crew("tasks", "complete", "1", "--as", "bob")
    began = Browser(real.port)
    began.login(real.key())
    marks = began.get("/api/teams/crew/replay").json["marks"]
    first = next(mark["at"] for mark in marks if mark["about"] == "3" and mark["kind"] == "task")
    page = sign_in(visit(real), real)
    page.goto(f"{real.url}/t/crew/replay?at={to_iso(first - 0.001)}")
    page.get_by_text("Nothing can be changed here").first.wait_for()
    page.get_by_text("Write the docs").first.wait_for()
    assert page.get_by_text("Release 0.4").count() == 0


class _Elsewhere(BaseHTTPRequestHandler):
    """A page of another site, which tries what such pages try."""

    target = ""

    def do_GET(self) -> None:
        script = f"""
        window.tried = [];
        const note = (what) => window.tried.push(what);
        fetch("{self.target}/api/teams", {{credentials: "include"}}).then(() => note("read"), () => note("no"));
        fetch("{self.target}/api/logout", {{method: "POST", mode: "no-cors", credentials: "include", body: "{{}}"}})
          .then(() => note("sent"), () => note("no"));
        fetch("{self.target}/api/logout", {{method: "POST", headers: {{"X-Atm": "page"}}, credentials: "include"}})
          .then(() => note("read"), () => note("no"));
        """
        body = f"<!doctype html><title>else</title><iframe src='{self.target}/'></iframe><script>{script}</script>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def elsewhere(real: PageServer) -> Iterator[str]:
    site = HTTPServer(("127.0.0.1", 0), type("Site", (_Elsewhere,), {"target": real.url}))
    thread = threading.Thread(target=site.serve_forever)
    thread.start()
    yield f"http://localhost:{site.server_port}/"
    site.shutdown()
    thread.join()
    site.server_close()


def test_a_page_of_another_site_reads_and_changes_nothing(chromium, real, elsewhere):
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.goto(f"{real.url}/login?team=crew#{real.key()}")
        page.wait_for_selector("#main .strip")
        other = context.new_page()
        other.goto(elsewhere)
        other.wait_for_function("window.tried.length === 3")
        assert "read" not in other.evaluate("window.tried")
        assert page.evaluate("fetch('/api/hello').then((answer) => answer.status)") == 200
    finally:
        context.close()


def test_a_name_that_was_rebound_to_this_machine_gets_nothing(chromium, real):
    """What a browser does when a stranger's name suddenly means 127.0.0.1."""
    driver = chromium.browser_type.launch(
        executable_path=shutil.which("chromium"),
        args=["--no-sandbox", "--host-resolver-rules=MAP evil.example 127.0.0.1"],
    )
    try:
        page = driver.new_page()
        answer = page.goto(f"http://evil.example:{real.port}/")
        assert answer is not None
        assert answer.status == 403
    finally:
        driver.close()
