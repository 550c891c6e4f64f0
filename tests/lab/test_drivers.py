"""
Each vendor's real program, headless, spoken to by its driver: begun, prompted, asked by, refused, steered, interrupted,
killed and resumed, ended.

A turn is held in the model, not by sleeping: the model answers when the test has done what shall happen meanwhile.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest
from tests.lab.conftest import PROC, LabAgent, processes_of, until
from tests.system.crew.fake_agents import Host

from atm.domain.crew.runtimes import KNOWN, command_line, opencode_permission
from atm.ports.crew.drivers import GONE, IDLE, QUESTION, READY, USAGE, WITHDRAWN, WORKING, Brief, Heard
from atm.system.crew.drivers.choice import build_driver
from atm.testing.model.story import StoryLine

pytestmark = pytest.mark.lab

PATIENCE = 120.0
"""Seconds for one thing to be heard. OpenCode needs many on a machine that is busy with other things."""

PASSWORD = "only-for-this-test"
SLEEP = "sleep 4321"
LONG = f"touch began.txt; {SLEEP}"
"""A command that is asked for, and then runs for longer than anybody waits."""


class Live:
    """A program that runs, its driver, and what was heard of it."""

    def __init__(self, agent: LabAgent, **more: object) -> None:
        self.agent = agent
        self.host = Host()
        runtime = KNOWN[agent.vendor.name]
        settings: dict[str, object] = {"cwd": str(agent.folder), "password": PASSWORD, **more}
        if runtime.protocol == "opencode":
            settings["port"] = free_port()
        if runtime.protocol == "stream-json" and "resume" not in more:
            settings["session"] = str(uuid.uuid4())
        self.brief = Brief(**settings)  # type: ignore[arg-type]
        values = {
            "session": self.brief.session,
            "resume": self.brief.resume,
            "mode": runtime.modes.get(self.brief.mode, ""),
            "instructions": self.brief.instructions,
            "model": {"gemini": "gemini-2.5-flash"}.get(runtime.name, ""),
            "port": str(self.brief.port),
        }
        extra = {"OPENCODE_PERMISSION": opencode_permission(self.brief.mode), "OPENCODE_SERVER_PASSWORD": PASSWORD}
        with (agent.home / "driver.err").open("ab") as errors:
            self.process = subprocess.Popen(
                command_line(runtime.headless, values),
                env={**agent.environment, **runtime.environment, **extra},
                cwd=self.brief.cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.driver = build_driver(runtime.protocol, self.process.stdin, self.process.stdout, self.brief)
        self.driver.begin(self.host.hear)

    def hears(self, kind: str) -> Heard:
        try:
            return self.host.until(kind, patience=PATIENCE)
        except AssertionError as error:
            words = (self.agent.home / "driver.err").read_text(errors="replace")[-3000:]
            raise AssertionError(f"{error}\n{words}") from None

    def ready(self) -> Live:
        self.session = str(self.hears(READY).facts["session"])
        self.minute = time.strftime("%H:%M")
        return self

    def says(self, text: str) -> None:
        assert self.driver.say(text)

    def kill(self) -> None:
        """As a machine would: the program and whatever wraps it."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        if self.process.poll() is None:
            self.kill()
        self.driver.forget()


@pytest.fixture
def live(agent) -> Iterator[Callable[..., Live]]:
    """Start the program: `live(mode="plan")`."""
    made: list[Live] = []

    def start(**more: object) -> Live:
        made.append(Live(agent, **more))
        return made[-1].ready()

    yield start
    for one in made:
        one.end()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def asking(agent: LabAgent, line: StoryLine, command: str) -> StoryLine:
    """Let the model run something that needs a permission. Codex's sandbox asks only if the model wants out of it."""
    if agent.vendor.name == "codex":
        return line.runs("exec_command", cmd=command, sandbox_permissions="require_escalated", justification="need it")
    return agent.vendor.shell(line, command)


