"""A flood: a member, or a foreign program, buries an inbox. Nobody is silenced, and nothing ends without a word."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.conftest import UNHURRIED
from tests.trusting import trust

from atm.config import is_more, load
from atm.config.known import KNOWN, LIMITS
from atm.mail.rules.messages import LARGEST_TEXT
from atm.mail.rules.quotas import MOST_BYTES, MOST_ROWS
from atm.roster.services.members import add_member
from atm.team.rules.team import Member

MEGABYTE = 1 << 20
PIECE = MEGABYTE // 64
LARGEST_PIECE = LARGEST_TEXT // 64
BOB = {"ATM_IDENTITY": "bob", "ATM_TEAM": "crew"}
TOO_LARGE = "Your inbox is too large to show here"


@pytest.fixture
def crew(atm, room):
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"
    atm.environment["ATM_TEAM"] = "crew"
    add_member(room, "crew", Member("cat"))
    return atm


def text_of(n: int, size: int = LARGEST_TEXT) -> str:
    head = f"number {n} "
    return head + "x" * (size - len(head))


def row(n: int, size: int = MEGABYTE, **more: Any) -> dict[str, Any]:
    said = {"from": "ann", "text": text_of(n, size), "timestamp": "2026-11-16T09:00:00.000Z"}
    return {**said, "msg_id": f"id-{n}", "type": "message", "read": False, **more}


def too_large() -> list[dict[str, Any]]:
    """A little more than the 32 MB that are looked at."""
    return [row(n, 4 * MEGABYTE) for n in range(9)]


def write(crew, rows, spelling: str = "ours") -> None:
    """What another program leaves in bob's inbox."""
    if spelling == "ours":
        content = "[\n  " + ",\n  ".join(map(json.dumps, rows)) + "\n]\n"
    else:
        content = json.dumps(rows, indent=2 if spelling == "indented" else None)
    crew.inbox("bob").write_text(content)


def hook(crew, event: str = "PostToolUse", *, hurried: bool = False) -> str:
    """What the program says. Its three seconds are its own only where they are the subject."""
    patience = {} if hurried else {"PYTHONPATH": str(UNHURRIED)}
    call = json.dumps({"session_id": "s-1", "hook_event_name": event})
    done = crew("hook", "claude", event, stdin=call, env={**BOB, **patience}, timeout=60)
    assert done.err == ""
    if not done.out:
        return ""
    said = done.json
    return str(said.get("reason") or said["hookSpecificOutput"]["additionalContext"])


def log(crew) -> str:
    path = crew.home / ".local/state/atm/hooks.jsonl"
    return path.read_text() if path.exists() else ""


def send(crew, text: str, *words: str, sender: str = "ann") -> tuple[str, dict[str, Any]]:
    """What became of it: an outcome, or the code of the error."""
    done = crew("send", "bob", "--stdin", "--from", sender, "--json", *words, stdin=text, code=None)
    answer = json.loads(done.out)
    return (answer["outcome"], answer) if done.code == 0 else (answer["error"]["code"], answer["error"])


def read_numbers(crew) -> list[int]:
    messages = crew("read", "--json", env=BOB).json["messages"]
    return [int(message["text"].split()[1]) for message in messages]


# A teammate.


@pytest.fixture
def flooded(crew):
    """Ann has sent twenty messages that are each a quarter of what may wait; what became of each."""
    crew("config", "set", "messaging.max_unread_bytes", str(4 * PIECE))
    return crew, [send(crew, text_of(n, LARGEST_PIECE)) for n in range(20)]


def test_a_flood_is_delivered_in_part_queued_in_part_and_then_refused(flooded):
    crew, sent = flooded
    outcomes = [outcome for outcome, _ in sent]
    assert outcomes == ["success"] * 3 + ["queued"] * 3 + ["inbox-full"] * 14
    assert {answer["reason"] for outcome, answer in sent if outcome == "queued"} == {"inbox-full"}
    error = sent[-1][1]
    assert "bob@crew" in error["message"]
    assert "--urgent" in error["remedy"]
    assert len(crew.pending) == 3
    assert "inbox-full" in crew("spool", "list").out


def test_a_refusal_leaves_nothing_behind(flooded):
    crew, _ = flooded
    before = (crew.inbox("bob").read_bytes(), crew.pending, len(crew.ledger()))
    assert send(crew, text_of(20, LARGEST_PIECE))[0] == "inbox-full"
    assert (crew.inbox("bob").read_bytes(), crew.pending, len(crew.ledger())) == before


def test_the_flooded_member_is_stopped_by_a_person_with_the_next_hook(flooded):
    crew, _ = flooded
    assert crew("send", "bob", "stop, main is broken", "--urgent", "--json").json["outcome"] == "success"
    said = hook(crew)
    assert "[URGENT] stop, main is broken" in said


