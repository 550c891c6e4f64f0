"""What vendors' hooks say, sample by sample; and that nothing they could say makes reading it fail."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves
from tests.vendors.names import AGY, CLAUDE, CODEX, GEMINI, OPENCODE, VENDORS

from atm.vendors.hook_call import LARGEST_PAYLOAD, LONGEST_FOLDER, LONGEST_TEXT, known_events, parse_call
from atm.vendors.moments import (
    COMPACT,
    END,
    IDLE,
    MAIL,
    MOMENTS,
    NOTICE,
    PROMPT,
    START,
    STOP,
    TASK_CREATED,
    TASK_DONE,
    TOOL,
    TURN_DONE,
    UNKNOWN,
    HookCall,
)

CORPUS = Path(__file__).parents[1] / "corpus" / "hooks"

FOLDER = "/home/ada/mill"
SESSIONS = {
    CLAUDE: "4d1f9c02-6a3e-4c55-9b0e-2f7a81c3d901",
    CODEX: "0199f1c4-77aa-7b31-8c41-9d5e6f708192",
    GEMINI: "8c2b7f64-0f3d-4a1b-9e57-61a2b3c4d5e6",
    AGY: "c0ffee00-1234-4abc-8def-0123456789ab",
    OPENCODE: "ses_7f2a9b1c0ffeQ3mXyZ",
}
NOTHING: dict[str, object] = {"session": "", "folder": ""}
SUBAGENT: dict[str, object] = {"is_subagent": True}

EXPECTED: dict[str, tuple[str, str, dict[str, object]]] = {
    "claude/session-start": ("SessionStart", START, {"reason": "startup"}),
    "claude/session-start--compact": ("SessionStart", START, {"reason": "compact"}),
    "claude/session-start--fork-of-an-agent": ("SessionStart", START, {"reason": "fork"}),
    "claude/session-start--oldest": ("SessionStart", START, {"reason": "startup", "folder": ""}),
    "claude/user-prompt-submit": ("UserPromptSubmit", PROMPT, {}),
    "claude/user-prompt-expansion": ("UserPromptExpansion", PROMPT, {}),
    "claude/pre-tool-use": ("PreToolUse", UNKNOWN, {}),
    "claude/post-tool-use": ("PostToolUse", TOOL, {}),
    "claude/post-tool-use--in-a-subagent": ("PostToolUse", TOOL, SUBAGENT),
    "claude/post-tool-use--later-unknown-fields": ("PostToolUse", TOOL, {}),
    "claude/post-tool-use--names-a-tool-that-looks-like-us": ("PostToolUse", TOOL, {}),
    "claude/post-tool-use--cut-off": ("PostToolUse", TOOL, {**NOTHING, **SUBAGENT}),
    "claude/post-tool-use-failure": ("PostToolUseFailure", TOOL, {}),
    "claude/post-tool-batch": ("PostToolBatch", TOOL, {}),
    "claude/stop": ("Stop", STOP, {}),
    "claude/stop--again": ("Stop", STOP, {}),
    "claude/stop--wrong-kinds": ("Stop", STOP, NOTHING),
    "claude/stop--control-characters": ("Stop", STOP, NOTHING),
    "claude/stop--too-long": (
        "Stop",
        STOP,
        {"session": "s" * LONGEST_TEXT, "folder": "", "task_subject": ("grind " * 200)[:LONGEST_TEXT]},
    ),
    "claude/stop--torn": ("Stop", STOP, NOTHING),
    "claude/stop--empty": ("Stop", STOP, NOTHING),
    "claude/stop--not-an-object": ("Stop", STOP, NOTHING),
    "claude/stop--byte-order-mark-and-bad-utf8": ("Stop", STOP, {}),
    "claude/stop--registered-for-another": ("PreToolUse", UNKNOWN, {}),
    "claude/stop--an-event-of-the-future": ("TeaBreak", STOP, {}),
    "claude/stop-failure": ("StopFailure", TURN_DONE, {"reason": "rate_limit"}),
    "claude/subagent-start": ("SubagentStart", START, SUBAGENT),
    "claude/subagent-stop": ("SubagentStop", STOP, SUBAGENT),
    "claude/subagent-stop--before-it-had-an-id": ("SubagentStop", STOP, {"folder": "", **SUBAGENT}),
    "claude/notification": ("Notification", NOTICE, {"reason": "permission_prompt"}),
    "claude/notification--without-a-type": ("Notification", NOTICE, {}),
    "claude/permission-request": ("PermissionRequest", NOTICE, {}),
    "claude/teammate-idle": ("TeammateIdle", IDLE, {"member": "scout", "team": "session-4d1f9c02"}),
    "claude/teammate-idle--without-the-team": ("TeammateIdle", IDLE, {"member": "scout"}),
    "claude/task-created": (
        "TaskCreated",
        TASK_CREATED,
        {"member": "fixer", "team": "session-4d1f9c02", "task_id": "7", "task_subject": "Oil the wheel"},
    ),
    "claude/task-created--by-the-lead": (
        "TaskCreated",
        TASK_CREATED,
        {"task_id": "8", "task_subject": "Count the sacks"},
    ),
    "claude/task-completed": (
        "TaskCompleted",
        TASK_DONE,
        {"member": "fixer", "team": "mill-crew", "task_id": "7", "task_subject": "Oil the wheel"},
    ),
    "claude/pre-compact": ("PreCompact", COMPACT, {"reason": "auto"}),
    "claude/session-end": ("SessionEnd", END, {"reason": "prompt_input_exit"}),
    "claude/any--one-command-for-all": ("SessionEnd", END, {"reason": "clear"}),
    "codex/session-start": ("SessionStart", START, {"reason": "startup"}),
    "codex/session-start--compact-without-transcript": ("SessionStart", START, {"reason": "compact"}),
    "codex/user-prompt-submit": ("UserPromptSubmit", PROMPT, {}),
    "codex/pre-tool-use": ("PreToolUse", UNKNOWN, {}),
    "codex/post-tool-use": ("PostToolUse", TOOL, {}),
    "codex/post-tool-use--in-a-subagent": ("PostToolUse", TOOL, SUBAGENT),
    "codex/stop": ("Stop", STOP, {}),
    "codex/stop--again-without-words": ("Stop", STOP, {}),
    "codex/stop--but-it-was-notify": ("notify", TURN_DONE, {"reason": "agent-turn-complete"}),
    "codex/permission-request": ("PermissionRequest", NOTICE, {}),
    "codex/pre-compact": ("PreCompact", COMPACT, {"reason": "manual"}),
    "codex/subagent-start": ("SubagentStart", START, SUBAGENT),
    "codex/subagent-stop": ("SubagentStop", STOP, SUBAGENT),
    "codex/session-end": ("SessionEnd", END, {"reason": "exit"}),
    "codex/interrupt": ("Interrupt", TURN_DONE, {}),
    "codex/notify": ("notify", TURN_DONE, {"reason": "agent-turn-complete"}),
    "codex/notify--at-the-start-of-a-turn": ("notify", PROMPT, {}),
    "codex/notify--before-it-had-a-thread": ("notify", TURN_DONE, {"reason": "agent-turn-complete", **NOTHING}),
    "codex/notify--of-something-new": ("notify", UNKNOWN, {}),
    "codex/notify--nothing": ("notify", TURN_DONE, NOTHING),
    "gemini/session-start": ("SessionStart", START, {"reason": "resume"}),
    "gemini/session-start--trigger": ("SessionStart", START, {"reason": "startup"}),
    "gemini/session-end": ("SessionEnd", END, {"reason": "exit"}),
    "gemini/before-agent": ("BeforeAgent", PROMPT, {}),
    "gemini/after-agent": ("AfterAgent", STOP, {}),
    "gemini/after-agent--again": ("AfterAgent", STOP, {}),
    "gemini/before-tool": ("BeforeTool", UNKNOWN, {}),
    "gemini/after-tool": ("AfterTool", TOOL, {}),
    "gemini/notification": ("Notification", NOTICE, {"reason": "ToolPermission"}),
    "gemini/pre-compress": ("PreCompress", COMPACT, {"reason": "auto"}),
    "gemini/before-model": ("BeforeModel", UNKNOWN, {}),
    "agy/session-start": ("SessionStart", START, {}),
    "agy/pre-invocation": ("PreInvocation", PROMPT, {}),
    "agy/post-invocation": ("PostInvocation", TOOL, {}),
    "agy/pre-tool-use": ("PreToolUse", UNKNOWN, {}),
    "agy/post-tool-use": ("PostToolUse", TOOL, {}),
    "agy/stop": ("Stop", STOP, {"reason": "model_stop"}),
    "agy/stop--without-a-workspace": ("Stop", STOP, {"reason": "NO_TOOL_CALL", "folder": ""}),
    "agy/before-agent--settings-of-its-predecessor": ("BeforeAgent", PROMPT, {}),
    "opencode/session.created": ("session.created", START, {"url": "http://127.0.0.1:4096"}),
    "opencode/session.created--of-a-child": ("session.created", START, SUBAGENT),
    "opencode/session.compacted": ("session.compacted", START, {}),
    "opencode/chat.message": ("chat.message", PROMPT, {}),
    "opencode/tool.execute.after": ("tool.execute.after", TOOL, {}),
    "opencode/session.idle": ("session.idle", TURN_DONE, {"url": "http://127.0.0.1:4096"}),
    "opencode/session.idle--other-spellings": ("session.idle", TURN_DONE, {}),
    "opencode/session-idle--only-on-the-command-line": ("session.idle", TURN_DONE, {}),
    "opencode/mail.waiting": ("mail.waiting", MAIL, {}),
    "opencode/permission.asked": ("permission.asked", NOTICE, {}),
    "opencode/session.deleted": ("session.deleted", END, {}),
    "opencode/session.updated": ("session.updated", UNKNOWN, {}),
}
"""Each sample: the event in the vendor's spelling, its moment, and what else differs from the usual."""