def running(home: Path, words: str) -> list[int]:
    """Processes of this home with these words in their command line."""
    found = []
    for pid in processes_of(home):
        try:
            if words in (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"):
                found.append(pid)
        except OSError:
            continue
    return found


def test_a_prompt_is_answered_and_the_turn_ends(agent, live):
    agent.story.otherwise().says("done for now")
    one = live(instructions="you are bob, and brief")
    assert one.session
    one.says("begin")
    one.hears(WORKING)
    usage, idle = one.hears(USAGE), one.hears(IDLE)
    assert idle.facts == {"ok": True, "error": ""}
    assert idle.text == "done for now"
    assert usage.facts["tokens"]
    assert agent.seen.once("you are bob, and brief").request is agent.seen.requests[0]
    one.says("a second prompt, lilac")
    assert one.hears(IDLE).facts["ok"]
    assert agent.seen.once("a second prompt, lilac").request is agent.seen.requests[1]


def test_a_prompt_that_looks_like_a_command_is_words(agent, live):
    agent.story.otherwise().says("done")
    one = live()
    one.says("/clear this is mail")
    assert one.hears(IDLE).facts["ok"]
    assert agent.seen.once("/clear this is mail")


def test_what_was_asked_for_happens_after_a_yes(agent, live):
    asking(agent, agent.story.first(), "touch made.txt")
    agent.story.otherwise().says("done")
    one = live()
    one.says("begin")
    question = one.hears(QUESTION)
    assert "touch made.txt" in question.text
    assert not (agent.folder / "made.txt").exists()
    one.driver.answer(str(question.facts["id"]), allow=True)
    assert one.hears(IDLE).facts["ok"]
    assert (agent.folder / "made.txt").exists()


def test_what_was_asked_for_does_not_happen_after_a_no_and_the_model_learns_why(agent, live):
    asking(agent, agent.story.first(), "touch made.txt")
    agent.story.otherwise().says("done")
    one = live()
    one.says("begin")
    one.driver.answer(str(one.hears(QUESTION).facts["id"]), allow=False, reason="ann needs that name")
    assert one.hears(IDLE).facts["ok"]
    assert not (agent.folder / "made.txt").exists()
    if agent.vendor.name == "gemini":  # it can only be told with the next prompt
        agent.seen.never("ann needs that name")
        one.says("next")
        assert one.hears(IDLE).facts["ok"]
    else:
        assert agent.seen.once("ann needs that name").request is agent.seen.requests[1]
    assert agent.seen.once("ann needs that name")


def test_a_no_without_a_reason_does_not_end_the_turn(agent, live):
    asking(agent, agent.story.first(), "touch made.txt")
    agent.story.otherwise().says("went on")
    one = live()
    one.says("begin")
    one.driver.answer(str(one.hears(QUESTION).facts["id"]), allow=False)
    assert one.hears(IDLE).text == "went on"
    assert len(agent.seen.requests) == 2


def test_words_in_the_middle_of_a_turn_are_seen_in_it(agent, live):
    is_said = Event()
    agent.vendor.shell(agent.story.first().waits_for(is_said), "echo shell-ran")
    agent.story.otherwise().says("done")
    one = live(mode="edits")
    one.says("begin")
    agent.seen.asks(1)
    could = one.driver.say("hurry up please")
    assert could == (agent.vendor.name != "gemini")
    is_said.set()
    while (heard := one.host.until(QUESTION, IDLE, patience=PATIENCE)).kind == QUESTION:
        one.driver.answer(str(heard.facts["id"]), allow=True)
    assert heard.facts["ok"]
    if could:
        assert agent.seen.once("hurry up please").request is agent.seen.requests[1]
    else:
        agent.seen.never("hurry up please")
        one.says("hurry up please")
        assert one.hears(IDLE).facts["ok"]
        assert agent.seen.once("hurry up please")


def test_an_interrupt_ends_the_turn_and_its_tool_and_the_next_one_begins(agent, live):
    asking(agent, agent.story.first(), LONG)
    agent.story.otherwise().says("done")
    one = live()
    one.says("begin")
    one.driver.answer(str(one.hears(QUESTION).facts["id"]), allow=True)
    until(lambda: running(agent.home, SLEEP), PATIENCE)
    one.driver.interrupt()
    assert one.hears(IDLE).facts["ok"] is False
    until(lambda: not running(agent.home, SLEEP), 20)
    one.says("next")
    idle = one.hears(IDLE)
    assert (idle.text, idle.facts["ok"]) == ("done", True)
    assert one.host.rest() == []


def test_an_interrupt_withdraws_what_it_asked(agent, live):
    asking(agent, agent.story.first(), "touch made.txt")
    agent.story.otherwise().says("done")
    one = live()
    one.says("begin")
    id = one.hears(QUESTION).facts["id"]
    one.driver.interrupt()
    assert one.hears(WITHDRAWN).facts == {"id": id}
    assert one.hears(IDLE).facts["ok"] is False
    one.driver.answer(str(id), allow=True)
    one.says("next")
    assert one.hears(IDLE).text == "done"
    assert not (agent.folder / "made.txt").exists()


def test_a_session_goes_on_after_its_process_was_killed(agent, live):
    agent.story.first().says("I see")
    asking(agent, agent.story.then(), LONG)
    agent.story.otherwise().says("done")
    one = live()
    one.says("the colour is red-42")
    assert one.hears(IDLE).text == "I see"
    killed_in_its_tool(one, "and now wait")
    two = live(resume=one.session)
    assert two.session == one.session
    two.says("which colour?")
    assert two.hears(IDLE).text == "done"
    last = agent.seen.requests[-1]
    assert any("red-42" in piece.text for piece in last.told)
    assert any("which colour?" in piece.text for piece in last.news)


def test_a_session_goes_on_that_was_killed_in_its_first_turn(agent, live):
    asking(agent, agent.story.first(), LONG)
    agent.story.otherwise().says("done")
    one = live()
    killed_in_its_tool(one, "the colour is red-42")
    two = live(resume=one.session)
    two.says("which colour?")
    assert two.hears(IDLE).text == "done"
    assert any("red-42" in piece.text for piece in agent.seen.requests[-1].told)


def killed_in_its_tool(one: Live, prompt: str) -> None:
    """Prompted, allowed, and killed when the tool runs; also the tool, which may outlive it."""
    one.says(prompt)
    one.driver.answer(str(one.hears(QUESTION).facts["id"]), allow=True)
    until(lambda: running(one.agent.home, SLEEP), PATIENCE)
    one.kill()
    one.driver.forget()
    one.hears(GONE)
    for pid in running(one.agent.home, SLEEP):
        os.kill(pid, signal.SIGKILL)
    wait_for_gemini(one)


def wait_for_gemini(one: Live) -> None:
    """It would write over a session that it loads in the minute in which it began (see `began_this_minute`)."""
    until(lambda: one.agent.vendor.name != "gemini" or time.strftime("%H:%M") != one.minute, 90)


def test_a_session_that_nobody_knows_is_its_end(agent):
    one = Live(
        agent, resume="0b5f0e2c-6e44-4d7a-9b1c-9f2f4b7d1c11" if agent.vendor.name != "opencode" else "ses_nobody"
    )
    heard = one.host.until(GONE, READY, patience=PATIENCE)
    one.end()
    assert heard.kind == GONE


def test_closing_ends_the_process_and_leaves_nothing(agent, live):
    agent.story.otherwise().says("done")
    one = live()
    one.says("begin")
    one.hears(IDLE)
    one.driver.close()
    if KNOWN[agent.vendor.name].ends_by_signal:
        one.process.send_signal(signal.SIGTERM)
    one.hears(GONE)
    one.process.wait(PATIENCE)
    until(lambda: not running(agent.home, agent.vendor.name), 20, lambda: running(agent.home, agent.vendor.name))


@pytest.mark.parametrize("how", ["command", "file"])
def test_who_plans_writes_nothing(agent, live, how):
    line = agent.story.first()
    if how == "command":
        asking(agent, line, "touch made.txt")
    else:
        writing(agent, line, "made.txt")
    agent.story.otherwise().says("here is my plan")
    one = live(mode="plan")
    one.says("begin")
    heard = one.host.until(IDLE, QUESTION, patience=PATIENCE)
    assert heard.kind == IDLE, heard
    assert not (agent.folder / "made.txt").exists()
    assert len(agent.seen.requests) == 2


def test_a_session_that_goes_on_in_another_mode_has_the_rules_of_that_one(agent, live):
    agent.story.first().says("I see")
    writing(agent, agent.story.then(), "planned.txt")
    agent.story.then().says("here is my plan")
    writing(agent, agent.story.then(), "made.txt")
    agent.story.otherwise().says("done")
    one = live(mode="edits")
    one.says("begin")
    assert one.hears(IDLE).facts["ok"]
    one.end()
    wait_for_gemini(one)
    two = live(mode="plan", resume=one.session)
    two.says("plan first")
    assert two.host.until(IDLE, QUESTION, patience=PATIENCE).kind == IDLE
    two.end()
    three = live(mode="edits", resume=one.session)
    three.says("now do it")
    assert three.hears(IDLE).facts["ok"]
    assert not (agent.folder / "planned.txt").exists()
    assert (agent.folder / "made.txt").exists()


def test_only_the_tools_that_were_named_are_offered(agent, live):
    if agent.vendor.name != "opencode":
        pytest.skip("its protocol has no word for it: the command line says it, or nothing does")
    agent.story.otherwise().says("done")
    live(tools=["read", "bash"]).says("begin")
    offers = agent.seen.asks(1).said.offers
    assert {"read", "bash"} <= set(offers)
    assert not {"write", "edit", "webfetch", "question"} & set(offers)


def writing(agent: LabAgent, line: StoryLine, name: str) -> StoryLine:
    """Let the model write a file with the tool that the program has for it."""
    path = str(agent.folder / name)
    if agent.vendor.name == "claude":
        return line.runs("Write", file_path=path, content="x")
    if agent.vendor.name == "gemini":
        return line.runs("write_file", file_path=path, content="x")
    if agent.vendor.name == "opencode":
        return line.runs("write", filePath=path, content="x")
    return agent.vendor.shell(line, f"touch {name}")


def test_a_model_that_refuses_ends_the_turn_as_one_that_failed(agent, live):
    agent.story.otherwise().fails(401, "scripted refusal")
    one = live()
    one.says("begin")
    idle = one.hears(IDLE)
    assert idle.facts["ok"] is False
    assert idle.facts["error"]


def test_a_commit_in_a_worktree_goes_through_the_sandbox(agent, live):
    main = agent.home / "main"
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@y"]
    subprocess.run([*git, "init", "-q", str(main)], check=True)
    subprocess.run([*git, "-C", str(main), "commit", "-q", "--allow-empty", "-m", "0"], check=True)
    tree = agent.home / "tree"
    subprocess.run([*git, "-C", str(main), "worktree", "add", "-q", str(tree)], check=True)
    agent.vendor.shell(
        agent.story.first(), f"cd {tree} && touch a && git add a && {' '.join(git)} commit -q -m one && echo committed"
    )
    agent.story.otherwise().says("done")
    one = live(cwd=str(tree), writable=[str(main / ".git"), str(main / ".git/worktrees/tree")])
    one.says("begin")
    while (heard := one.host.until(QUESTION, IDLE, patience=PATIENCE)).kind == QUESTION:
        one.driver.answer(str(heard.facts["id"]), allow=True)
    said = subprocess.run(["git", "-C", str(tree), "log", "--oneline"], capture_output=True, text=True, check=True)
    assert len(said.stdout.splitlines()) == 2
