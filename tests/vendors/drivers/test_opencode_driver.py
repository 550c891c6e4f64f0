"""OpenCode's server, with one that answers and tells what a test says."""

from __future__ import annotations

import base64

import pytest
from tests.vendors.drivers.fake_agents import FakeAgent, Host, Talk
from tests.vendors.drivers.fake_opencode import SESSION, FakeOpenCode, message
from tests.vendors.names import OPENCODE_SERVER

from atm.vendors.driver import GONE, IDLE, OUTPUT, QUESTION, READY, TROUBLE, USAGE, WITHDRAWN, WORKING, Brief
from atm.vendors.opencode import driver as opencode
from atm.vendors.opencode.driver import OpenCodeDriver
from atm.vendors.opencode.permissions import as_variable

PROMPT = f"/session/{SESSION}/prompt_async"
BUSY = {"sessionID": SESSION, "status": {"type": "busy"}}


@pytest.fixture
def server():
    made = FakeOpenCode()
    yield made
    made.close()


@pytest.fixture
def opened(server):
    """Begun; whatever comes of it."""
    agents = []

    def start(seconds=10.0, **brief):
        agent, host = FakeAgent(), Host()
        agents.append(agent)
        settings = {"cwd": "/w t", "port": server.port, "password": "pw", **brief}
        driver = OpenCodeDriver(agent.stdin, agent.stdout, Brief(**settings), seconds)
        driver.begin(host.hear)
        agent.says_bytes(b"opencode server listening on http://127.0.0.1\n")
        return Talk(agent, driver, host)

    yield start
    for agent in agents:
        agent.ends()


@pytest.fixture
def ready(opened):
    def start(**brief):
        made = opened(**brief)
        assert made.host.next().facts == {"session": SESSION}
        return made

    return start


@pytest.fixture
def working(ready, server):
    """In the middle of its first turn."""

    def start(**brief):
        made = ready(**brief)
        assert made.driver.say("begin")
        while (asked := server.hears()).path != PROMPT:
            pass
        made.prompt = asked
        server.is_busy()
        server.tells("session.status", **BUSY)
        assert made.host.next().kind == WORKING
        return made

    return start


def test_everything_is_asked_with_the_directory_and_the_password(ready, server):
    ready()
    asked = server.hears()
    assert asked.path == "/session"
    assert asked.query["directory"] == ["/w t"]
    assert asked.password == "Basic " + base64.b64encode(b"opencode:pw").decode()


@pytest.mark.parametrize(("mode", "bash", "edit"), [("default", "ask", "allow"), ("plan", "deny", "deny")])
def test_a_session_has_rules_and_never_those_that_allow_everything(ready, server, mode, bash, edit):
    ready(mode=mode)
    rules = {rule["permission"]: rule["action"] for rule in server.hears().body["permission"]}
    assert (rules["bash"], rules["edit"]) == (bash, edit)
    assert f'"bash": "{bash}"' in as_variable(mode)


def test_a_session_with_few_tools_has_no_others_and_none_unasked(ready, server):
    ready(tools=["read", "bash"])
    rules = server.hears().body["permission"]
    assert [(rule["permission"], rule["action"]) for rule in rules] == [
        ("*", "deny"),
        ("read", "allow"),
        ("bash", "ask"),
    ]


def test_a_session_that_goes_on_gets_the_rules_of_its_mode_now(opened, server):
    assert opened(resume="ses_old", mode="plan").host.next().facts == {"session": "ses_old"}
    asked = server.hears("PATCH")
    assert asked.path == "/session/ses_old"
    assert {"permission": "edit", "pattern": "*", "action": "deny"} in asked.body["permission"]


@pytest.mark.parametrize(
    ("verb", "path", "brief"), [("POST", "/session", {}), ("PATCH", "/session/x", {"resume": "x"})]
)
def test_a_session_that_cannot_be_had_is_its_end(opened, server, verb, path, brief):
    server.answers[verb, path] = (404, {"message": "nobody knows it"})
    heard = opened(**brief).host.next()
    assert heard.kind == GONE
    assert "nobody knows it" in heard.text


def test_a_server_that_never_answers_is_given_up(opened):
    made = opened(seconds=0.2, port=9)
    heard = made.host.next()
    assert heard.kind == GONE
    assert not made.driver.say("anybody?")


