"""The scripted agent calls hooks as the real ones do, obeys their answers, and survives whatever it is fed."""

from __future__ import annotations

import json
import os
import random
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.guest_atm import at_most, own_streams, own_surroundings, written_to

from atm.testing.scripted_agent import BLOCKS, VENDORS, Keys, main

STUB = r"""
folder=${0%/*}
IFS= read -r said
printf '{"words": ["%s", "%s", "%s"], "payload": %s}\n' "$1" "$2" "$3" "$said" >>"$folder/calls.jsonl"
first=
if [ -e "$folder/$3.answers" ]; then
    { IFS= read -r first; rest=$(cat); } <"$folder/$3.answers"
    printf '%s' "$rest" >"$folder/$3.answers"
fi
case $first in
"exit "*)
    printf because >&2
    exit "${first#exit }"
    ;;
esac
printf '%s' "$first"
"""


class Scene:
    """A folder with a hook program that says what it is told, and an agent that calls it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "seen.jsonl"
        (folder / "stub.sh").write_text(STUB)
        self.hook = f"sh {folder}/stub.sh"

    def answer(self, event: str, *answers: str) -> None:
        (self.folder / f"{event}.answers").write_text("\n".join(answers))

    def words(self, vendor: str, *options: str) -> list[str]:
        basics = ["--vendor", vendor, "--session", "s-1", "--log", str(self.log), "--atm", self.hook]
        return [sys.executable, "-m", "atm.testing.scripted_agent", *basics, *options]

    def run(self, vendor: str, *orders: object, options: tuple[str, ...] = ()) -> None:
        """As a guest of this process; those in a terminal have one of their own."""
        lines = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in orders)
        words = self.words(vendor, "--headless", *options)[3:]
        with own_streams(lines) as (_, err), own_surroundings(os.environ, str(self.folder)), at_most(60):
            code = main(words)
            sys.stdout.flush()
            assert (code, written_to(err)) == (0, b"")

    def rows(self, name: str) -> list[dict[str, Any]]:
        path = self.folder / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def events(self) -> list[str]:
        return [row["words"][2] for row in self.rows("calls.jsonl")]

    @property
    def seen(self) -> list[tuple[str, ...]]:
        return [tuple(row.values()) for row in self.rows("seen.jsonl") if row["kind"] not in ("ready", "exit")]


@pytest.fixture
def scene(tmp_path) -> Scene:
    return Scene(tmp_path)


def context(event: str, text: str) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


def block(reason: str, decision: str = "block") -> str:
    return json.dumps({"decision": decision, "reason": reason})


@pytest.mark.parametrize("vendor", ["claude", "codex", "gemini"])
def test_hooks_are_called_in_the_vendors_order_and_by_its_names(scene, vendor):
    known = VENDORS[vendor]
    scene.run(vendor, {"prompt": "hello"}, {"prompt": "/busy 2"}, {"exit": True})
    turn = [known.prompt, known.tool]
    assert scene.events == [known.start, *turn, known.stop, *turn, known.tool, known.stop, known.end]
    assert {row["words"][0] for row in scene.rows("calls.jsonl")} == {"hook"}
    assert {row["words"][1] for row in scene.rows("calls.jsonl")} == {vendor}
    assert scene.seen == [("prompt", "hello"), ("turn-end",), ("prompt", "/busy 2"), ("turn-end",)]


def test_a_payload_holds_what_the_vendor_says(scene):
    scene.run("claude", {"prompt": "hello"})
    start, prompt, tool, stop, end = (row["payload"] for row in scene.rows("calls.jsonl"))
    for payload, event in zip((start, prompt, tool, stop, end), scene.events, strict=True):
        assert (payload["session_id"], payload["hook_event_name"]) == ("s-1", event)
        assert payload["cwd"] == str(scene.folder)
    assert start["source"] == "startup"
    assert prompt["prompt"] == "hello"
    assert tool["tool_name"] == "Bash"
    assert stop["stop_hook_active"] is False
    assert end["reason"] == "prompt_input_exit"


@pytest.mark.parametrize("vendor", ["claude", "codex", "gemini"])
def test_answers_become_context(scene, vendor):
    known = VENDORS[vendor]
    scene.answer(known.start, context(known.start, "you are ann"))
    scene.answer(known.prompt, context(known.prompt, "mail one"))
    scene.answer(known.tool, context(known.tool, "mail two ü"))
    scene.run(vendor, {"prompt": "hello"})
    assert scene.seen == [
        ("context", known.start, "you are ann"),
        ("prompt", "hello"),
        ("context", known.prompt, "mail one"),
        ("context", known.tool, "mail two ü"),
        ("turn-end",),
    ]


@pytest.mark.parametrize(("vendor", "decision"), [("claude", "block"), ("codex", "block"), ("gemini", "deny")])
def test_a_stop_that_is_blocked_goes_on_with_the_reason(scene, vendor, decision):
    known = VENDORS[vendor]
    scene.answer(known.stop, block("you have mail", decision))
    scene.run(vendor, {"prompt": "hello"})
    assert scene.seen == [("prompt", "hello"), ("blocked", "you have mail"), ("turn-end",)]
    assert scene.events.count(known.stop) == 2
    stops = [row["payload"]["stop_hook_active"] for row in scene.rows("calls.jsonl") if row["words"][2] == known.stop]
    assert stops == [False, True]


def test_a_stop_is_not_blocked_for_ever(scene):
    scene.answer("Stop", *[block("again")] * 50)
    scene.run("claude", {"prompt": "hello"})
    assert scene.seen.count(("blocked", "again")) == BLOCKS + 1
    assert scene.seen[-1] == ("turn-end",)


def test_exit_code_two_blocks_with_what_stands_on_stderr(scene):
    scene.answer("Stop", "exit 2")
    scene.run("claude", {"prompt": "hello"})
    assert ("blocked", "because") in scene.seen


def test_a_prompt_that_a_hook_refuses_is_not_worked_on(scene):
    scene.answer("UserPromptSubmit", block("not now"))
    scene.run("claude", {"prompt": "hello"})
    assert scene.seen == [("prompt", "hello"), ("refused", "not now"), ("turn-end",)]
    assert "PostToolUse" not in scene.events


@pytest.mark.parametrize(
    "said", ["exit 1", "{", "[]", "null", '{"hookSpecificOutput": 5}', '{"decision": "block"}', "words"]
)
def test_an_answer_that_is_none_changes_nothing(scene, said):
    for event in ("PostToolUse", "Stop"):
        scene.answer(event, said)
    scene.run("claude", {"prompt": "hello"})
    assert scene.seen == [("prompt", "hello"), ("turn-end",)]


def test_plain_words_are_context_where_claude_code_takes_them_so(scene):
    scene.answer("SessionStart", "you are ann")
    scene.run("claude")
    assert scene.seen == [("context", "SessionStart", "you are ann")]


def test_a_hook_program_that_is_not_there_is_no_answer(scene):
    scene.hook = "/nowhere/atm"
    scene.run("claude", {"prompt": "hello"})
    assert scene.seen == [("prompt", "hello"), ("turn-end",)]


def test_a_plain_agent_calls_nobody(scene):
    scene.run("plain", {"prompt": "hello"}, {"dialog": True}, {"exit": True})
    assert scene.events == []
    assert scene.seen == [("prompt", "hello"), ("turn-end",), ("dialog",)]


def test_a_dialog_eats_everything_until_it_is_answered(scene):
    scene.run("claude", {"dialog": True}, {"prompt": "hello"}, {"prompt": "1"}, {"prompt": "hello"}, {"exit": True})
    assert scene.seen == [("dialog",), ("eaten", "hello"), ("answered",), ("prompt", "hello"), ("turn-end",)]
    assert scene.events[1] == "Notification"


def test_odd_lines_are_passed_over(scene):
    odd = [b"\xff\xfe\n", b"{\n", b"[1]\n", b'"x"\n', b"\n", b"[" * 5000 + b"\n", b'{"prompt": 5}\n', b"{}\n"]
    scene.run("claude", *odd, {"prompt": "\ud800 \x1b[2J \0"}, {"exit": True}, {"prompt": "too late"})
    assert scene.seen == [("prompt", "\ud800 \x1b[2J \0"), ("turn-end",)]


def test_without_a_terminal_it_says_so(scene):
    done = subprocess.run(scene.words("plain"), stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert b"--headless" in done.stderr


class TestKeys:
    def test_a_paste_is_one_whatever_pieces_it_comes_in(self):
        data = "\x1b[200~a\rb \x1b[31m ü\x1b[201~\r".encode()
        for size in range(1, len(data) + 1):
            keys = Keys()
            pieces = [data[at : at + size] for at in range(0, len(data), size)]
            events = [event for piece in pieces for event in keys.feed(piece)]
            assert events == [("paste", "a\rb \x1b[31m ü"), ("enter", "\r")]

    @pytest.mark.parametrize(
        "odd", ["\x1b\x1b", "\x1b[\x00", "\x1b[A", "\x1bOP", "\x1bx", "\x1b[201~", "\x00", "\x1b[<0;1;1M"]
    )
    def test_an_odd_sequence_swallows_nothing_that_follows(self, odd):
        events = list(Keys().feed(f"{odd}\x1b[Bhello\r".encode()))
        assert events[-2:] == [("text", "hello"), ("enter", "\r")]

    def test_no_bytes_are_too_odd(self):
        dice = random.Random(7)
        for _ in range(300):
            keys = Keys()
            alphabet = b"\x1b[]20~01;\r\n\x7f\x03\xff\xc3a\x9b"
            for _ in range(5):
                list(keys.feed(bytes(dice.choice(alphabet) for _ in range(dice.randrange(40)))))
            # Whatever they left unfinished, a paste that ends leaves nothing behind.
            assert list(keys.feed(b"\x1b[201~\x1b[201~hello\r"))[-2:] == [("text", "hello"), ("enter", "\r")]


@pytest.mark.skipif(sys.platform == "win32", reason="it needs a POSIX terminal")
class TestInATerminal:
    @pytest.fixture
    def terminal(self, scene, eventually):
        """The agent in a terminal; `type` feeds it, and what it draws is thrown away."""
        import pty

        master, slave = pty.openpty()
        process = subprocess.Popen(scene.words("claude"), stdin=slave, stdout=slave, stderr=slave, cwd=scene.folder)
        os.close(slave)
        drawn = bytearray()

        def look() -> bytes:
            while select.select([master], [], [], 0)[0]:
                try:
                    drawn.extend(os.read(master, 65_536))
                except OSError:
                    break
            return bytes(drawn)

        eventually(lambda: "❯".encode() in look())
        yield process, lambda data: os.write(master, data), look
        process.kill()
        process.wait()
        os.close(master)

    def test_a_paste_and_enter_are_one_prompt(self, terminal, scene, eventually):
        _, type_in, look = terminal
        type_in(b"\x1b[200~one\rtwo\x1b[201~")
        eventually(lambda: b"two" in look())
        assert scene.seen == []
        type_in(b"\r")
        eventually(lambda: look() and scene.seen == [("prompt", "one\rtwo"), ("turn-end",)])
        assert scene.events == ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"]

    def test_exit_ends_the_session(self, terminal, scene, eventually):
        process, type_in, look = terminal
        type_in(b"/exit\r")
        eventually(lambda: look() and process.poll() == 0)
        assert scene.events == ["SessionStart", "SessionEnd"]
        assert look().endswith(b"\x1b[?2004l\r\n")

    def test_noise_does_not_end_it(self, terminal, scene, eventually):
        process, type_in, look = terminal
        type_in(bytes(sign for sign in range(256) if sign not in (3, 4, 27)) + b"\x1b[999;999H\x1b\x1b[I\x15")
        type_in(b"still here\r")
        eventually(lambda: look() and scene.seen[-2:] == [("prompt", "still here"), ("turn-end",)])
        assert process.poll() is None

    def test_a_terminal_that_is_gone_ends_it(self, scene, eventually: Callable[..., None]):
        import pty

        master, slave = pty.openpty()
        process = subprocess.Popen(scene.words("plain"), stdin=slave, stdout=slave, stderr=subprocess.PIPE)
        os.close(slave)
        eventually(scene.log.exists)
        os.close(master)
        eventually(lambda: process.poll() is not None)
        assert process.stderr is not None
        assert process.stderr.read() == b""
        process.stderr.close()
