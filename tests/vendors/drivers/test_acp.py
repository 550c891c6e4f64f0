"""The Agent Client Protocol as Gemini CLI speaks it, with a program that says what a test tells it to."""

from __future__ import annotations

import time

import pytest

from atm.vendors.driver import GONE, IDLE, OUTPUT, QUESTION, READY, TROUBLE, USAGE, WITHDRAWN, WORKING
from atm.vendors.gemini.driver import began_this_minute

MODES = {"availableModes": [{"id": name} for name in ("default", "autoEdit", "yolo", "plan")], "currentModeId": "yolo"}
OPTIONS = [
    {"optionId": "proceed_always", "kind": "allow_always"},
    {"optionId": "proceed_once", "kind": "allow_once"},
    {"optionId": "cancel", "kind": "reject_once"},
]


@pytest.fixture
def gemini(talk):
    """Ready to be spoken to."""

    def start(**brief):
        made = talk("acp", **brief)
        made.agent.says({"id": made.agent.hears()["id"], "result": {"protocolVersion": 1}})
        made.opening = made.agent.hears()
        made.agent.says({"id": made.opening["id"], "result": {"sessionId": "g-1", "modes": MODES}})
        made.mode = made.agent.hears()
        made.agent.says({"id": made.mode["id"], "result": {}})
        made.host.until(READY)
        return made

    return start


@pytest.fixture
def working(gemini):
    """In the middle of its first turn."""

    def start(**brief):
        made = gemini(**brief)
        assert made.driver.say("begin")
        made.prompt = made.agent.hears()
        assert made.host.next().kind == WORKING
        return made

    return start


def update(update_kind, /, **facts):
    return {
        "method": "session/update",
        "params": {"sessionId": "g-1", "update": {"sessionUpdate": update_kind, **facts}},
    }


def chunk(text):
    return update("agent_message_chunk", content={"type": "text", "text": text})


def asks(id, kind="execute", options=OPTIONS):
    call = {"toolCallId": "c", "title": "touch a", "kind": kind, "status": "pending"}
    params = {"sessionId": "g-1", "options": options, "toolCall": call}
    return {"id": id, "method": "session/request_permission", "params": params}


def ended(made, reason="end_turn", **counts):
    meta = {"quota": {"token_count": counts}} if counts else {}
    return {"id": made.prompt["id"], "result": {"stopReason": reason, "_meta": meta}}


def chosen(said):
    return said["result"]["outcome"]


def test_a_session_is_made_and_its_mode_is_set_whatever_the_settings_say(gemini):
    made = gemini()
    assert made.opening["method"] == "session/new"
    assert made.opening["params"] == {"cwd": "/wt", "mcpServers": []}
    assert made.mode["method"] == "session/set_mode"
    assert made.mode["params"] == {"sessionId": "g-1", "modeId": "default"}


@pytest.mark.parametrize(("ours", "theirs"), [("edits", "autoEdit"), ("plan", "plan")])
def test_each_mode_of_ours_has_one_of_theirs(gemini, ours, theirs):
    assert gemini(mode=ours).mode["params"]["modeId"] == theirs


def test_a_session_that_goes_on_is_loaded_and_its_history_is_no_news(gemini):
    made = gemini(resume="old-1")
    assert made.opening["method"] == "session/load"
    assert made.opening["params"]["sessionId"] == "old-1"
    made.agent.says(update("user_message_chunk", content={"text": "before"}), chunk("as I said"))
    made.agent.stops_speaking()
    assert made.host.next().kind == GONE


@pytest.mark.parametrize("modes", [{}, {"availableModes": [{"id": "default"}]}])
def test_who_cannot_plan_is_not_let_loose(talk, modes):
    made = talk("acp", mode="plan")
    made.agent.says({"id": made.agent.hears()["id"], "result": {}})
    made.agent.says({"id": made.agent.hears()["id"], "result": {"sessionId": "g-1", "modes": modes}})
    heard = made.host.next()
    assert heard.kind == GONE
    assert "plan" in heard.text


def test_a_program_without_modes_is_ready_without_one(talk):
    made = talk("acp")
    made.agent.says({"id": made.agent.hears()["id"], "result": {}})
    made.agent.says({"id": made.agent.hears()["id"], "result": {"sessionId": "g-1"}})
    assert made.host.next().facts == {"session": "g-1"}