def test_a_turn_has_words_usage_and_an_end(working, server):
    made = working()
    assert made.prompt.body == {"parts": [{"type": "text", "text": "begin"}], "agent": "build"}
    part = {"sessionID": SESSION, "messageID": "m-1"}
    server.tells("message.updated", info={"id": "m-0", "role": "user"})
    server.tells("message.updated", info={"id": "m-1", "role": "assistant"})
    server.tells(
        "message.part.updated", part={**part, "messageID": "m-0", "type": "text", "text": "b", "time": {"end": 1}}
    )
    server.tells(
        "message.part.updated",
        part={**part, "type": "tool", "tool": "bash", "state": {"status": "running", "input": {"command": "ls"}}},
    )
    server.tells("message.part.updated", part={**part, "type": "text", "text": "all"})
    server.tells("message.part.updated", part={**part, "type": "text", "text": "all done", "time": {"end": 1}})
    server.is_idle()
    server.tells("session.idle", sessionID=SESSION)
    heard = [made.host.next() for _ in range(4)]
    assert [(one.kind, one.text) for one in heard] == [
        (OUTPUT, "bash: ls"),
        (OUTPUT, "all done"),
        (USAGE, ""),
        (IDLE, "all done"),
    ]
    assert heard[2].facts == {"tokens": 110, "cost": 0.5, "context_percent": None, "counts": "session"}
    assert heard[3].facts == {"ok": True, "error": ""}


def test_a_prompt_says_model_and_agent_and_the_first_one_the_instructions(working, server):
    made = working(mode="plan", model="lab/scripted/x", instructions="you are bob")
    assert made.prompt.body == {
        "parts": [{"type": "text", "text": "you are bob\n\nbegin"}],
        "agent": "plan",
        "model": {"providerID": "lab", "modelID": "scripted/x"},
    }
    made.driver.say("more")
    assert server.hears().body["parts"][0]["text"] == "more"


def test_mail_that_came_after_its_last_words_is_not_taken_for_them(working, server):
    made = working()
    mail = {"info": {"role": "user"}, "parts": [{"type": "text", "text": "mail"}]}
    server.answers["GET", f"/session/{SESSION}/message"] = (200, [message("first"), message("last"), mail])
    server.is_idle()
    server.tells("session.idle", sessionID=SESSION)
    assert made.host.until(IDLE).text == "last"


def test_a_choice_that_it_offers_to_people_is_rejected_at_once(working, server):
    working()
    server.tells("question.asked", id="que_1", sessionID=SESSION, questions=[])
    assert server.hears().path == "/question/que_1/reject"


def test_words_in_the_middle_of_a_turn_are_one_more_prompt(working, server):
    made = working()
    assert made.driver.say("hurry")
    asked = server.hears()
    assert (asked.path, asked.body["parts"][0]["text"]) == (PROMPT, "hurry")


def test_the_late_second_end_of_a_turn_is_not_taken_for_another(working, server):
    made = working()
    made.driver.interrupt()
    assert server.hears().path == f"/session/{SESSION}/abort"
    server.answers["GET", f"/session/{SESSION}/message"] = (200, [message("", error={"name": "MessageAbortedError"})])
    server.is_idle()
    server.tells("session.idle", sessionID=SESSION)
    assert made.host.until(IDLE).facts == {"ok": False, "error": "MessageAbortedError"}
    made.driver.say("next")
    server.hears()
    server.tells("session.idle", sessionID=SESSION)  # late, before the next turn has begun
    server.is_busy()
    server.tells("session.status", **BUSY)
    server.tells("session.idle", sessionID=SESSION)  # later still, when it runs
    server.tells("permission.asked", id="per_1", sessionID=SESSION, permission="bash", metadata={}, patterns=[])
    assert [made.host.next().kind for _ in range(2)] == [WORKING, QUESTION]
    server.answers["GET", f"/session/{SESSION}/message"] = (200, [message("second")])
    server.is_idle()
    server.tells("session.idle", sessionID=SESSION)
    assert made.host.until(IDLE).text == "second"


def test_another_session_is_not_its_own(working, server):
    made = working()
    server.is_idle()
    server.tells("session.idle", sessionID="ses_2")
    server.tells("session.error", sessionID="ses_2", error={"name": "APIError"})
    server.tells("session.status", sessionID="ses_2", status={"type": "retry"})
    server.tells("session.idle", sessionID=SESSION)
    assert [made.host.next().kind for _ in range(2)] == [USAGE, IDLE]


def test_a_question_of_a_helper_with_its_own_session_is_asked_too(working, server):
    made = working()
    asked = {"id": "per_1", "permission": "bash", "patterns": ["touch a"], "metadata": {"command": "touch a"}}
    server.tells("permission.asked", **asked, sessionID="ses_child")
    heard = made.host.next()
    assert (heard.kind, heard.text) == (QUESTION, "bash: touch a")
    asked_for = {"command": "touch a", "patterns": ["touch a"]}
    assert heard.facts == {"id": "per_1", "tool": "bash", "input": asked_for, "vendor": OPENCODE_SERVER}