def facts(call: HookCall) -> dict[str, object]:
    return {name: getattr(call, name) for name in HookCall.__slots__}


def sample(name: str) -> tuple[str, str, bytes]:
    """What stands on the command line, and the payload."""
    vendor, file = name.split("/")
    return vendor, file.split("--")[0], (CORPUS / vendor / f"{file}.json").read_bytes()


def call_of(vendor: str, event: str, /, **fields: object) -> HookCall:
    return parse_call(vendor, event, json.dumps(fields).encode())


class TestTheCorpus:
    def test_every_sample_is_expected_and_described(self):
        found = {f"{path.parent.name}/{path.name.removesuffix('.json')}" for path in CORPUS.glob("*/*.json")}
        assert found == set(EXPECTED)
        assert len(found) >= 40
        readme = (CORPUS / "README.md").read_text(encoding="utf-8")
        words = readme.replace("|", " ").replace(",", " ").split()
        assert sorted(name for name in found if name.split("/")[1] not in words) == []

    @proves("R002-21-57", "R002-21-66")
    @pytest.mark.parametrize("name", sorted(EXPECTED))
    def test_it_is_read_as_expected(self, name):
        vendor, event, data = sample(name)
        spelled, moment, more = EXPECTED[name]
        usual: dict[str, object] = {
            "vendor": vendor,
            "event": spelled,
            "moment": moment,
            "session": SESSIONS[vendor],
            "folder": FOLDER,
            "member": "",
            "team": "",
            "reason": "",
            "task_id": "",
            "task_subject": "",
            "url": "",
            "is_subagent": False,
            "has_agent_type": b"agent_type" in data,
            "wakes_itself": b'"wakes": true' in data,
        }
        assert facts(parse_call(vendor, event, data)) == {**usual, **more}

    @pytest.mark.parametrize("name", sorted(name for name in EXPECTED if name.startswith("agy/")))
    def test_antigravity_is_recognised_when_it_is_called_gemini(self, name):
        _, event, data = sample(name)
        assert facts(parse_call(GEMINI, event, data)) == facts(parse_call(AGY, event, data))

    @pytest.mark.parametrize("name", sorted(name for name in EXPECTED if name.startswith("gemini/")))
    def test_gemini_is_recognised_when_it_is_called_antigravity(self, name):
        _, event, data = sample(name)
        assert facts(parse_call("antigravity", event, data)) == facts(parse_call(GEMINI, event, data))

    @pytest.mark.parametrize("name", sorted(EXPECTED))
    def test_it_may_be_torn_anywhere(self, name):
        vendor, event, data = sample(name)
        for end in range(0, len(data), 7):
            torn = parse_call(vendor, event, data[:end])
            assert torn.moment in MOMENTS


