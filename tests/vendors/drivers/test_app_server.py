"""Codex's protocol, with a program that says what a test tells it to."""

from __future__ import annotations

import pytest

from atm.vendors.driver import GONE, IDLE, OUTPUT, QUESTION, USAGE, WITHDRAWN, WORKING

COMMAND, FILES = "item/commandExecution/requestApproval", "item/fileChange/requestApproval"
STARTED = {"method": "turn/started", "params": {"threadId": "t-1", "turn": {"id": "turn-1"}}}


def completed(status="completed", **more):
    return {
        "method": "turn/completed",
        "params": {"threadId": "t-1", "turn": {"id": "turn-1", "status": status, **more}},
    }


def item(when, **facts):
    return {"method": f"item/{when}", "params": {"threadId": "t-1", "item": facts}}


def asks(id, method=COMMAND, **params):
    return {"id": id, "method": method, "params": {"threadId": "t-1", "turnId": "turn-1", "itemId": "call-1", **params}}


@pytest.fixture
def codex(talk):
    """Ready to be spoken to."""

    def start(**brief):
        made = talk("app-server", **brief)
        greeting = made.agent.hears()
        assert greeting["method"] == "initialize"
        made.agent.says({"id": greeting["id"], "result": {}})
        assert made.agent.hears()["method"] == "initialized"
        made.opening = made.agent.hears()
        made.agent.says({"id": made.opening["id"], "result": {"thread": {"id": "t-1"}, "model": "gpt-5"}})
        assert made.host.next().facts == {"session": "t-1"}
        return made

    return start


@pytest.fixture
def working(codex):
    """In the middle of its first turn."""

    def start(**brief):
        made = codex(**brief)
        assert made.driver.say("begin")
        made.turn = made.agent.hears()
        made.agent.says({"id": made.turn["id"], "result": {"turn": {"id": "turn-1"}}}, STARTED)
        made.host.until(WORKING)
        return made

    return start


def test_a_thread_is_started_in_a_sandbox_that_knows_the_git_folders(codex):
    made = codex(
        model="m", instructions="be brief", writable=["/repo/.git", "/repo/.git/worktrees/x"], environment={"A": "1"}
    )
    assert made.opening["method"] == "thread/start"
    assert made.opening["params"] == {
        "cwd": "/wt",
        "approvalPolicy": "on-request",
        "sandbox": "workspace-write",
        "config": {
            "sandbox_workspace_write": {
                "writable_roots": ["/repo/.git", "/repo/.git/worktrees/x"],
                "exclude_slash_tmp": True,
            },
            "shell_environment_policy": {"set": {"A": "1"}},
        },
        "model": "m",
        "developerInstructions": "be brief",
    }


def test_a_thread_that_goes_on_has_the_same_terms(codex):
    made = codex(resume="t-1")
    assert made.opening["method"] == "thread/resume"
    assert made.opening["params"]["threadId"] == "t-1"
    assert made.opening["params"]["sandbox"] == "workspace-write"


def test_a_plan_has_a_mode_and_a_sandbox_that_cannot_write(working):
    made = working(mode="plan")
    assert made.opening["params"]["sandbox"] == "read-only"
    assert made.turn["params"]["collaborationMode"]["mode"] == "plan"
    assert made.turn["params"]["collaborationMode"]["settings"]["model"] == "gpt-5"
    assert made.turn["params"]["sandboxPolicy"] == {"type": "readOnly", "networkAccess": False}


@pytest.mark.parametrize(
    ("method", "no"),
    [
        (COMMAND, {"decision": "decline"}),
        (FILES, {"decision": "decline"}),
        ("item/permissions/requestApproval", {"permissions": {}}),
    ],
)
def test_who_plans_is_refused_what_writes_and_told_why(working, method, no):
    made = working(mode="plan")
    made.agent.says(asks(0, method, command="touch a", permissions={"network": {"enabled": True}}))
    told = made.agent.hears()
    assert told["method"] == "turn/steer"
    made.agent.says({"id": told["id"], "result": {"turnId": "turn-1"}})
    answer = made.agent.hears()
    assert (answer["id"], answer["result"]) == (0, no)
    assert made.host.rest() == []


