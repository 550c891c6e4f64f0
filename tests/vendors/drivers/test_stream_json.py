"""Claude Code's protocol, with a program that says what a test tells it to."""

from __future__ import annotations

import pytest

from atm.vendors.driver import GONE, IDLE, OUTPUT, QUESTION, READY, TROUBLE, USAGE, WITHDRAWN, WORKING

RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "all done",
    "total_cost_usd": 0.25,
    "usage": {"input_tokens": 1},
    "modelUsage": {
        "m": {"inputTokens": 100, "outputTokens": 20, "cacheReadInputTokens": 30, "contextWindow": 1000},
        "small": {"inputTokens": 5, "outputTokens": 1},
    },
}
WRITE = {"file_path": "/wt/a.txt", "content": "x"}


@pytest.fixture
def claude(talk):
    """Ready to be spoken to; in plan mode: `claude(mode="plan")`."""

    def start(**brief):
        made = talk("stream-json", session="s-1", **brief)
        greeting = made.agent.hears()
        assert greeting["request"] == {"subtype": "initialize"}
        made.agent.says(response(greeting["request_id"]))
        assert made.host.next().kind == READY
        return made

    return start


def response(id, **more):
    return {"type": "control_response", "response": {"subtype": "success", "request_id": id, **more}}


def asks(id, tool, **arguments):
    request = {"subtype": "can_use_tool", "tool_name": tool, "input": arguments, "tool_use_id": "toolu_1"}
    return {"type": "control_request", "request_id": id, "request": request}


def test_it_is_ready_when_it_has_answered_to_the_greeting(talk):
    made = talk("stream-json", session="s-1")
    assert not made.driver.say("too early")
    made.agent.says(response(made.agent.hears()["request_id"]))
    heard = made.host.next()
    assert (heard.kind, heard.facts) == (READY, {"session": "s-1"})


def test_a_session_that_goes_on_keeps_its_id(talk):
    made = talk("stream-json", resume="old-1")
    made.agent.says(response(made.agent.hears()["request_id"]))
    assert made.host.next().facts == {"session": "old-1"}


def test_a_greeting_that_is_refused_is_its_end(talk):
    made = talk("stream-json")
    id = made.agent.hears()["request_id"]
    made.agent.says(
        {"type": "control_response", "response": {"subtype": "error", "request_id": id, "error": "no account"}}
    )
    heard = made.host.next()
    assert heard.kind == GONE
    assert "no account" in heard.text
    assert made.agent.hears() == {}  # its input is closed
    made.agent.stops_speaking()
    assert made.host.rest() == []


def test_a_prompt_is_a_turn_with_words_usage_and_an_end(claude):
    made = claude()
    assert made.driver.say("begin")
    assert made.agent.hears() == {
        "type": "user",
        "message": {"role": "user", "content": [{"type": "text", "text": "begin"}]},
    }
    words = [{"type": "text", "text": "I look"}, {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]
    made.agent.says(
        {"type": "system", "subtype": "init", "session_id": "s-1"},
        {"type": "assistant", "message": {"content": words, "usage": {"input_tokens": 90, "output_tokens": 10}}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": "a.txt"}]}},
        RESULT,
    )
    heard = [made.host.next() for _ in range(5)]
    assert [(one.kind, one.text) for one in heard] == [
        (WORKING, ""),
        (OUTPUT, "I look"),
        (OUTPUT, "Bash: ls"),
        (USAGE, ""),
        (IDLE, "all done"),
    ]
    assert heard[3].facts == {"tokens": 156, "cost": 0.25, "context_percent": 10.0, "counts": "process"}
    assert heard[4].facts == {"ok": True, "error": ""}


def test_words_in_the_middle_of_a_turn_are_said_at_once(claude):
    made = claude()
    made.driver.say("begin")
    made.agent.says({"type": "system", "subtype": "init"})
    made.host.until(WORKING)
    assert made.driver.say("and hurry")
    assert [made.agent.hears()["message"]["content"][0]["text"] for _ in range(2)] == ["begin", "and hurry"]


@pytest.mark.parametrize("text", ["/clear", "  /compact now", "/tmp/x is full"])
def test_a_prompt_is_never_a_command_of_the_program(claude, text):
    made = claude()
    made.driver.say(text)
    said = made.agent.hears()["message"]["content"][0]["text"]
    assert not said.lstrip().startswith("/")
    assert said.endswith(text)


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"is_error": True, "result": "API Error: 429"}, "API Error: 429"),
        ({"subtype": "error_max_turns", "result": None}, "error_max_turns"),
        ({"subtype": "error_during_execution", "result": None, "terminal_reason": "aborted_tools"}, "aborted_tools"),
        ({"subtype": "error_during_execution", "result": None, "errors": ["it broke"]}, "it broke"),
        ({"is_error": None}, "all done"),
    ],
)
def test_success_is_what_the_last_line_says_and_not_its_name(claude, more, error):
    made = claude()
    made.agent.says({**RESULT, **more})
    heard = made.host.until(IDLE)
    assert heard.facts == {"ok": False, "error": error}
    assert heard.text == ""