class TestEvents:
    @pytest.mark.parametrize(
        "spelling",
        [
            "SessionStart",
            "sessionstart",
            "session-start",
            "session_start",
            "SESSION-START",
            "Session Start",
            "session.start",
        ],
    )
    def test_an_event_is_known_however_it_is_spelled(self, spelling):
        assert parse_call(CLAUDE, spelling, b"").event == "SessionStart"
        assert call_of(CLAUDE, "", hook_event_name=spelling).event == "SessionStart"

    @pytest.mark.parametrize("vendor", [*VENDORS, AGY])
    def test_every_known_event_has_a_moment_without_any_payload(self, vendor):
        assert known_events(vendor)
        for event in known_events(vendor):
            call = parse_call(vendor, event, b"")
            assert (call.vendor, call.event) == (vendor, event)
            assert call.moment not in ("", UNKNOWN)
            assert call.moment in MOMENTS

    def test_nobody_else_has_events(self):
        assert known_events("emacs") == ()
        assert parse_call("emacs", "SessionStart", b"{}").moment == UNKNOWN

    def test_an_unknown_event_keeps_its_name_for_people(self):
        call = parse_call(CLAUDE, "TeaBreak", b"{}")
        assert (call.event, call.moment) == ("TeaBreak", UNKNOWN)

    def test_the_payload_knows_better_than_the_command_line(self):
        assert call_of(CLAUDE, "Stop", hook_event_name="PostToolUse").moment == TOOL
        assert call_of(OPENCODE, "session.idle", event="session.deleted").moment == END

    @pytest.mark.parametrize("named", [None, 7, "", [], {"name": "Stop"}, "Stop\n\x1b[0m"])
    def test_a_name_that_is_none_leaves_it_to_the_command_line(self, named):
        call = call_of(CLAUDE, "PostToolUse", hook_event_name=named)
        assert (call.event, call.moment) == ("PostToolUse", TOOL)

    def test_an_event_that_nobody_knows_is_never_given_a_name_that_could_be_answered(self):
        call = call_of(CLAUDE, "PostToolUse", hook_event_name="PostToolDream")
        assert (call.event, call.moment) == ("PostToolDream", TOOL)

    def test_events_belong_to_their_vendor(self):
        assert parse_call(CODEX, "TeammateIdle", b"{}").moment == UNKNOWN
        assert parse_call(CLAUDE, "notify", b"{}").moment == UNKNOWN
        assert parse_call(GEMINI, "UserPromptSubmit", b"{}").moment == UNKNOWN

    @pytest.mark.parametrize("event", ["PreInvocation", "Stop", "post-tool-use"])
    def test_events_that_only_antigravity_has_tell_it_without_a_payload(self, event):
        assert parse_call(GEMINI, event, b"").vendor == AGY

    def test_a_vendor_may_be_written_in_capitals(self):
        assert parse_call("Claude", "Stop", b"{}").vendor == CLAUDE

    def test_a_field_called_type_means_nothing_to_other_hooks(self):
        assert call_of(CLAUDE, "Stop", type="agent-turn-complete").moment == STOP
        assert call_of(CODEX, "Stop", type="whatever").moment == STOP