@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_step_of_the_handshake_that_fails_is_its_end(talk, step):
    made = talk("acp")
    results: list[dict] = [{"result": {}}, {"result": {"sessionId": "g-1", "modes": MODES}}, {"result": {}}]
    results[step] = {"error": {"code": -32000, "message": "Authentication required."}}
    for result in results[: step + 1]:
        assert not made.driver.say("too early")
        made.agent.says({"id": made.agent.hears()["id"], **result})
    heard = made.host.next()
    assert heard.kind == GONE
    assert "Authentication required." in heard.text


def test_a_turn_has_words_usage_and_an_end(working):
    made = working()
    assert made.prompt["params"] == {"sessionId": "g-1", "prompt": [{"type": "text", "text": "begin"}]}
    made.agent.says(
        chunk("[MODE_UPDATE] default"),
        chunk("I "),
        chunk("look"),
        update("tool_call", kind="execute", title="ls"),
        update("agent_thought_chunk", content={"text": "hm"}),
        chunk("all done"),
        ended(made, input_tokens=200, output_tokens=20),
    )
    heard = [made.host.next() for _ in range(5)]
    assert [(one.kind, one.text) for one in heard] == [
        (OUTPUT, "I look"),
        (OUTPUT, "execute: ls"),
        (OUTPUT, "all done"),
        (USAGE, ""),
        (IDLE, "all done"),
    ]
    assert heard[3].facts == {"tokens": 220, "cost": None, "context_percent": None, "counts": "process"}
    assert heard[4].facts == {"ok": True, "error": ""}


def test_tokens_are_added_up_because_it_tells_those_of_one_turn(working):
    made = working()
    made.agent.says(ended(made, input_tokens=10, output_tokens=1))
    made.host.until(IDLE)
    made.driver.say("again")
    made.prompt = made.agent.hears()
    made.agent.says(ended(made, input_tokens=20, output_tokens=2))
    assert made.host.until(USAGE).facts["tokens"] == 33


def test_words_in_the_middle_of_a_turn_are_not_said_for_they_would_end_it(working):
    made = working()
    assert not made.driver.say("hurry")
    made.agent.says(ended(made))
    made.host.until(IDLE)
    assert made.driver.say("hurry")
    assert made.agent.hears()["params"]["prompt"][0]["text"] == "hurry"


@pytest.mark.parametrize("reason", ["cancelled", "max_tokens", "refusal", ""])
def test_an_end_that_is_no_end_of_turn_is_not_good(working, reason):
    made = working()
    made.agent.says(ended(made, reason))
    assert made.host.until(IDLE).facts == {"ok": False, "error": reason or "unknown"}


def test_an_error_ends_a_turn_and_the_next_may_begin(working):
    made = working()
    error = {"code": 429, "message": "Internal error", "data": {"details": "Rate limit exceeded."}}
    made.agent.says({"id": made.prompt["id"], "error": error})
    assert made.host.until(IDLE).facts == {"ok": False, "error": "Rate limit exceeded."}
    assert made.driver.say("again")


def test_a_yes_is_for_once_and_never_for_always(working):
    made = working()
    made.agent.says(asks(0))
    heard = made.host.next()
    assert (heard.kind, heard.text, heard.facts["tool"]) == (QUESTION, "execute: touch a", "execute")
    made.driver.answer(heard.facts["id"], allow=True)
    said = made.agent.hears()
    assert said["id"] == 0
    assert chosen(said) == {"outcome": "selected", "optionId": "proceed_once"}


def test_a_no_is_for_once_and_its_reason_is_said_with_the_next_prompt(working):
    made = working()
    made.agent.says(asks(0))
    made.driver.answer(made.host.next().facts["id"], allow=False, reason="use the other file")
    assert chosen(made.agent.hears()) == {"outcome": "selected", "optionId": "cancel"}
    made.agent.says(ended(made))
    made.host.until(IDLE)
    made.driver.say("next")
    text = made.agent.hears()["params"]["prompt"][0]["text"]
    assert "use the other file" in text
    assert text.endswith("next")


def test_who_offers_only_always_is_refused(working):
    made = working()
    made.agent.says(asks(0, options=OPTIONS[:1]))
    made.driver.answer(made.host.next().facts["id"], allow=True)
    assert chosen(made.agent.hears()) == {"outcome": "cancelled"}
    assert made.host.next().kind == TROUBLE