def test_a_thread_that_cannot_be_opened_is_its_end(talk):
    made = talk("app-server", resume="t-1")
    made.agent.says({"id": made.agent.hears()["id"], "result": {}})
    made.agent.hears()
    opening = made.agent.hears()
    assert not made.driver.say("too early")
    made.agent.says({"id": opening["id"], "error": {"code": -32600, "message": "already has an active writer"}})
    heard = made.host.next()
    assert heard.kind == GONE
    assert "active writer" in heard.text


def test_a_greeting_that_is_refused_is_its_end(talk):
    made = talk("app-server")
    made.agent.says({"id": made.agent.hears()["id"], "error": {"message": "too old"}})
    assert "too old" in made.host.next().text


def test_a_turn_has_words_usage_and_an_end(working):
    made = working()
    assert made.turn["method"] == "turn/start"
    assert made.turn["params"] == {"threadId": "t-1", "input": [{"type": "text", "text": "begin"}]}
    usage = {"total": {"totalTokens": 220}, "last": {"totalTokens": 110}, "modelContextWindow": 1000}
    made.agent.says(
        item("started", type="commandExecution", id="c", command="ls"),
        item("completed", type="commandExecution", id="c", command="ls"),
        {"method": "thread/tokenUsage/updated", "params": {"threadId": "t-1", "tokenUsage": usage}},
        item("completed", type="agentMessage", id="m", text="all done"),
        completed(),
    )
    heard = [made.host.next() for _ in range(4)]
    assert [(one.kind, one.text) for one in heard] == [
        (OUTPUT, "shell: ls"),
        (USAGE, ""),
        (OUTPUT, "all done"),
        (IDLE, "all done"),
    ]
    assert heard[1].facts == {"tokens": 220, "cost": None, "context_percent": 11.0, "counts": "session"}
    assert heard[3].facts == {"ok": True, "error": ""}


def test_a_plan_is_the_last_word_of_its_turn(working):
    made = working(mode="plan")
    made.agent.says(item("completed", type="plan", id="p", text="1. write"), completed())
    assert made.host.until(IDLE).text == "1. write"


@pytest.mark.parametrize(
    ("ended", "error"),
    [
        (completed("failed", error={"message": "429 Too Many Requests"}), "429 Too Many Requests"),
        (completed("interrupted"), "interrupted"),
        (completed("something new"), "something new"),
        ({"method": "turn/completed", "params": {}}, "unknown"),
    ],
)
def test_an_end_that_is_not_called_completed_is_not_good(working, ended, error):
    made = working()
    made.agent.says(ended)
    assert made.host.until(IDLE).facts == {"ok": False, "error": error}


def test_a_turn_that_was_not_taken_ends_as_one_that_failed(codex):
    made = codex()
    made.driver.say("begin")
    made.agent.says({"id": made.agent.hears()["id"], "error": {"message": "overloaded"}})
    assert made.host.next().facts == {"ok": False, "error": "overloaded"}


def test_words_in_the_middle_of_a_turn_steer_it(working):
    made = working()
    assert made.driver.say("hurry")
    said = made.agent.hears()
    assert said["method"] == "turn/steer"
    assert said["params"]["expectedTurnId"] == "turn-1"
    made.agent.says({"id": said["id"], "result": {"turnId": "turn-1"}}, completed())
    made.host.until(IDLE)
    assert made.agent.hears_nothing()


def test_words_for_a_turn_that_ended_meanwhile_begin_another(working):
    made = working()
    made.driver.say("hurry")
    said = made.agent.hears()
    made.agent.says(completed(), {"id": said["id"], "error": {"message": "no active turn"}})
    again = made.agent.hears()
    assert again["method"] == "turn/start"
    assert again["params"]["input"] == [{"type": "text", "text": "hurry"}]