class TestSubagents:
    @pytest.mark.parametrize("value", ["", None, False, 0, [], {}])
    def test_an_empty_mark_marks_nobody(self, value):
        assert not call_of(CLAUDE, "PostToolUse", agent_id=value).is_subagent

    @pytest.mark.parametrize("value", ["a1", 7, True, {"id": 1}, "\x1b"])
    def test_a_mark_that_we_cannot_read_is_a_mark(self, value):
        assert call_of(CLAUDE, "PostToolUse", agent_id=value).is_subagent

    @pytest.mark.parametrize(
        "data", [b"{", b"garbage", b"[]", b'{"session_id": "s", "tool_respo', b"x" * (LARGEST_PAYLOAD + 1)]
    )
    def test_who_cannot_be_told_from_one_counts_as_one(self, data):
        assert parse_call(CLAUDE, "PostToolUse", data).is_subagent
        assert parse_call(CODEX, "UserPromptSubmit", data).is_subagent
        for vendor, event in ((CLAUDE, "Stop"), (CLAUDE, "SessionStart"), (CODEX, "notify"), (GEMINI, "AfterTool")):
            assert not parse_call(vendor, event, data).is_subagent

    @pytest.mark.parametrize("data", [b"", b" \n", b"{}"])
    def test_who_says_nothing_is_none(self, data):
        assert not parse_call(CLAUDE, "PostToolUse", data).is_subagent

    def test_an_agent_that_the_user_started_by_name_is_none(self):
        assert not call_of(CLAUDE, "PostToolUse", agent_type="reviewer").is_subagent