def test_a_process_that_ends_without_a_result_was_not_idle(claude):
    made = claude()
    made.driver.say("begin")
    made.agent.says({"type": "system", "subtype": "init"}, asks("q-1", "Bash", command="touch a"))
    made.agent.stops_speaking()
    assert [made.host.next().kind for _ in range(4)] == [WORKING, QUESTION, WITHDRAWN, GONE]
    made.driver.answer("q-1", allow=True)
    assert made.host.rest() == []


def test_an_interrupt_is_a_control_request(claude):
    made = claude()
    made.driver.interrupt()
    said = made.agent.hears()
    assert (said["type"], said["request"]) == ("control_request", {"subtype": "interrupt"})


def test_a_question_is_answered_with_the_input_that_it_had(claude):
    made = claude()
    made.agent.says(asks("q-1", "Bash", command="touch a"))
    heard = made.host.next()
    assert (heard.kind, heard.text) == (QUESTION, "Bash: touch a")
    assert heard.facts == {"id": "q-1", "tool": "Bash", "input": {"command": "touch a"}, "vendor": "claude"}
    made.driver.answer("q-1", allow=True)
    assert made.agent.hears() == response("q-1", response={"behavior": "allow", "updatedInput": {"command": "touch a"}})


def test_a_refusal_carries_its_reason_and_never_none(claude):
    made = claude()
    made.agent.says(asks("q-1", "Bash", command="a"), asks("q-2", "Bash", command="b"))
    made.driver.answer(made.host.next().facts["id"], allow=False, reason="use Read")
    made.driver.answer(made.host.next().facts["id"], allow=False)
    answers = [made.agent.hears()["response"]["response"] for _ in range(2)]
    assert answers[0] == {"behavior": "deny", "message": "use Read"}
    assert answers[1]["behavior"] == "deny"
    assert answers[1]["message"]


def test_nothing_is_answered_twice_nor_unasked(claude):
    made = claude()
    made.agent.says(asks("q-1", "Bash", command="a"))
    made.host.next()
    made.driver.answer("another", allow=True)
    made.driver.answer("q-1", allow=False, reason="no")
    made.driver.answer("q-1", allow=True)
    made.driver.say("the end")
    assert made.agent.hears()["response"]["response"]["behavior"] == "deny"
    assert made.agent.hears()["type"] == "user"


def test_a_question_that_was_withdrawn_is_not_answered(claude):
    made = claude()
    made.agent.says(
        asks("q-1", "Bash", command="a"),
        {"type": "control_cancel_request", "request_id": "q-1"},
        {"type": "control_cancel_request", "request_id": "never"},
        RESULT,
    )
    made.host.until(QUESTION)
    withdrawn = made.host.next()
    assert (withdrawn.kind, withdrawn.facts) == (WITHDRAWN, {"id": "q-1"})
    assert made.host.next().kind == USAGE
    made.driver.answer("q-1", allow=True)
    made.driver.say("the end")
    assert made.agent.hears()["type"] == "user"


def test_what_we_cannot_do_is_refused_so_that_nobody_waits(claude):
    made = claude()
    made.agent.says({"type": "control_request", "request_id": "h-1", "request": {"subtype": "hook_callback"}})
    said = made.agent.hears()["response"]
    assert (said["subtype"], said["request_id"]) == ("error", "h-1")


@pytest.mark.parametrize("tool", ["Write", "Edit", "Bash", "NotebookEdit", "SomethingNew"])
def test_who_plans_is_refused_what_writes_and_nobody_is_asked(claude, tool):
    made = claude(mode="plan")
    made.agent.says(asks("q-1", tool, **WRITE))
    answer = made.agent.hears()["response"]["response"]
    assert answer["behavior"] == "deny"
    assert "plan" in answer["message"]
    assert made.host.rest() == []


