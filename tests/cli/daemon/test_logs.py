"""`atm logs`: the daemon's log for people and for programs, and nothing in it that a terminal would obey."""

from __future__ import annotations

import json
import re
import time
import unicodedata

import pytest

from atm.files.formats.times import to_iso
from atm.wiring.daemon import build_log

ESC = "\x1b"
EVIL = f"{ESC}[2J{ESC}]0;title\x07\x9b31mred\r\x08\x7f\u202eevil\nforged line"
OURS = re.compile(r"\x1b\[[0-9;]*m")
LINE = re.compile(r"\d\d:\d\d:\d\d (debug|info |warn |error)  \S+  .+")


@pytest.fixture
def log(layout):
    return build_log(layout)


@pytest.fixture
def path(atm):
    return atm.home / ".local/state/atm/daemon/log.jsonl"


@pytest.fixture
def within_a_day():
    """Not across midnight: what was written before it is a line of another day after it."""
    now = time.localtime()
    left = 86_400 - (now.tm_hour * 3600 + now.tm_min * 60 + now.tm_sec)
    if left <= 60:
        time.sleep(left)


def texts(result):
    return [line["text"] for line in result.json["lines"]]


def test_lines_are_readable(within_a_day, log, quickly):
    log.write("warn", "spool", "3 messages wait", team="crew", count=3)
    log.write("info", "plugin:ci", "build 7 failed", url="https://ci/7", why="it is broken")
    result = quickly("logs")
    assert result.code == 0
    first, second = result.out.splitlines()
    assert LINE.fullmatch(first)
    assert first[9:] == "warn   spool  3 messages wait  team=crew count=3"
    assert second[9:] == 'info   plugin:ci  build 7 failed  url=https://ci/7 why="it is broken"'


def test_a_line_of_another_day_has_its_day(within_a_day, log, path, quickly):
    log.write("info", "x", "now")
    with path.open("a") as file:
        file.write(
            json.dumps({"v": 1, "ts": to_iso(time.time() - 9 * 86_400), "level": "info", "source": "x", "text": "a"})
        )
        file.write('\n{"v": 1, "ts": "never", "level": "info", "source": "x", "text": "b"}\n')
    now, old, odd = quickly("logs").out.splitlines()
    assert LINE.fullmatch(now)
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d info ", old)
    assert odd.startswith("unknown  info ")


def test_a_program_gets_everything(log, path, quickly):
    log.write("error", "spool", "no", team="crew")
    log.write("info", "spool", "yes")
    result = quickly("logs", "--json")
    assert {**result.json, "lines": []} == {"action": "logs", "path": str(path), "count": 2, "lines": []}
    first = result.json["lines"][0]
    assert (first["v"], first["level"], first["source"], first["text"], first["team"]) == (
        1,
        "error",
        "spool",
        "no",
        "crew",
    )
    assert first["ts"].endswith("Z")


def test_without_a_log_one_line_says_why_and_the_code_is_3(atm):
    result = atm("logs", code=3)
    assert result.out == ""
    (line,) = result.err.splitlines()
    assert "the daemon has not run here" in line


def test_the_same_for_programs_and_for_followers(quickly):
    result = quickly("logs", "--json")
    assert (result.code, result.json["lines"]) == (3, [])
    assert quickly("logs", "--follow").code == 3


def test_a_log_without_lines_is_a_log(path, quickly):
    path.parent.mkdir(parents=True)
    path.write_text("")
    result = quickly("logs")
    assert (result.code, result.out, result.err) == (0, "", "")


def test_the_newest_50_are_shown_unless_told_otherwise(log, quickly):
    for number in range(60):
        log.write("info", "x", str(number))
    assert len(quickly("logs").out.splitlines()) == 50
    assert texts(quickly("logs", "-n", "3", "--json")) == ["57", "58", "59"]
    assert texts(quickly("logs", "--limit", "0", "--json")) == []
    assert len(texts(quickly("logs", "-n", "1000", "--json"))) == 60