class TestUntrustedTexts:
    @pytest.mark.parametrize(
        "text",
        [
            "a\nb",
            "a\x1b[31mb",
            "\x00",
            "a\x7f",
            "a\x85b",
            "a\x9b31m",
            "a\u2028b",
            "a\u2029b",
            "a\ud800b",
            "\udcff",
            "\r",
        ],
    )
    def test_a_field_with_control_characters_is_dropped(self, text):
        call = call_of(
            CLAUDE,
            "TaskCreated",
            session_id=text,
            cwd=text,
            teammate_name=text,
            team_name=text,
            task_id=text,
            task_subject=text,
        )
        assert [call.session, call.folder, call.member, call.team, call.task_id, call.task_subject] == [""] * 6

    @pytest.mark.parametrize(
        "text", ["/home/zoë/Müller 工房", "C:\\Users\\ada", "/p/👩\u200d🔧", "/a b/'\"$(x)", "\ufdd0"]
    )
    def test_any_other_text_stays_as_it_is(self, text):
        assert call_of(CLAUDE, "Stop", cwd=text, session_id=text).folder == text

    def test_long_texts_are_cut_and_long_paths_dropped(self):
        call = call_of(CLAUDE, "TeammateIdle", teammate_name="m" * 9999, cwd="/" + "d" * (LONGEST_FOLDER - 1))
        assert len(call.member) == LONGEST_TEXT
        assert len(call.folder) == LONGEST_FOLDER
        assert call_of(CLAUDE, "Stop", cwd="/" + "d" * LONGEST_FOLDER).folder == ""

    @pytest.mark.parametrize(
        ("task_id", "text"),
        [(7, "7"), ("7", "7"), (True, ""), (-1, ""), (1.5, ""), (10**30, ""), (None, ""), ([7], "")],
    )
    def test_a_number_may_be_a_task(self, task_id, text):
        assert call_of(CLAUDE, "TaskCreated", task_id=task_id).task_id == text

    def test_the_event_and_the_vendor_of_the_command_line_are_bounded_too(self):
        call = parse_call("v" * 9999, "e" * 9999, b"{}")
        assert (len(call.vendor), len(call.event)) == (LONGEST_TEXT, LONGEST_TEXT)
        assert parse_call("x\x1b", "Stop\n", b"{}").event == ""

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b" \n",
            b"null",
            b"0",
            b'"Stop"',
            b"[]",
            b"{",
            b"}",
            b"\x00" * 100,
            b"\xff\xfe{\x00}\x00",
            b"{'session_id': 's'}",
            b'{"session_id": "s"} trailing',
            b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
            b'{"a":' * 100_000,
            b'{"a": ' + b"9" * 10_000 + b"}",
            b'{"a": 1e999999, "b": -Infinity, "c": NaN}',
            b'{"session_id": "s", "session_id": 7}',
        ],
        ids=lambda data: repr(data[:20]),
    )
    def test_garbage_leaves_the_moment_of_the_command_line(self, data):
        call = parse_call(CLAUDE, "Stop", data)
        assert (call.event, call.moment, call.session) == ("Stop", STOP, "")

    def test_a_payload_beyond_all_measure_is_not_even_read(self):
        whole = b'{"session_id": "s", "tool_response": "%s"}'
        assert parse_call(CLAUDE, "Stop", whole % (b"x" * 1_000_000)).session == "s"
        assert parse_call(CLAUDE, "Stop", whole % (b"x" * LARGEST_PAYLOAD)).session == ""

    @given(st.text(max_size=20), st.text(max_size=20), st.binary(max_size=200))
    def test_no_bytes_make_it_fail(self, vendor, event, data):
        assert parse_call(vendor, event, data).moment in MOMENTS

    @given(
        st.sampled_from([*VENDORS, AGY]),
        st.sampled_from(["Stop", "notify", "BeforeAgent", "session.idle", "PreInvocation", "?"]),
        st.dictionaries(
            st.sampled_from(
                [
                    *("hook_event_name", "event", "type", "session_id", "thread-id", "conversationId", "sessionID"),
                    *("cwd", "directory", "workspacePaths", "agent_id", "parentID", "stop_hook_active", "source"),
                    *("reason", "trigger", "error", "notification_type", "teammate_name", "team_name", "task_id"),
                    *("task_subject", "serverUrl", "terminationReason"),
                ]
            ),
            st.recursive(
                st.none()
                | st.booleans()
                | st.integers()
                | st.floats()
                | st.text()
                | st.sampled_from(["Stop", "notify"]),
                lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
                max_leaves=5,
            ),
        ),
    )
    def test_no_payload_makes_it_fail_or_leaves_a_text_that_could_harm(self, vendor, event, fields):
        data = json.dumps(fields).encode()
        call = parse_call(vendor, event, data)
        assert call.moment in MOMENTS
        for name, value in facts(call).items():
            if name.startswith(("is_", "has_", "wakes_")):
                assert isinstance(value, bool)
                continue
            assert isinstance(value, str)
            assert len(value) <= (LONGEST_FOLDER if name == "folder" else LONGEST_TEXT)
            assert not [c for c in value if c < " " or "\x7f" <= c <= "\x9f"]
            value.encode()