def test_an_interrupt_ends_the_turn_and_the_command_that_it_ran(working):
    made = working()
    made.driver.interrupt()
    said = made.agent.hears()
    assert said["method"] == "turn/interrupt"
    assert said["params"] == {"threadId": "t-1", "turnId": "turn-1"}
    made.agent.says({"id": said["id"], "result": {}}, completed("interrupted"))
    assert made.agent.hears()["method"] == "thread/backgroundTerminals/clean"
    assert made.host.until(IDLE).facts["ok"] is False


def test_an_interrupt_before_the_turn_has_begun_waits_for_it(codex):
    made = codex()
    made.driver.say("begin")
    made.agent.hears()
    made.driver.interrupt()
    assert made.agent.hears_nothing()
    made.agent.says(STARTED)
    assert made.agent.hears()["method"] == "turn/interrupt"


def test_a_question_is_allowed_once(working):
    made = working()
    made.agent.says(asks(0, command="touch a", cwd="/wt", reason="need it", availableDecisions=["accept"]))
    heard = made.host.next()
    assert (heard.kind, heard.text, heard.facts["tool"]) == (QUESTION, "shell: touch a", "shell")
    assert heard.facts["input"] == {"itemId": "call-1", "command": "touch a", "cwd": "/wt", "reason": "need it"}
    made.driver.answer(heard.facts["id"], allow=True, reason="fine")
    answer = made.agent.hears()
    assert (answer["id"], answer["result"]) == (0, {"decision": "accept"})


def test_a_refusal_waits_until_its_reason_is_taken(working):
    made = working()
    made.agent.says(asks(0, command="touch a"))
    made.driver.answer(made.host.next().facts["id"], allow=False, reason="use the other file")
    told = made.agent.hears()
    assert told["method"] == "turn/steer"
    assert "use the other file" in told["params"]["input"][0]["text"]
    assert made.agent.hears_nothing()
    made.agent.says({"id": told["id"], "result": {"turnId": "turn-1"}})
    assert made.agent.hears()["result"] == {"decision": "decline"}


def test_a_reason_that_came_too_late_is_said_with_the_next_prompt(working):
    made = working()
    made.agent.says(asks(0, command="touch a"))
    made.driver.answer(made.host.next().facts["id"], allow=False, reason="not today")
    told = made.agent.hears()
    made.agent.says({"id": told["id"], "error": {"message": "no active turn"}}, completed())
    assert made.agent.hears()["result"] == {"decision": "decline"}
    made.host.until(IDLE)
    made.driver.say("next")
    text = made.agent.hears()["params"]["input"][0]["text"]
    assert "not today" in text
    assert text.endswith("next")


def test_a_change_of_files_is_asked_with_what_it_changes(working):
    made = working()
    made.agent.says(item("started", type="fileChange", id="call-1", changes=[{"path": "a.txt", "diff": "+x"}]))
    made.agent.says(asks(3, FILES, reason="outside"))
    heard = made.host.next()
    assert heard.text == "edit: a.txt"
    assert heard.facts["input"]["changes"] == [{"path": "a.txt", "diff": "+x"}]
    made.driver.answer(heard.facts["id"], allow=True)
    assert made.agent.hears()["result"] == {"decision": "accept"}