def test_mail_of_other_members_arrives(flooded):
    crew, _ = flooded
    assert send(crew, "from cat", sender="cat")[0] == "success"
    copies = crew("broadcast", "--stdin", "--from", "ann", "--json", stdin=text_of(20, LARGEST_PIECE), code=2).json[
        "results"
    ]
    found = {copy["agent"]: copy["outcome"] for copy in copies}
    assert found == {"bob": "failed", "cat": "success"}
    assert next(copy for copy in copies if copy["agent"] == "bob")["error"]["code"] == "inbox-full"


def test_after_reading_what_waits_comes_in_order_and_nothing_is_lost_or_twice(flooded):
    crew, sent = flooded
    got: list[int] = []
    for _ in range(5):
        got += read_numbers(crew)
    taken = [n for n, (outcome, _) in enumerate(sent) if outcome in ("success", "queued")]
    assert got == taken
    assert crew.pending == []
    assert send(crew, "again")[0] == "success"


def test_the_hooks_bring_everything_in_order(flooded):
    crew, sent = flooded
    got: list[int] = []
    for _ in range(20):
        said = hook(crew)
        got += [int(part.split()[0]) for part in said.split("\nnumber ")[1:]]
        crew("spool", "retry", code=None)
    assert got == [n for n, (outcome, _) in enumerate(sent) if outcome in ("success", "queued")]


def test_two_senders_at_once_do_not_both_slip_in(crew):
    crew("config", "set", "messaging.max_unread_rows", "3")
    processes = [crew.start("send", "bob", f"number {n}", "--from", "ann") for n in range(12)]
    for process in processes:
        process.communicate(timeout=120)
    assert sum(not row["read"] for row in crew.rows("bob")) == 3


def test_a_limit_of_zero_is_none(crew):
    crew("config", "set", "messaging.max_unread_rows", "0")
    crew("config", "set", "messaging.max_unread_bytes", "0")
    assert {send(crew, text_of(n))[0] for n in range(6)} == {"success"}


# A teammate that says how much it may send.

LESS, MORE = {"max_unread_rows": 1, "max_unread_bytes": 1}, {"max_unread_rows": 0, "max_unread_bytes": 1 << 40}

BOUNDS_NOBODY_ELSE = {
    "messaging.max_retries": "tries of one's own waiting message; whoever gives up early loses it alone",
    "board.max_retries": "a default that the task's own word overrides",
    **dict.fromkeys(
        ("runs.max_minutes", "runs.max_turns", "runs.max_tokens", "runs.max_cost"),
        "what the person's own run may use, whose word on the command line overrides it",
    ),
}
"""Settings that look like limits and protect nobody from whoever sets them, with the reason."""


def raised(crew, where: str, limits: dict[str, int]) -> dict[str, str]:
    """The sender's own words about its limits, where it can write them; the environment that goes with that."""
    text = "[messaging]\n" + "".join(f"{key} = {value}\n" for key, value in limits.items())
    path = crew.folder / (".atm.toml" if where == "a trusted repository" else "mine.toml")
    path.write_text(text)
    if where == "a trusted repository":
        trust(crew.home, crew.folder)
        return {}
    return {"ATM_CONFIG": str(path)}


def tries(crew, environment: dict[str, str], times: int) -> list[str]:
    words = ("send", "bob", "again", "--from", "ann", "--json")
    answers = [json.loads(crew(*words, env=environment, code=None).out) for _ in range(times)]
    return [answer["outcome"] if "outcome" in answer else answer["error"]["code"] for answer in answers]


@pytest.mark.parametrize("where", ["ATM_CONFIG", "a trusted repository"])
class TestOwnLimits:
    def test_a_sender_does_not_raise_them(self, crew, where):
        crew("config", "set", "messaging.max_unread_rows", "2")
        environment = raised(crew, where, MORE)
        assert tries(crew, environment, 6) == ["success"] * 2 + ["queued"] * 2 + ["inbox-full"] * 2

    def test_nor_beyond_those_that_nobody_set(self, crew, layout, where):
        environment = {**crew.environment, **raised(crew, where, MORE)}
        settings = load(layout, environment, str(crew.folder), {})
        assert [settings.whole(key) for key in LIMITS] == [MOST_ROWS, MOST_BYTES]
        assert all(settings.setting(key).passed_over for key in LIMITS)

    def test_it_may_lower_them(self, crew, where):
        assert tries(crew, raised(crew, where, LESS), 3) == ["success", "queued", "inbox-full"]

    def test_the_list_says_what_is_passed_over(self, crew, where):
        environment = raised(crew, where, MORE)
        said = crew("config", "list", env=environment).out
        assert said.count("may only lower it)") == 2
        shown = crew("config", "list", "--json", env=environment).json["settings"]["messaging.max_unread_rows"]
        assert (shown["value"], shown["origin"]) == (MOST_ROWS, "default")

    def test_a_command_that_would_write_more_there_is_refused(self, crew, where):
        environment = raised(crew, where, LESS)
        repo = ("--repo",) if where == "a trusted repository" else ()
        for value, code in (("0", 1), (str(MOST_ROWS + 1), 1), (str(MOST_ROWS), 0)):
            crew("config", "set", "messaging.max_unread_rows", value, *repo, env=environment, code=code)