class TestUrls:
    @pytest.mark.parametrize("url", ["http://127.0.0.1:4096", "https://[::1]:1/"])
    def test_the_plugin_may_say_where_its_server_is(self, url):
        assert call_of(OPENCODE, "session.created", serverUrl=url).url == url

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "file:///etc/passwd",
            "javascript:x",
            "http:/\n/x",
            "http://\x1b",
            "http://" + "h" * 512,
            4096,
            ["http://x"],
            None,
        ],
    )
    def test_what_is_no_address_is_none(self, url):
        assert call_of(OPENCODE, "session.created", serverUrl=url).url == ""

    def test_nobody_else_has_a_server(self):
        assert call_of(CLAUDE, "SessionStart", serverUrl="http://127.0.0.1:4096").url == ""


def test_reading_and_answering_a_hook_loads_next_to_nothing():
    probe = (
        "import sys; before = set(sys.modules)\n"
        "import atm.vendors.hook_answer, atm.vendors.hook_call\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    source = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {source!r})\n{probe}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    vendors = ("at_a_glance", "hook_answer", "hook_call", "hooks", "known", "moments", "vendor")
    ours = {"atm", "atm.files", "atm.files.formats", "atm.files.formats.json_record", "atm.vendors"}
    assert set(done.stdout.split()) - ours <= {"__future__", "_json", *(f"atm.vendors.{name}" for name in vendors)}