@pytest.mark.parametrize(
    ("method", "params", "yes", "no"),
    [
        (
            "item/permissions/requestApproval",
            {"permissions": {"network": {"enabled": True}}},
            {"permissions": {"network": {"enabled": True}}},
            {"permissions": {}},
        ),
        (
            "mcpServer/elicitation/request",
            {"message": "may I?", "serverName": "atm"},
            {"action": "accept", "content": {}},
            {"action": "decline", "content": None},
        ),
        (
            "item/tool/requestUserInput",
            {"questions": [{"id": "q1", "question": "Which?"}]},
            {"answers": {"q1": {"answers": ["blue"]}}},
            {"answers": {"q1": {"answers": []}}},
        ),
    ],
)
def test_each_kind_of_question_is_answered_in_its_own_shape(working, method, params, yes, no):
    made = working()
    made.agent.says(asks(1, method, **params), asks("two", method, **params))
    made.driver.answer(made.host.next().facts["id"], allow=True, reason="blue")
    made.driver.answer(made.host.next().facts["id"], allow=False)
    answers = [made.agent.hears(), made.agent.hears()]
    assert [(answer["id"], answer["result"]) for answer in answers] == [(1, yes), ("two", no)]


def test_what_we_cannot_do_is_refused_so_that_nobody_waits(working):
    made = working()
    made.agent.says(asks(7, "item/tool/call", tool="x"))
    said = made.agent.hears()
    assert (said["id"], said["error"]["code"]) == (7, -32601)


def test_a_question_that_was_resolved_elsewhere_is_withdrawn(working):
    made = working()
    made.agent.says(asks(0, command="a"))
    id = made.host.next().facts["id"]
    made.agent.says({"method": "serverRequest/resolved", "params": {"threadId": "t-1", "requestId": 0}}, completed())
    heard = made.host.next()
    assert (heard.kind, heard.facts) == (WITHDRAWN, {"id": id})
    made.host.until(IDLE)
    made.driver.answer(id, allow=True)
    made.driver.say("next")
    assert made.agent.hears()["method"] == "turn/start"


def test_our_own_answer_is_no_withdrawal(working):
    made = working()
    made.agent.says(asks(0, command="a"))
    made.driver.answer(made.host.next().facts["id"], allow=True)
    made.agent.says({"method": "serverRequest/resolved", "params": {"threadId": "t-1", "requestId": 0}}, completed())
    assert made.host.next().kind == IDLE


def test_an_answer_to_a_question_of_a_former_process_answers_nothing(working):
    one, other = working(), working()
    one.agent.says(asks(0, command="rm -rf build"))
    other.agent.says(asks(0, command="ls"))
    old, new = one.host.next().facts["id"], other.host.next().facts["id"]
    assert old != new
    other.driver.answer(old, allow=True)
    other.driver.answer(new, allow=False)
    assert other.agent.hears()["result"] == {"decision": "decline"}


def test_errors_on_the_way_are_told_and_other_threads_are_not_its_own(working):
    made = working()
    made.agent.says(
        {"method": "error", "params": {"threadId": "t-1", "error": {"message": "Reconnecting... 1/5"}}},
        {"method": "turn/completed", "params": {"threadId": "t-2", "turn": {"status": "completed"}}},
        completed(),
    )
    assert made.host.next().text == "Reconnecting... 1/5"
    assert made.host.next().kind == IDLE
    assert made.host.rest() == []


@pytest.mark.parametrize(
    "line",
    [
        b'{"id": 99, "result": {}}\n',
        b'{"id": {"a": 1}, "result": 5}\n',
        b'{"method": "turn/started", "params": []}\n',
        b'{"method": "item/started", "params": {"item": "x"}}\n',
        b'{"method": "something/new"}\n',
        b'{"jsonrpc": "2.0"}\n',
        b"codex: warning\n",
    ],
)
def test_what_nobody_understands_is_passed_over(working, line):
    made = working()
    made.agent.says_bytes(line)
    made.agent.says(completed())
    assert made.host.until(IDLE).facts["ok"] is True


def test_a_closed_pipe_is_its_end_with_its_question_withdrawn(working):
    made = working()
    made.agent.says(asks(0, command="a"))
    made.agent.stops_speaking()
    assert [made.host.next().kind for _ in range(3)] == [QUESTION, WITHDRAWN, GONE]
    assert made.host.rest() == []