@pytest.mark.parametrize("tool", ["WebFetch", "mcp__atm__mail_send"])
def test_who_plans_may_ask_for_what_does_not_write(claude, tool):
    made = claude(mode="plan")
    made.agent.says(asks("q-1", tool, url="x"))
    assert made.host.next().facts["tool"] == tool


def test_a_plan_is_a_question_and_a_yes_to_it_is_no_yes_to_every_edit(claude):
    made = claude(mode="plan")
    made.agent.says(asks("q-1", "ExitPlanMode", plan="1. write"))
    heard = made.host.next()
    assert heard.text == "ExitPlanMode: 1. write"
    made.driver.answer("q-1", allow=True)
    answer = made.agent.hears()["response"]["response"]
    assert answer["updatedPermissions"] == [{"type": "setMode", "mode": "default", "destination": "session"}]
    made.agent.says(asks("q-2", "Write", **WRITE))
    assert made.host.next().facts["id"] == "q-2"


def test_a_plan_that_is_refused_leaves_it_planning(claude):
    made = claude(mode="plan")
    made.agent.says(asks("q-1", "ExitPlanMode", plan="1. write"))
    made.driver.answer(made.host.next().facts["id"], allow=False, reason="smaller steps")
    assert made.agent.hears()["response"]["response"] == {"behavior": "deny", "message": "smaller steps"}
    made.agent.says(asks("q-2", "Write", **WRITE))
    assert made.agent.hears()["response"]["response"]["behavior"] == "deny"


def test_a_choice_that_it_offers_needs_an_answer_and_not_only_a_yes(claude):
    made = claude()
    offered = [{"question": "Which?", "options": [{"label": "red"}, {"label": "blue"}]}]
    made.agent.says(
        asks("q-1", "AskUserQuestion", questions=offered), asks("q-2", "AskUserQuestion", questions=offered)
    )
    made.driver.answer(made.host.next().facts["id"], allow=True, reason="blue")
    made.driver.answer(made.host.next().facts["id"], allow=True)
    answers = [made.agent.hears()["response"]["response"] for _ in range(2)]
    assert answers[0] == {"behavior": "allow", "updatedInput": {"questions": offered, "answers": {"Which?": "blue"}}}
    assert answers[1]["behavior"] == "deny"


def test_retries_of_its_model_are_told(claude):
    made = claude()
    made.agent.says(
        {
            "type": "system",
            "subtype": "api_retry",
            "attempt": 2,
            "max_retries": 4,
            "error_status": 429,
            "error": "limit",
        }
    )
    heard = made.host.next()
    assert (heard.kind, heard.text) == (TROUBLE, "its model does not answer (429 limit), attempt 2 of 4")


def test_words_of_a_helper_that_it_started_are_not_its_own(claude):
    made = claude()
    said = {"content": [{"type": "text", "text": "x"}]}
    made.agent.says({"type": "assistant", "parent_tool_use_id": "toolu_1", "message": said}, RESULT)
    assert made.host.next().kind == USAGE


@pytest.mark.parametrize(
    "line",
    [
        b"Warning: something\n",
        b"\n",
        b'{"type": "assist\n',
        b"[1, 2]\n",
        b'{"type": 7}\n',
        b'{"type": "assistant", "message": {"content": "text", "usage": []}}\n',
        b'{"type": "control_request"}\n',
        b'{"type": "control_cancel_request", "request_id": {}}\n',
        b'{"type": "control_response", "response": null}\n',
        b"\xff\xfe\x00\n",
        b"[" * 100_000 + b"\n",
    ],
)
def test_what_nobody_understands_is_passed_over(claude, line):
    made = claude()
    made.agent.says_bytes(line)
    made.agent.says(RESULT)
    assert made.host.next().kind == USAGE


def test_a_result_of_any_shape_is_an_end_that_was_not_good(claude):
    made = claude()
    made.agent.says({"type": "result", "modelUsage": [1], "result": 5, "total_cost_usd": True, "errors": "x"})
    usage, idle = made.host.next(), made.host.next()
    assert usage.facts == {"tokens": None, "cost": None, "context_percent": None, "counts": "process"}
    assert idle.facts["ok"] is False