def test_every_setting_that_reads_like_a_limit_is_one_or_has_a_reason_not_to_be():
    read_like_it = {key for key in KNOWN if any(word in key for word in ("max_", "limit", "most", "quota"))}
    assert read_like_it == {*LIMITS, *BOUNDS_NOBODY_ELSE}


def test_of_two_limits_none_at_all_is_more():
    assert [is_more(*pair) for pair in ((0, 5), (6, 5), (5, 5), (4, 5), (5, 0), (0, 0))] == [True, True, *[False] * 4]


# What lies there already, whoever wrote it.


@pytest.mark.parametrize("spelling", ["ours", "indented"])
def test_twenty_unread_megabytes_are_shown_from_the_oldest_by_their_beginnings(crew, spelling):
    write(crew, [row(n) for n in range(20)], spelling)
    said = hook(crew)
    assert [f"number {n} " in said for n in range(4)] == [True, True, True, False]
    assert "17 more follow" in said
    assert said.count("the whole message is in") == 3
    assert [one["read"] for one in crew.rows("bob")] == [True] * 3 + [False] * 17


@pytest.mark.parametrize("character", ["<", "\x1b", "\u200b", "\u0434"])
def test_texts_that_are_slow_to_show_are_shown_in_time(crew, character):
    text = character * (LARGEST_TEXT // len(character.encode()))
    write(crew, [row(n, text=text) for n in range(4)])
    said = hook(crew)
    assert "the whole message is in" in said


def test_urgent_mail_comes_before_a_flood_of_urgent_mail_of_others_if_it_is_a_persons(crew):
    write(crew, [row(n, text="[URGENT] " + text_of(n)) for n in range(20)])
    crew("send", "bob", "stop", "--urgent")
    said = hook(crew)
    assert 'teammate_id="human"' in said


@pytest.mark.parametrize("spelling", ["ours", "indented", "one line"])
def test_an_inbox_that_is_too_large_is_told_and_logged_and_urgent_mail_shown_once(crew, spelling):
    write(crew, too_large(), spelling)
    said = hook(crew)
    assert f"{TOO_LARGE}: 36 MB" in said
    assert "`atm read`" in said
    assert "inbox too large" in log(crew)
    assert crew("send", "bob", "stop", "--urgent", "--json").json["outcome"] == "success"
    first, second = hook(crew), hook(crew)
    assert ("[URGENT] stop" in first, "[URGENT] stop" in second) == (True, False)
    assert TOO_LARGE in first
    assert TOO_LARGE in second
    assert not any(one["read"] for one in crew.rows("bob")), "nothing is marked there"
    assert send(crew, "ordinary")[0] == "queued"


def test_a_session_begins_with_its_briefing_and_the_line_however_large_the_inbox(crew):
    write(crew, too_large())
    said = hook(crew, "SessionStart")
    assert "you are bob in team crew" in said
    assert TOO_LARGE in said
    assert "No unread mail" not in said


def test_an_inbox_that_is_too_large_keeps_nobody_from_stopping_but_urgent_mail_in_it_does(crew):
    write(crew, too_large())
    assert hook(crew, "Stop") == ""
    crew("send", "bob", "stop", "--urgent")
    assert "[URGENT] stop" in hook(crew, "Stop")
    assert hook(crew, "Stop") == ""


def test_whoever_reads_gets_what_a_hook_did_not_show_and_not_what_it_did(crew):
    write(crew, too_large())
    crew("send", "bob", "stop", "--urgent")
    hook(crew)
    assert read_numbers(crew) == list(range(9))
    assert TOO_LARGE in hook(crew), "it is still as large"
    crew("cleanup", "--yes")
    assert hook(crew) == ""
    assert send(crew, "ordinary")[0] == "success"
    assert "ordinary" in hook(crew)


@pytest.mark.parametrize(("size", "words"), [(MEGABYTE, TOO_LARGE), (100, "Your mail could not be looked at in time")])
def test_a_hook_that_runs_out_of_time_says_so(crew, size, words):
    """Whatever takes so long: here the lock, which another program holds."""
    write(crew, [row(n, size) for n in range(10)])
    lock = crew.inbox("bob").with_name("bob.json.lock")
    lock.mkdir()
    said = hook(crew, hurried=True)
    lock.rmdir()
    assert words in said
    assert "out of time" in log(crew)
    assert "number 0 " in hook(crew), "nothing is lost by that"
