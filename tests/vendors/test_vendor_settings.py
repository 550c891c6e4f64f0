"""Our hooks in other programs' settings: put in, put right, taken out, and everything else to the letter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chaos import LONG

from atm.files.formats.json_pieces import BYTE_ORDER_MARK
from atm.vendors.codex.notify import has_hook_tables, has_other_notify, notify_program, with_notify, without_notify
from atm.vendors.known import hooks_of
from atm.vendors.settings import compare
from atm.vendors.settings_files import entries_for, hook_command, our_command
from atm.vendors.settings_hooks import (
    NAMED,
    NotEditable,
    holds_nothing,
    hooks_in,
    is_blank,
    switched_off,
    with_hooks,
    without_hooks,
)

ATM = ("atm",)
MOVED = ("/opt/my tools/atm",)
CLAUDE = entries_for("claude", ATM)
THEIRS = {"matcher": "Bash", "hooks": [{"type": "command", "command": "./lint.sh --hook claude Stop"}]}

FILES = {
    "an empty object": "{}",
    "an empty object and a line break": "{}\n",
    "an empty object with space in it": "{ \t }\n",
    "an empty object over lines": "{\n\n}\n",
    "one line": '{"model":"opus","env":{"A":"1"}}',
    "one line with a line break": '{ "model": "opus" }\n',
    "two spaces": '{\n  "model": "opus",\n  "permissions": {\n    "allow": ["Bash(ls)"]\n  }\n}\n',
    "four spaces": '{\n    "model": "opus"\n}\n',
    "tabs": '{\n\t"model": "opus",\n\t"list": [\n\t\t1\n\t]\n}',
    "no indentation": '{\n"model": "opus",\n"x": 1\n}\n',
    "odd indentation": '{\n   "a": 1,\n "b" : 2 ,\n\n\n        "c":3\n  }  \n\n',
    "CRLF": '{\r\n  "model": "opus",\r\n  "x": {}\r\n}\r\n',
    "a byte order mark": '\ufeff{\n  "model": "opus"\n}\n',
    "no line break at the end": '{\n  "model": "opus"\n}',
    "space before and after": '  \n{\n  "model": "opus"\n}\n \n',
    "other alphabets": '{\n  "größe": "日本語 🦀",\n  "esc": "\\u00e9\\ud83d\\n"\n}\n',
    "numbers as they are": '{\n  "a": 1.10,\n  "b": 1e5,\n  "c": 123456789012345678901234567890\n}\n',
    "no hooks yet": '{\n  "hooks": {}\n}\n',
    "no hooks yet, over lines": '{\n  "hooks": {\n  },\n  "z": 1\n}\n',
    "no hooks yet, one line": '{"hooks":{ },"z":1}',
    "an event without groups": '{\n  "hooks": {\n    "Stop": [],\n    "SessionStart": [ ]\n  }\n}\n',
    "an event without groups over lines": '{"hooks": {"Stop": [\n\n]}}',
    "somebody's hook": json.dumps({"hooks": {"PreToolUse": [THEIRS]}}, indent=2) + "\n",
    "somebody's hook in the same event": json.dumps({"hooks": {"Stop": [THEIRS], "PreToolUse": []}}, indent=4),
    "somebody's hooks on one line": json.dumps({"hooks": {"Stop": [THEIRS, THEIRS]}, "z": None}),
    "as the manual writes it": '{\n  "hooks": {\n    "Stop": [{\n      "hooks": [{"type": "command", "command": "x"}]\n'
    "    }]\n  }\n}\n",
    "a key twice": '{\n  "a": 1,\n  "a": 2,\n  "hooks": {"Stop": [1], "Stop": []}\n}\n',
    "hooks twice": '{"hooks": {"Stop": []}, "hooks": {"Stop": [{}]}}',
    "groups that are none": '{"hooks": {"Stop": [1, "two", null, {}, {"hooks": 3}, {"hooks": [4, {"command": 5}]}]}}',
    "keys that are no events": '{"hooks": {"enabled": true, "disabled": ["x"], "notifications": null}}',
    "hooks is not the last key": '{\n  "hooks": {\n    "Stop": [\n      {"hooks": []}\n    ]\n  },\n  "a": "b"\n}\n',
    "deep": '{"deep": ' + "[" * 200 + "]" * 200 + "}",
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
@pytest.mark.parametrize("vendor", ["claude", "codex", "gemini"])
def test_what_is_put_in_comes_out_again_to_the_letter(text, vendor):
    entries = entries_for(vendor, ATM)
    once = with_hooks(text, entries)
    assert without_hooks(once) == text
    assert with_hooks(once, entries) == once
    assert without_hooks(text) == text


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_everything_else_says_the_same_in_the_same_order(text):
    before, after = json.loads(text.lstrip("\ufeff")), json.loads(with_hooks(text, CLAUDE).lstrip("\ufeff"))
    assert [key for key in after if key != "hooks"] == [key for key in before if key != "hooks"]
    assert {**after, "hooks": 0} == {**before, "hooks": 0}
    for event, groups in before.get("hooks", {}).items():
        there = after["hooks"][event]
        assert (there[: len(groups)] if isinstance(groups, list) else there) == groups


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_every_event_has_our_hook_once_with_a_short_timeout(text):
    hooks = json.loads(with_hooks(text, CLAUDE).lstrip("\ufeff"))["hooks"]
    for event in hooks_of("claude").entered:
        ours = [group for group in hooks[event] if _says(group, f"atm hook claude {event}")]
        assert ours == [{"hooks": [{"type": "command", "command": f"atm hook claude {event}", "timeout": 5}]}]


def _says(group: Any, command: str) -> bool:
    return isinstance(group, dict) and command in json.dumps(group)


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_a_program_that_moved_is_put_right_and_not_entered_twice(text):
    before = with_hooks(text, CLAUDE)
    entries = entries_for("claude", MOVED)
    after = with_hooks(before, entries)
    assert compare(CLAUDE, hooks_in(after), ATM, "claude").outdated == hooks_of("claude").entered
    assert compare(entries, hooks_in(after), MOVED, "claude").state == "installed"
    assert len(hooks_in(after)) == len(CLAUDE)
    assert without_hooks(after) == text


def test_line_breaks_and_indentation_are_those_of_the_file():
    crlf = with_hooks(FILES["CRLF"], CLAUDE)
    assert "\n" not in crlf.replace("\r\n", "")
    tabs = with_hooks(FILES["tabs"], CLAUDE)
    assert '\n\t"hooks": {\n\t\t"SessionStart": [\n\t\t\t{\n\t\t\t\t"hooks"' in tabs
    assert with_hooks(FILES["one line"], CLAUDE).count("\n") == 0


def test_gemini_counts_in_milliseconds():
    found = json.loads(with_hooks("", entries_for("gemini", ATM)))["hooks"]["AfterTool"]
    assert found == [{"hooks": [{"type": "command", "command": "atm hook gemini AfterTool", "timeout": 5000}]}]


@pytest.mark.parametrize("text", ["", " \n", "\ufeff", "\ufeff\r\n"])
def test_a_file_with_nothing_in_it_becomes_a_whole_one(text):
    made = with_hooks(text, CLAUDE)
    assert made.startswith('{\n  "hooks": {\n')
    assert made.endswith("}\n")
    assert is_blank(text)
    assert holds_nothing(without_hooks(made))
    assert without_hooks(text) == text


# Attacks.

REFUSED = {
    "a list": ("[1, 2]", "not an object"),
    "a text": ('"x"', "not an object"),
    "null": ("null", "not an object"),
    "half an object": ('{"a": ', "not JSON"),
    "a comma too many": ('{"a": 1,}', "not JSON"),
    "two objects": ('{"a": 1} {"b": 2}', "not JSON"),
    "a comment on its own line": ('{\n  // mine\n  "a": 1\n}', "comments"),
    "a comment after a value": ('{\n  "a": 1, // mine\n  "b": 2\n}', "comments"),
    "a long comment": ('{\n  "a": 1 /* mine */\n}', "comments"),
    "another encoding": ("{\x00}\x00", "not JSON"),
    "hooks that are null": ('{"hooks": null}', "'hooks' is not an object"),
    "hooks that are a list": ('{"hooks": []}', "'hooks' is not an object"),
    "hooks that are a text": ('{"hooks": "x"}', "'hooks' is not an object"),
    "an event that is null": ('{"hooks": {"Stop": null}}', "'hooks.Stop' is not a list"),
    "an event that is an object": ('{"hooks": {"Stop": {}}}', "'hooks.Stop' is not a list"),
    "a bottomless pit": ('{"a": ' + "[" * 200_000, "not JSON"),
    "depth": ('{"a": ' + "[" * 200_000 + "]" * 200_000 + "}", "not JSON"),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_what_we_do_not_understand_is_refused_with_a_reason(text, reason):
    with pytest.raises(NotEditable, match=reason):
        with_hooks(text, CLAUDE)


def test_an_address_in_a_text_is_no_comment():
    assert without_hooks(with_hooks('{"url": "https://x/*/y"}', CLAUDE)) == '{"url": "https://x/*/y"}'


def test_five_megabytes_are_no_trouble():
    rows = ",\n".join(f'    "Bash(command number {i}:*)"' for i in range(160_000))
    text = f'{{\n  "permissions": [\n{rows}\n  ],\n  "hooks": {{}}\n}}\n'
    assert len(text) > 5_000_000
    assert without_hooks(with_hooks(text, CLAUDE)) == text


def test_a_thousand_hooks_of_others_are_no_trouble():
    groups = [{"hooks": [{"type": "command", "command": f"hook {'A=1 ' * 400}{i}"}]} for i in range(1000)]
    text = json.dumps({"hooks": {f"Event{i}": groups[i : i + 1] for i in range(1000)}}, indent=1)
    assert without_hooks(with_hooks(text, CLAUDE)) == text


def test_our_hook_that_somebody_moved_into_a_group_of_theirs_is_found_and_taken_out_alone():
    theirs = {"type": "command", "command": "make lint"}
    ours = {"type": "command", "command": "/usr/bin/atm hook claude Stop", "timeout": 60}
    text = json.dumps({"hooks": {"Stop": [{"matcher": "x", "hooks": [theirs, ours, theirs]}]}}, indent=2)
    stop = [entry for entry in CLAUDE if entry.event == "Stop"]
    after = json.loads(with_hooks(text, stop))
    assert after["hooks"]["Stop"][0]["hooks"][1] == {**ours, "command": "atm hook claude Stop"}
    assert json.loads(without_hooks(text)) == {"hooks": {"Stop": [{"matcher": "x", "hooks": [theirs, theirs]}]}}


def test_our_hook_twice_becomes_our_hook_once():
    group = {"hooks": [{"type": "command", "command": "atm hook claude Stop"}]}
    text = json.dumps({"hooks": {"Stop": [group, THEIRS, group]}}, indent=2)
    stop = json.loads(with_hooks(text, CLAUDE))["hooks"]["Stop"]
    assert stop[0] == THEIRS
    assert len(stop) == 2


def test_variables_and_what_follows_stay_when_the_program_is_put_right():
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"command": "ATM_TEAM=x /old/atm hook claude Stop || true"}]}]}})
    after = json.loads(with_hooks(text, [entry for entry in CLAUDE if entry.event == "Stop"]))
    assert after["hooks"]["Stop"] == [{"hooks": [{"command": "ATM_TEAM=x atm hook claude Stop || true"}]}]


def test_a_file_that_its_program_wrote_anew_loses_our_hooks_and_nothing_else():
    """Claude Code writes its settings anew when one is changed in its dialogs: our layout is gone then."""
    start = {"model": "opus", "hooks": {"PreToolUse": [THEIRS]}}
    rewritten = json.dumps(json.loads(with_hooks(json.dumps(start), CLAUDE)), indent=2)
    assert json.loads(without_hooks(rewritten)) == start


@pytest.mark.parametrize(
    "command",
    [
        "atm hook claude Stop",
        "  atm   hook  claude   Stop ",
        "/usr/local/bin/atm hook codex notify",
        '"C:/Program Files/atm/atm.exe" hook claude Stop',
        "/venv/bin/python3 -m atm hook gemini AfterTool",
        "A=1 B= atm hook opencode session",
        "atm hook agy Stop || exit 0",
    ],
)
def test_a_command_of_ours_is_known(command):
    assert our_command(command) is not None


@pytest.mark.parametrize(
    "command",
    [
        *("", "hook", "atm", "atm hook", "atm hook claude", "atm hook emacs Stop", "matm hook claude Stop"),
        *("echo atm hook claude Stop", "/usr/bin/atm/x hook claude Stop", "atm hook claude Stop;rm -rf x"),
        *("'atm hook claude Stop", "sh -c 'atm hook claude Stop'", "atm " * 600 + "hook claude Stop"),
        *(None, 5, ["atm", "hook", "claude", "Stop"]),
    ],
)
def test_a_command_of_somebody_else_is_left_to_them(command):
    assert our_command(command) is None


@given(st.text(min_size=1, max_size=60).filter(lambda text: "\x00" not in text and "\n" not in text))
def test_any_path_of_the_program_survives_its_quotes(folder):
    program = (f"/{folder}/atm",)
    found = our_command(hook_command(program, "claude", "Stop"))
    assert found is not None
    assert found.program == program


def test_a_key_that_switches_all_hooks_off_is_seen():
    assert switched_off('{"disableAllHooks": true}') == "disableAllHooks"
    assert switched_off('{"hooksConfig": {"enabled": false}}') == "hooksConfig.enabled"
    assert switched_off('{"disableAllHooks": false, "hooksConfig": []}') == switched_off("") == ""


# Antigravity CLI, whose hooks have names.

AGY = entries_for("agy", ATM)
LINT = {"type": "command", "command": "./lint.sh || atm hook agy Stop"}
NAMED_FILES = {
    "an empty object": "{}",
    "an empty object with space in it": "{ \t }\n",
    "somebody's hook": json.dumps({"lint": {"Stop": [LINT], "enabled": False}}, indent=2) + "\n",
    "somebody's hook on one line": json.dumps({"lint": {"Stop": [LINT, LINT]}}),
    "two of them with tabs": json.dumps({"lint": {"PreInvocation": [LINT]}, "z": {}}, indent="\t"),
    "tools, in groups": json.dumps({"gate": {"PreToolUse": [THEIRS], "PostToolUse": [THEIRS, {}]}}, indent=4),
    "as its manual writes it": '{\n  "note": {\n    "PreInvocation": [\n      {"command": "./r.sh"}\n    ]\n  }\n}\n',
    "CRLF": '{\r\n  "lint": {\r\n    "Stop": []\r\n  }\r\n}\r\n',
    "a byte order mark": '\ufeff{\n  "lint": {}\n}\n',
    "our name, empty": '{\n  "atm": {}\n}\n',
    "our name, over lines": '{"atm": {\n\n}}',
    "our name, switched off": '{\n  "atm": {\n    "enabled": false\n  }\n}\n',
    "our name, with somebody's hook": json.dumps({"atm": {"Stop": [LINT], "PreToolUse": [THEIRS]}, "b": {}}, indent=2),
    "our name, an event without hooks": '{"atm": {"Stop": [], "PreInvocation": [ ]}, "b": {"Stop": []}}',
    "a name like that of the others' key": '{"hooks": {"Stop": [{"hooks": []}, 1, "two", null, {"command": 5}]}}',
    "a name twice": '{"lint": {"Stop": []}, "lint": {"Stop": [{}]}}',
    "events that are none": '{"lint": {"Stop": null, "description": "x", "SessionEnd": [1]}}',
}


@pytest.mark.parametrize("text", NAMED_FILES.values(), ids=NAMED_FILES.keys())
def test_named_hooks_come_and_go_to_the_letter(text):
    once = with_hooks(text, AGY, NAMED)
    assert compare(AGY, hooks_in(once, NAMED), ATM, "agy").state == "installed"
    assert with_hooks(once, AGY, NAMED) == once
    moved = with_hooks(once, entries_for("agy", MOVED), NAMED)
    assert [hook.command.program for hook in hooks_in(moved, NAMED)] == [MOVED, MOVED]
    assert with_hooks(moved, AGY, NAMED) == once
    assert without_hooks(moved, NAMED) == without_hooks(once, NAMED) == text
    assert without_hooks(text, NAMED) == text


@pytest.mark.parametrize("text", NAMED_FILES.values(), ids=NAMED_FILES.keys())
def test_hooks_of_other_names_say_the_same_in_the_same_order(text):
    before, after = json.loads(text.lstrip("\ufeff")), json.loads(with_hooks(text, AGY, NAMED).lstrip("\ufeff"))
    assert [name for name in after if name != "atm"] == [name for name in before if name != "atm"]
    assert {**after, "atm": 0} == {**before, "atm": 0}
    for key, value in before.get("atm", {}).items():
        assert (after["atm"][key][: len(value)] if isinstance(value, list) else after["atm"][key]) == value


def test_a_named_hook_has_no_group_around_it_and_lets_agy_live_without_us():
    assert json.loads(with_hooks("", AGY, NAMED)) == {
        "atm": {
            "PreInvocation": [{"type": "command", "command": "atm hook agy PreInvocation || exit 0", "timeout": 5}],
            "Stop": [{"type": "command", "command": "atm hook agy Stop || exit 0", "timeout": 5}],
        }
    }


def test_agy_never_gets_a_hook_that_stands_before_a_tool():
    assert "PreToolUse" not in hooks_of("agy").entered


def test_what_somebody_added_to_a_named_hook_of_ours_stays_when_the_program_is_put_right():
    text = json.dumps({"mine": {"Stop": [LINT, {"command": "A=1 /old/atm hook agy Stop | tee x", "timeout": 9}]}})
    once = with_hooks(text, AGY, NAMED)
    after = json.loads(once)
    assert after["mine"]["Stop"] == [LINT, {"command": "A=1 atm hook agy Stop | tee x", "timeout": 9}]
    assert list(after["atm"]) == ["PreInvocation"]
    assert json.loads(without_hooks(once, NAMED)) == {"mine": {"Stop": [LINT]}}


def test_ours_under_two_names_become_one():
    one = {"Stop": [{"type": "command", "command": "atm hook agy Stop"}]}
    after = with_hooks(json.dumps({"a": one, "lint": {"Stop": [LINT]}, "b": one}, indent=2), AGY, NAMED)
    assert sorted(hook.event for hook in hooks_in(after, NAMED)) == ["PreInvocation", "Stop"]
    assert json.loads(after)["lint"] == {"Stop": [LINT]}


def test_ours_that_somebody_put_before_tools_is_taken_out_with_the_rest():
    ours = {"type": "command", "command": "atm hook agy PreToolUse"}
    text = json.dumps({"gate": {"PreToolUse": [{"matcher": "*", "hooks": [LINT, ours]}, {"hooks": [ours]}]}})
    assert json.loads(without_hooks(text, NAMED)) == {"gate": {"PreToolUse": [{"matcher": "*", "hooks": [LINT]}]}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"PreInvocation": [{"hooks": []}]}', "'PreInvocation' is not an object with hooks"),
        ('{"lint": {}, "enabled": true}', "'enabled' is not an object with hooks"),
        ('{"atm": []}', "'atm' is not an object with hooks"),
        ('{"' + "x" * 100_000 + '": 1}', r"'x{60}' is not"),
        ('{"\\u001b]0;owned": 1}', r"its '\\x1b]0;owned' is not"),
        ('{"atm": {"Stop": {}}}', "'atm.Stop' is not a list"),
        ('{"lint": {"Stop": [],}}', "not JSON"),
        ("{ // mine\n}", "comments"),
        ("[]", "not an object"),
        ('{"a": ' + "[" * 200_000, "not JSON"),
    ],
)
def test_a_file_of_which_agy_would_read_nothing_is_refused_with_a_reason(text, reason):
    with pytest.raises(NotEditable, match=reason):
        with_hooks(text, AGY, NAMED)


def test_ours_comes_out_of_a_file_that_somebody_spoilt_since():
    spoilt = with_hooks("{}", AGY, NAMED).replace("{", '{"Stop": [], ', 1)
    assert json.loads(without_hooks(spoilt, NAMED)) == {"Stop": []}


def test_a_name_that_is_switched_off_is_seen_if_ours_are_or_will_be_under_it():
    ours = {"enabled": False, "Stop": [{"command": "atm hook agy Stop"}]}
    assert switched_off('{"atm": {"enabled": false}}', NAMED) == "atm.enabled"
    assert switched_off(json.dumps({"b": {"enabled": False}, "mine": ours}), NAMED) == "mine.enabled"
    for text in ("", '{"b": {"enabled": false}, "atm": {"enabled": true}}', '{"atm": 1, "disableAllHooks": true}'):
        assert switched_off(text, NAMED) == ""


# Generated files.

# What a value or a key says is nothing to us, but where it ends is: so few texts, and those that could mislead.
MISLEADING = st.sampled_from(
    ["", "a", "hooks", "Stop", "atm", "{", "}]", ",", ":", '"', "\\", "\n", "//", "é", "日本", "\x1b"]
)
TEXTS = MISLEADING | st.text(max_size=8) if LONG else MISLEADING
PLAIN = st.recursive(
    st.sampled_from([None, True, False, 0, -7, 12345678901234567890, 1.5]) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
COMMANDS = st.sampled_from(["x", "atm hook claude Stop", "/o/atm hook claude PostToolUse", "atm hooks", "echo hook"])
HOOK = st.fixed_dictionaries({"type": st.just("command"), "command": COMMANDS})
GROUP = st.fixed_dictionaries({"hooks": st.lists(HOOK, max_size=3)}, optional={"matcher": st.just("Bash")}) | PLAIN
HOOKS = st.dictionaries(
    st.sampled_from(["Stop", "PostToolUse", "PreToolUse", "SessionStart"]), st.lists(GROUP, max_size=3), max_size=4
)
SPACE = st.sampled_from(["", " ", "\n", "\n  ", "\n\t", "\r\n   ", " \n\n"])
GAPS = st.lists(SPACE, min_size=1, max_size=11)
"""For all the gaps of a file, again and again from the beginning: to draw each one takes ten times as long."""


def laid_out(value: Any, gaps: Iterator[str], escapes: Iterator[bool]) -> str:
    """The JSON of a value, with white space wherever JSON allows it."""
    if isinstance(value, dict) and value:
        members = [
            f"{next(gaps)}{json.dumps(key)}{next(gaps)}:{next(gaps)}{laid_out(item, gaps, escapes)}{next(gaps)}"
            for key, item in value.items()
        ]
        return "{" + ",".join(members) + "}"
    if isinstance(value, list) and value:
        items = [f"{next(gaps)}{laid_out(item, gaps, escapes)}{next(gaps)}" for item in value]
        return "[" + ",".join(items) + "]"
    if isinstance(value, dict | list):
        return json.dumps(value)[0] + next(gaps) + json.dumps(value)[1]
    return json.dumps(value, ensure_ascii=next(escapes))


def files(values: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[str]:
    def written(mark: str, value: dict[str, Any], gaps: list[str], escapes: list[bool]) -> str:
        gap = cycle(gaps)
        return f"{mark}{next(gap)}{laid_out(value, gap, cycle(escapes))}{next(gap)}"

    escapes = st.lists(st.booleans(), min_size=1, max_size=3)
    return st.builds(written, st.sampled_from(["", BYTE_ORDER_MARK]), values, GAPS, escapes)


FIELDS = st.dictionaries(TEXTS.filter(lambda key: key != "hooks"), PLAIN, max_size=3)


def with_hooks_somewhere(fields: dict[str, Any], hooks: dict[str, Any], place: int) -> dict[str, Any]:
    pairs = [*fields.items()]
    return dict([*pairs[:place], ("hooks", hooks), *pairs[place:]])


SETTINGS = files(FIELDS | st.builds(with_hooks_somewhere, FIELDS, HOOKS, st.integers(0, 3)))


@settings(max_examples=1_200 if LONG else 40)
@given(SETTINGS)
def test_any_file_without_our_hooks_gets_back_what_it_was(text):
    cleared = without_hooks(text)
    assert hooks_in(cleared) == []
    once = with_hooks(cleared, CLAUDE)
    assert with_hooks(once, CLAUDE) == once
    assert without_hooks(once) == cleared
    assert compare(CLAUDE, hooks_in(once), ATM, "claude").state == "installed"


@settings(max_examples=1_200 if LONG else 40)
@given(SETTINGS)
def test_any_file_keeps_every_hook_of_others_in_order(text):
    def theirs(raw: str) -> list[Any]:
        hooks = json.loads(raw.lstrip("\ufeff")).get("hooks", {})
        return [
            (event, hook)
            for event in sorted(hooks)
            for group in hooks[event]
            if isinstance(group, dict) and isinstance(group.get("hooks"), list)
            for hook in group["hooks"]
            if not (isinstance(hook, dict) and our_command(hook.get("command")))
        ]

    assert theirs(with_hooks(text, CLAUDE)) == theirs(text)
    assert theirs(without_hooks(text)) == theirs(text)


AGY_COMMANDS = st.sampled_from(["x", "atm hook agy Stop", "/o/atm hook agy PreInvocation || exit 0", "echo hook"])
AGY_HOOK = (
    st.fixed_dictionaries({"command": AGY_COMMANDS}, optional={"timeout": st.sampled_from([0, 5, 2**70])}) | PLAIN
)
AGY_GROUP = st.fixed_dictionaries({"matcher": st.just("*"), "hooks": st.lists(AGY_HOOK, max_size=2)})
AGY_EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.booleans(),
        "Stop": st.lists(AGY_HOOK, max_size=3),
        "PreInvocation": st.lists(AGY_HOOK, max_size=3),
        "PreToolUse": st.lists(AGY_GROUP, max_size=2),
    },
)


NAMED_SETTINGS = files(st.dictionaries(st.sampled_from(["atm", "lint", "hooks", ""]) | TEXTS, AGY_EVENTS, max_size=3))


@settings(max_examples=1_200 if LONG else 40)
@given(NAMED_SETTINGS)
def test_any_file_with_named_hooks_gets_back_what_it_was_and_keeps_those_of_others(text):
    def theirs(raw: str) -> list[Any]:
        lists = [
            (name, event, hook)
            for name, events in json.loads(raw.lstrip(BYTE_ORDER_MARK)).items()
            for event, items in events.items()
            if isinstance(items, list)
            for item in items
            for hook in (item["hooks"] if event == "PreToolUse" else [item])
        ]
        return [row for row in lists if not (isinstance(row[2], dict) and our_command(row[2].get("command")))]

    cleared = without_hooks(text, NAMED)
    assert hooks_in(cleared, NAMED) == []
    once = with_hooks(cleared, AGY, NAMED)
    assert with_hooks(once, AGY, NAMED) == once
    assert without_hooks(once, NAMED) == cleared
    assert compare(AGY, hooks_in(with_hooks(text, AGY, NAMED), NAMED), ATM, "agy").state == "installed"
    assert theirs(cleared) == theirs(once) == theirs(with_hooks(text, AGY, NAMED)) == theirs(text)


# Codex's notify.

NOTIFY = ("atm", "hook", "codex", "notify")
TOMLS = {
    "nothing": "",
    "a line break": "\n",
    "a comment": "# mine\n",
    "no line break at the end": "a=1",
    "keys": 'model = "o3"  # the best\nx.y = 1\n',
    "a table at once": "[tui]\nnotifications = true\n",
    "a comment about a table": "# about\n\n[tui]\nnotify = [1]\n",
    "keys and tables": "a = 1\n\n\n# about t\n[t]\nb=2",
    "CRLF": "a = 1\r\n\r\n[t]\r\nb = 2\r\n",
    "a byte order mark": "\ufeffa = 1\n",
    "lists of tables": "[[x]]\na=1\n[[x]]\na=2\n",
    "tables apart": "[a]\nx=1\n[b]\ny=2\n[a.c]\nz=3\n",
    "a text that looks like ours": 'x = """\nnotify = ["atm", "hook", "codex", "notify"]\n"""\n',
}


@pytest.mark.parametrize("text", TOMLS.values(), ids=TOMLS.keys())
def test_notify_comes_and_goes_to_the_letter(text):
    once = with_notify(text, NOTIFY)
    assert with_notify(once, NOTIFY) == once
    assert notify_program(once) == ATM
    moved = with_notify(once, (*MOVED, *NOTIFY[1:]))
    assert notify_program(moved) == MOVED
    assert without_notify(moved) == without_notify(once) == text
    assert without_notify(text) == text


@pytest.mark.parametrize("text", TOMLS.values(), ids=TOMLS.keys())
def test_notify_of_somebody_else_is_seen_and_stays(text):
    theirs = with_notify(text, ("bell",))
    assert has_other_notify(theirs)
    assert not has_other_notify(text)
    assert without_notify(theirs) == theirs


def test_our_notify_that_somebody_laid_out_anew_is_found_and_goes():
    text = 'a = 1\nnotify = [\n  "/x/atm", # here\n  "hook", "codex", "notify",\n]\n[t]\n'
    assert notify_program(text) == ("/x/atm",)
    assert notify_program(with_notify(text, NOTIFY)) == ATM
    assert notify_program(without_notify(text)) is None
    assert "a = 1\n" in without_notify(text)
    assert "[t]" in without_notify(text)


def test_a_line_in_a_longer_text_is_not_taken_for_ours():
    text = 'x = """\nnotify = ["no"]\n"""\nnotify = [\n"atm", "hook", "codex", "notify"]\n'
    with pytest.raises(NotEditable, match="safely"):
        without_notify(text)


@pytest.mark.parametrize("text", ["a =", "[t", "notify = [\n", "a = 1\na = 2\n", "\x00", "a = " + "[" * 100_000])
def test_what_is_not_toml_is_refused(text):
    with pytest.raises(NotEditable, match=r"not TOML|deeply"):
        with_notify(text, NOTIFY)


def test_hooks_in_the_toml_file_are_seen_but_not_what_codex_notes_there():
    assert has_hook_tables("[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = 'x'\n")
    assert not has_hook_tables('[hooks.state."/h:stop:0:0"]\ntrusted_hash = "x"\n')
    assert not has_hook_tables("hooks = 1\n")