def test_lines_are_chosen_by_level_source_and_time(log, path, quickly):
    path.parent.mkdir(parents=True)
    old = {"v": 1, "ts": to_iso(time.time() - 7200), "level": "error", "source": "spool", "text": "old"}
    path.write_text(json.dumps(old) + "\n")
    log.write("debug", "spool", "a")
    log.write("warn", "plugin:ci", "b")
    log.write("error", "plugin:chat", "c")
    assert texts(quickly("logs", "--json", "--level", "warn")) == ["old", "b", "c"]
    assert texts(quickly("logs", "--json", "--source", "plugin")) == ["b", "c"]
    assert texts(quickly("logs", "--json", "--source", "plugin:ci")) == ["b"]
    assert texts(quickly("logs", "--json", "--since", "30m")) == ["a", "b", "c"]
    assert texts(quickly("logs", "--json", "--since", "3h", "--level", "error")) == ["old", "c"]
    assert texts(quickly("logs", "--json", "--since", to_iso(time.time() - 10_000))) == ["old", "a", "b", "c"]
    assert texts(quickly("logs", "--json", "--since", "1970-01-01")) == ["old", "a", "b", "c"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--level", "loud"], "--level must be one of debug, info, warn, error"),
        (["--since", "yesterday"], "is no time"),
        (["-n", "many"], "whole number"),
        (["-n", "-1"], "cannot be -1"),
        (["extra"], "one word too many"),
        (["--sorce", "x"], "did you mean '--source'"),
    ],
)
def test_a_wrong_line_is_explained(log, quickly, words, complaint):
    log.write("info", "x", "hello")
    result = quickly("logs", *words)
    assert result.code == 1
    assert complaint in result.err


def dangerous(text):
    rest = text.replace("\r\n", "\n")
    return {c for c in rest if (unicodedata.category(c) == "Cc" and c != "\n") or c == "\u202e"}


def test_nothing_in_a_log_is_obeyed_by_a_terminal(log, path, quickly, seen):
    log.write("info", EVIL, EVIL, **{EVIL: EVIL, "list": [EVIL], "table": {EVIL: EVIL}})
    with path.open("a") as file:
        file.write(json.dumps({"ts": EVIL, "level": EVIL, "source": EVIL, "text": EVIL, "pid": EVIL}) + "\n")
    for out in (quickly("logs").out, seen("logs", env={"NO_COLOR": "1"})):
        assert dangerous(out) == set()
        assert len(out.splitlines()) == 2, "nobody can forge a line"
        assert "red" in out


def test_json_is_exact_and_has_no_raw_escape(log, quickly):
    log.write("info", "x", EVIL)
    result = quickly("logs", "--json")
    assert ESC not in result.out
    assert texts(result) == [EVIL]


def test_a_terminal_gets_colour_and_a_pipe_none(log, atm, seen):
    log.write("error", "x", "hello")
    assert OURS.search(seen("logs"))
    assert ESC not in atm("logs").out
    assert OURS.sub("", seen("logs")) == atm("logs").out


def test_a_very_long_text_does_not_flood_the_terminal(log, quickly):
    log.write("info", "x", "y" * 50_000, field="z" * 20_000)
    assert len(quickly("logs").out) < 5000
    assert len(texts(quickly("logs", "--json"))[0]) > 20_000


def test_rubbish_in_the_log_stops_nobody(log, path, quickly):
    log.write("info", "x", "one")
    with path.open("ab") as file:
        file.write(b'\xff\n[]\n{"ts": 1}\n' + b"[" * 50_000 + b'\n{"v": 1, "ts": "torn')
    log.write("info", "x", "two")
    assert texts(quickly("logs", "--json")) == ["one", "two"]


def test_all_files_of_the_log_are_read(log, path, quickly):
    log.write("info", "x", "one")
    path.rename(path.with_name("log.jsonl.1"))
    assert texts(quickly("logs", "--json")) == ["one"], "it may have been turned over a moment ago"
    log.write("info", "x", "two")
    assert texts(quickly("logs", "--json")) == ["one", "two"]


def take(process, wanted):
    """Lines of a program that runs, as they come; a guard of the suite ends a wait that is too long."""
    return [process.stdout.readline().decode() for _ in range(wanted)]


def test_new_lines_are_followed_across_a_turn_over(log, path, atm):
    log.write("info", "x", "a")
    log.write("info", "x", "b")
    process = atm.start("logs", "-f", "-n", "1", "--for", "600")
    assert take(process, 1)[0].endswith("b\n")
    log.write("info", "x", "c")
    assert take(process, 1)[0].endswith("c\n")
    path.rename(path.with_name("log.jsonl.1"))
    log.write("info", "x", "d")
    assert take(process, 1)[0].endswith("d\n")
    process.kill()


def test_following_for_programs_is_a_line_of_json_each(log, atm):
    log.write("warn", "plugin:ci", "a")
    log.write("info", "other", "b")
    process = atm.start("logs", "--follow", "--json", "--source", "plugin", "--for", "600")
    assert json.loads(take(process, 1)[0])["text"] == "a"
    log.write("warn", "plugin:ci", "c")
    assert json.loads(take(process, 1)[0])["text"] == "c"
    process.kill()


def test_following_ends_when_its_time_is_over(log, atm):
    log.write("info", "x", "a")
    result = atm("logs", "--follow", "--for", "0.1")
    assert len(result.out.splitlines()) == 1


def test_an_interrupted_follower_says_nothing(log, atm):
    import signal

    log.write("info", "x", "a")
    process = atm.start("logs", "--follow")
    take(process, 1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")