def test_an_interrupt_answers_open_questions_first(working):
    made = working()
    made.agent.says(asks(5))
    id = made.host.next().facts["id"]
    made.driver.interrupt()
    answer, cancel = made.agent.hears(), made.agent.hears()
    assert (answer["id"], chosen(answer)) == (5, {"outcome": "cancelled"})
    assert cancel["method"] == "session/cancel"
    assert "id" not in cancel
    heard = made.host.next()
    assert (heard.kind, heard.facts) == (WITHDRAWN, {"id": id})


def test_an_interrupt_without_a_turn_says_nothing(gemini):
    made = gemini()
    made.driver.interrupt()
    made.driver.say("begin")
    assert made.agent.hears()["method"] == "session/prompt"


@pytest.mark.parametrize("kind", ["execute", "edit", "delete", "move", ""])
def test_who_plans_is_refused_what_writes_and_nobody_is_asked(working, kind):
    made = working(mode="plan")
    made.agent.says(asks(0, kind))
    assert chosen(made.agent.hears()) == {"outcome": "selected", "optionId": "cancel"}
    assert made.host.rest() == []


@pytest.mark.parametrize(
    ("kind", "left"),
    [
        ("other", chunk("[MODE_UPDATE] default")),
        ("switch_mode", update("current_mode_update", currentModeId="default")),
    ],
)
def test_a_plan_is_a_question_and_after_a_yes_it_may_ask_to_write(working, kind, left):
    made = working(mode="plan")
    made.agent.says(asks(0, kind))
    made.driver.answer(made.host.next().facts["id"], allow=True)
    made.agent.hears()
    made.agent.says(left, asks(1, "edit"))
    assert made.host.next().facts["tool"] == "edit"


def test_who_only_says_that_the_plan_is_over_still_plans(working):
    made = working(mode="plan")
    made.agent.says(chunk("[MODE_UPDATE] yolo"), asks(1, "edit"))
    assert chosen(made.agent.hears())["optionId"] == "cancel"


@pytest.mark.parametrize("text", ["/memory show", " $x", "/tmp/x is full"])
def test_a_prompt_is_never_a_command_of_the_program(gemini, text):
    made = gemini()
    made.driver.say(text)
    said = made.agent.hears()["params"]["prompt"][0]["text"]
    assert said.lstrip()[0] not in "/$"
    assert said.endswith(text)


def test_instructions_stand_before_the_first_prompt_of_a_new_session_only(gemini):
    made = gemini(instructions="you are bob")
    made.driver.say("begin")
    made.prompt = made.agent.hears()
    assert made.prompt["params"]["prompt"][0]["text"] == "you are bob\n\nbegin"
    made.agent.says(ended(made))
    made.host.until(IDLE)
    made.driver.say("next")
    assert made.agent.hears()["params"]["prompt"][0]["text"] == "next"
    again = gemini(instructions="you are bob", resume="g-1")
    again.driver.say("go on")
    assert again.agent.hears()["params"]["prompt"][0]["text"] == "go on"


def test_files_and_terminals_of_ours_are_not_lent(working):
    made = working()
    made.agent.says({"id": 3, "method": "fs/write_text_file", "params": {"path": "/etc/x", "content": ""}})
    said = made.agent.hears()
    assert (said["id"], said["error"]["code"]) == (3, -32601)


def test_a_closed_pipe_is_its_end(working):
    made = working()
    made.agent.says_bytes(b"Debugger attached\n")
    made.agent.stops_speaking()
    assert made.host.next().kind == GONE
    assert not made.driver.say("next")


def test_a_conversation_that_began_in_this_minute_is_not_loaded_over_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    chats = tmp_path / ".gemini/tmp/project/chats"
    chats.mkdir(parents=True)
    assert not began_this_minute("0ac05ef2-e3e5")
    for ahead in (0, 60):  # the minute may end while we look
        minute = time.strftime("%Y-%m-%dT%H-%M", time.gmtime(time.time() + ahead))
        (chats / f"session-{minute}-0ac05ef2.jsonl").touch()
    assert began_this_minute("0ac05ef2-e3e5")
    assert not began_this_minute("11111111-e3e5")
    assert not began_this_minute("*")