def test_a_yes_is_for_once_and_a_no_always_has_a_message(working, server):
    made = working()
    for number in range(3):
        server.tells("permission.asked", id=f"per_{number}", sessionID=SESSION, permission="bash")
        made.host.until(QUESTION)
    made.driver.answer("per_0", allow=True, reason="fine")
    made.driver.answer("per_1", allow=False, reason="use read")
    made.driver.answer("per_2", allow=False)
    asked = [server.hears() for _ in range(3)]
    assert [one.path for one in asked] == [f"/permission/per_{number}/reply" for number in range(3)]
    assert asked[0].body == {"reply": "once"}
    assert asked[1].body == {"reply": "reject", "message": "use read"}
    assert asked[2].body["reply"] == "reject"
    assert asked[2].body["message"]
    assert {tuple(one.query["directory"]) for one in asked} == {("/w t",)}


def test_a_question_that_was_answered_elsewhere_is_withdrawn(working, server):
    made = working()
    server.tells("permission.asked", id="per_1", sessionID=SESSION, permission="bash")
    made.host.until(QUESTION)
    server.tells("permission.replied", sessionID=SESSION, requestID="per_1", reply="reject")
    assert made.host.next().facts == {"id": "per_1"}
    made.driver.answer("per_1", allow=True)
    made.driver.say("next")
    assert server.hears().path == PROMPT


def test_a_prompt_that_was_not_taken_ends_as_a_turn_that_failed(ready, server):
    made = ready()
    server.answers["POST", PROMPT] = (500, {"message": "no such model"})
    assert made.driver.say("begin")
    heard = made.host.next()
    assert heard.kind == IDLE
    assert heard.facts["ok"] is False
    assert "no such model" in str(heard.facts["error"])


def test_an_error_before_a_turn_has_begun_is_its_end(ready, server):
    made = ready()
    made.driver.say("begin")
    server.tells("session.error", sessionID=SESSION, error={"name": "ProviderModelNotFoundError", "data": {}})
    assert made.host.next().facts == {"ok": False, "error": "ProviderModelNotFoundError"}


def test_retries_of_its_model_are_told(working, server):
    made = working()
    server.tells("session.status", sessionID=SESSION, status={"type": "retry", "attempt": 2, "message": "overloaded"})
    heard = made.host.next()
    assert (heard.kind, heard.text) == (TROUBLE, "its model does not answer, attempt 2: overloaded")


def test_a_stream_that_breaks_is_opened_again_and_what_was_missed_is_asked_for(working, server):
    made = working()
    missed = {"id": "per_1", "sessionID": SESSION, "permission": "bash", "patterns": ["a"], "metadata": {}}
    server.answers["GET", "/permission"] = (200, [missed])
    server.is_idle()
    server.cuts_the_stream()
    assert [made.host.next().kind for _ in range(4)] == [QUESTION, USAGE, WITHDRAWN, IDLE]
    assert made.host.rest() == []


@pytest.mark.parametrize(
    "data",
    [
        b": comment\n\n",
        b"data: \n\n",
        b"data: {no json\n\n",
        b"data: [1]\n\n",
        b'data: {"type": "session.idle", "properties": 5}\n\n',
        b'data: {"type": "permission.asked"}\n\n',
        b'event: x\ndata: {"type": {}}\n\n',
    ],
)
def test_what_nobody_understands_is_passed_over(working, server, data):
    made = working()
    server.tells_bytes(data)
    server.is_idle()
    server.tells("session.idle", sessionID=SESSION)
    assert made.host.until(IDLE).facts["ok"] is True


def test_closing_ends_what_runs_first_and_the_process_end_is_heard_once(working, server):
    made = working()
    made.driver.close()
    assert server.hears().path == f"/session/{SESSION}/abort"
    assert made.agent.hears() == {}
    made.agent.stops_speaking()
    made.host.until(GONE)
    assert made.host.rest() == []


def test_a_server_whose_process_ends_is_gone(working):
    made = working()
    made.agent.says_bytes(b"bye\n")
    made.agent.stops_speaking()
    assert made.host.next().kind == GONE


def test_a_server_that_takes_nothing_keeps_nobody_waiting(opened, server, monkeypatch):
    monkeypatch.setattr(opencode, "MOST_JOBS", 2)
    made = opened()
    made.host.until(READY)
    server.takes.clear()
    assert [made.driver.say("x") for _ in range(5)][-1] is False
    server.takes.set()
    assert made.host.next().kind == TROUBLE
