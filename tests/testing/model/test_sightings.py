"""What a model saw: where, in whose words, in which frame, how often."""

from __future__ import annotations

import json
import threading

import pytest
from tests.testing.model.conftest import Caller, ask

from atm.testing.model import ScriptedModel, seen_by
from atm.testing.model.sightings import frame_at


def test_a_sighting_says_where_the_text_stands(caller):
    caller("begin", "working", "<teammate-message from='ann'>the tests fail</teammate-message>")
    sighting = seen_by(caller.model, "bob").once("the tests fail")
    assert (sighting.role, sighting.kind) == ("user", "text")
    assert sighting.frame == ("teammate-message",)
    assert sighting.is_last
    assert sighting.request.number == 1
    assert sighting.request.dialect == caller.dialect


def test_a_text_that_stays_in_the_conversation_was_seen_once(caller):
    caller("letter-1")
    caller("letter-1", "thanks", "go on")
    sighting = seen_by(caller.model, "bob").once("letter-1")
    assert sighting.request.number == 1


def test_a_text_that_stands_twice_in_one_request_was_not_seen_once(caller):
    caller("letter-1", "thanks", "letter-1")
    with pytest.raises(AssertionError, match="saw 'letter-1' more than once:\n  request 1, message"):
        seen_by(caller.model, "bob").once("letter-1")


def test_a_text_that_was_not_seen(caller):
    caller("begin", "my own letter-1", "go on")
    seen = seen_by(caller.model, "bob")
    seen.never("letter-1")
    with pytest.raises(AssertionError, match="bob never saw 'letter-1' in 1 requests"):
        seen.once("letter-1")
    with pytest.raises(AssertionError, match="bob saw 'begin'"):
        seen.never("begin")
    assert seen.all("letter-1") == []


def test_another_agents_requests_and_those_beside_the_conversation_do_not_count(model):
    Caller(model, "gemini", "ann")("letter-1")
    Caller(model, "gemini")("letter-1", tools=False)
    assert seen_by(model, "bob").all("letter-1") == []
    assert len(seen_by(model, "ann").all("letter-1")) == 1


def test_what_comes_later_is_waited_for(model):
    late = threading.Timer(0.2, lambda: Caller(model, "openai-chat")("letter-1"))
    late.start()
    sighting = seen_by(model, "bob").eventually("letter-1", within=20)
    late.join()
    assert sighting.position == 0
    assert seen_by(model, "bob").asks(1) is sighting.request
    with pytest.raises(AssertionError, match="did not see 'letter-2' within"):
        seen_by(model, "bob").eventually("letter-2", within=0.05)
    with pytest.raises(AssertionError, match="made 1 requests and not 2"):
        seen_by(model, "bob").asks(2, within=0.05)


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("HERE", ()),
        ("<a>HERE</a>", ("a",)),
        ('<a x="1"><b>HERE</b></a>', ("a", "b")),
        ("<a>over</a> HERE", ()),
        ("<a><b></a>HERE</b>", ()),
        ("a list<int> HERE", ()),
        ("&lt;a from='x'&gt;HERE&lt;/a&gt;", ("a",)),
        ("<a>HERE", ()),
    ],
)
def test_a_frame_is_what_is_open_before_and_closed_behind(text, frame):
    assert frame_at(text, text.index("HERE")) == frame


RESULTS = [
    (
        "/v1/messages",
        {
            "system": "be good",
            "tools": [{"name": "Bash"}],
            "messages": [
                {"role": "user", "content": "begin"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm"},
                        {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "a.txt"}]},
                        {"type": "image", "source": {}},
                    ],
                },
            ],
        },
        [
            *[("system", "text", "be good", 0, 0), ("user", "text", "begin", 1, 0)],
            *[("assistant", "thinking", "hm", 2, 0), ("assistant", "call", "Bash ls", 2, 1)],
            *[("user", "result", "a.txt", 3, 0), ("user", "image", "", 3, 1)],
        ],
    ),
    (
        "/v1/responses",
        {
            "instructions": "be good",
            "tools": [{"type": "namespace", "name": "mcp__atm", "tools": [{"name": "Bash"}]}, {"type": "web_search"}],
            "input": [
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "begin"}]},
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
                {"type": "function_call", "name": "Bash", "arguments": '{"command": "ls"}'},
                {"type": "function_call_output", "call_id": "1", "output": "a.txt"},
            ],
        },
        [
            *[("system", "text", "be good", 0, 0), ("developer", "text", "begin", 1, 0)],
            *[("assistant", "reasoning", "hm", 2, 0), ("assistant", "call", 'Bash {"command": "ls"}', 3, 0)],
            ("tool", "result", "a.txt", 4, 0),
        ],
    ),
    (
        "/v1/chat/completions",
        {
            "tools": [{"type": "function", "function": {"name": "Bash"}}],
            "messages": [
                {"role": "system", "content": "be good"},
                {"role": "user", "content": [{"type": "text", "text": "begin"}, {"type": "image_url"}]},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"function": {"name": "Bash", "arguments": "{}"}}],
                },
                {"role": "tool", "tool_call_id": "1", "content": "a.txt"},
            ],
        },
        [
            *[("system", "text", "be good", 0, 0), ("user", "text", "begin", 1, 0), ("user", "image_url", "", 1, 1)],
            *[("assistant", "call", "Bash {}", 2, 0), ("tool", "result", "a.txt", 3, 0)],
        ],
    ),
    (
        "/v1beta/models/scripted:generateContent",
        {
            "systemInstruction": {"parts": [{"text": "be good"}]},
            "tools": [{"functionDeclarations": [{"name": "Bash"}]}],
            "contents": [
                {"role": "user", "parts": [{"text": "begin"}, {"inlineData": {}}]},
                {"role": "model", "parts": [{"text": "hm", "thought": True}, {"functionCall": {"name": "Bash"}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "Bash", "response": {"output": "a.txt"}}}]},
            ],
        },
        [
            *[("system", "text", "be good", 0, 0), ("user", "text", "begin", 1, 0), ("user", "inlineData", "", 1, 1)],
            *[("assistant", "thinking", "hm", 2, 0), ("assistant", "call", "Bash ", 2, 1)],
            ("user", "result", "a.txt", 3, 0),
        ],
    ),
]


@pytest.mark.parametrize(("path", "body", "pieces"), RESULTS, ids=[path for path, _, _ in RESULTS])
def test_a_conversation_is_read_into_pieces(model, path, body, pieces):
    assert ask(model, f"/agent/bob{path}", body).status == 200
    (request,) = model.requests
    assert [tuple(piece) for piece in request.said.pieces] == pieces
    assert request.said.offers[0].endswith("Bash")
    assert [piece.kind for piece in request.news][:1] == ["result"]


def test_what_was_asked_and_answered_is_kept_as_evidence(tmp_path):
    with ScriptedModel(evidence=tmp_path / "seen.jsonl") as model:
        model.story("bob").first().says("hello").runs("Bash", command="ls")
        model.story("ann").first().fails(500)
        Caller(model, "anthropic")("begin")
        Caller(model, "anthropic", "ann")("begin")
    first, second = map(json.loads, (tmp_path / "seen.jsonl").read_text().splitlines())
    assert (first["agent"], first["dialect"], first["answer"]) == (
        "bob",
        "anthropic",
        '\'hello\' + Bash({"command": "ls"})',
    )
    assert first["pieces"] == [{"role": "user", "kind": "text", "text": "begin", "position": 1, "part": 0}]
    assert second["answer"] == "fails: 500 scripted"
    assert first["wall"] > 1e9
    assert second["at"] >= first["at"]
