"""`atm read`: what is shown is what is marked, and only the owner's reading counts."""

from __future__ import annotations

import json
import os
import subprocess
import time

import pytest
from tests.optional import needs
from tests.proving import proves

ANN = {"ATM_IDENTITY": "ann"}


@pytest.fixture
def mailed(crew, quickly):
    """Ann has three messages from bob and human."""
    for sender, word in (("bob", "one"), ("human", "two"), ("bob", "three")):
        quickly("send", "ann", word, "--from", sender)
    return crew


def read_flags(atm, agent="ann"):
    return [row["read"] for row in atm.rows(agent)]


def texts(result):
    return [message["text"] for message in result.json["messages"]]


class TestMarking:
    @proves(
        "R000-headless-02",
        "R001-1-01",
        "R001-4.1-05",
        "R001-4.2-read-01",
        "R001-4.2-read-06",
        "R001-4.2-read-07",
        "R001-8.3-05",
        "R001-11-01",
        "R004-summary-03",
        "R004-current-state-09",
        "R004-gap-p1-01",
    )
    def test_the_owner_reads_once(self, mailed):
        assert texts(mailed("read", "--json", env=ANN)) == ["one", "two", "three"]
        assert read_flags(mailed) == [True, True, True]
        assert texts(mailed("read", "--json", env=ANN)) == []

    @proves("R001-4.2-read-02", "R001-4.2-read-08")
    def test_a_peek_by_somebody_else_marks_nothing(self, mailed):
        result = mailed("read", "ann")
        assert "one" in result.out
        assert "not marked as read" in result.out
        assert read_flags(mailed) == [False, False, False]

    def test_a_peek_enters_nothing_in_the_ledger(self, mailed):
        before = mailed.ledger()
        mailed("read", "ann")
        assert mailed.ledger() == before

    @proves("R001-4.2-read-08")
    def test_somebody_else_can_say_mark(self, mailed):
        assert mailed("read", "ann", "--mark", "--json").json["marked"] is True
        assert read_flags(mailed) == [True, True, True]

    @proves("R001-4.2-read-10")
    def test_the_owner_can_say_no_mark(self, mailed):
        assert mailed("read", "--no-mark", "--json", env=ANN).json["marked"] is False
        assert read_flags(mailed) == [False, False, False]

    def test_both_at_once_contradict_each_other(self, mailed):
        mailed("read", "ann", "--mark", "--no-mark", code=1)
        assert read_flags(mailed) == [False, False, False]

    @proves("R001-4.2-read-11", "R001-4.2-read-12", "R001-4.2-read-14")
    @pytest.mark.parametrize(
        ("words", "marked"),
        [
            (["--limit", "1"], [False, False, True]),
            (["-n", "2"], [False, True, True]),
            (["--limit", "0"], [False, False, False]),
            (["--from", "human"], [False, True, False]),
            (["--from", "BOB"], [True, False, True]),
            (["--from", "bob", "--limit", "1"], [False, False, True]),
            (["--since", "1h"], [True, True, True]),
            (["--since", "2999-01-01T00:00:00Z"], [False, False, False]),
        ],
    )
    def test_exactly_the_rows_shown_are_marked(self, mailed, words, marked):
        shown = texts(mailed("read", *words, "--json", env=ANN))
        assert read_flags(mailed) == marked
        assert shown == [text for text, yes in zip(["one", "two", "three"], marked, strict=True) if yes]

    def test_the_owner_can_be_named_by_flag(self, mailed):
        mailed("read", "--as", "ann")
        assert read_flags(mailed) == [True, True, True]

    def test_a_namesake_in_another_team_is_somebody_else(self, mailed):
        mailed("teams", "create", "other", "--lead", "ann")
        mailed("read", "ann@crew", env={**ANN, "ATM_TEAM": "other"})
        assert read_flags(mailed) == [False, False, False]

    @proves("R001-3.1-15", "R001-8.1-05")
    def test_marking_leaves_every_other_byte_alone(self, crew, write_rows, foreign_row):
        rows = [foreign_row("x", futureField={"deep": [1, 2.50, None]}, color="red"), foreign_row("y", read=True)]
        write_rows("ann", *rows)
        crew("read", env=ANN)
        assert crew.rows("ann") == [{**rows[0], "read": True}, rows[1]]

    @proves("R001-3.1-12")
    def test_rows_without_an_id_can_be_marked_too(self, crew, write_rows, foreign_row):
        write_rows("ann", foreign_row("a"), foreign_row("b"))
        crew("read", "--limit", "1", env=ANN)
        assert read_flags(crew) == [False, True]

    @proves("R003-4.3-07")
    def test_the_ledger_says_who_read_what(self, mailed):
        mailed("read", "--limit", "1", env=ANN)
        line = mailed.ledger()[-1]
        assert (line["state"], line["agent"], line["id"]) == ("read", "ann", mailed.rows("ann")[2]["message_id"])

    @proves("R003-4.3-06")
    def test_rows_that_a_stale_rewrite_turned_back_are_not_shown_again(self, mailed, write_rows):
        before = mailed.rows("ann")
        mailed("read", env=ANN)
        write_rows("ann", *before)
        assert texts(mailed("read", "--json", env=ANN)) == []

    def test_readers_at_once_share_the_mail(self, crew, write_rows, foreign_row):
        write_rows("ann", *[foreign_row(f"m{n}", message_id=f"id-{n}") for n in range(20)])
        readers = [crew.start("read", "--limit", "15", "--json", env=ANN) for _ in range(4)]
        shown = [m["text"] for r in readers for m in json.loads(r.communicate(timeout=60)[0])["messages"]]
        assert len(shown) == len(set(shown)) >= 15

    def test_a_row_that_is_too_large_to_show_stays_unread(self, crew, write_rows, foreign_row):
        write_rows("ann", foreign_row("x" * 9_000_000), foreign_row("small"))
        result = crew("read", env=ANN, code=None)
        assert "small" in result.out
        assert read_flags(crew) == [False, True]


class TestOutputThatFails:
    """Marking comes first; when nobody can have seen the mail, it is given back."""

    def run(self, atm, redirection):
        return subprocess.run(
            ["sh", "-c", f'exec "$@" {redirection}', "sh", *atm.command("read")],
            env={**atm.environment, **ANN},
            cwd=atm.folder,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
    def test_on_a_full_disk_the_mail_is_given_back(self, mailed):
        assert self.run(mailed, ">/dev/full").returncode == 1
        assert read_flags(mailed) == [False, False, False]
        assert texts(mailed("read", "--json", env=ANN)) == ["one", "two", "three"]

    def test_on_a_closed_standard_output_the_mail_is_given_back(self, mailed):
        done = self.run(mailed, ">&-")
        assert b"Traceback" not in done.stderr
        assert read_flags(mailed) == [False, False, False], "marked as read, and nobody saw it"

    @needs("bash")
    def test_for_a_reader_who_has_gone_away_the_mail_is_given_back(self, mailed):
        done = subprocess.run(
            ["bash", "-c", 'exec 3> >(exit 0); wait $!; exec "$@" >&3', "bash", *mailed.command("read")],
            env={**mailed.environment, **ANN},
            cwd=mailed.folder,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
        assert done.returncode == 1
        assert b"Traceback" not in done.stderr
        assert read_flags(mailed) == [False, False, False]


class TestWhatIsShown:
    @proves("R001-4.2-read-05", "R001-4.2-read-13")
    def test_json_has_the_count_and_each_message(self, mailed):
        result = mailed("read", "ann", "--json").json
        assert (result["action"], result["team"], result["agent"], result["count"]) == ("read", "crew", "ann", 3)
        assert set(result["messages"][0]) == {
            *("message_id", "from", "text", "timestamp", "summary", "read", "type", "metadata")
        }

    def test_people_see_sender_time_short_id_and_the_text_indented(self, mailed):
        lines = mailed("read", env=ANN).out.splitlines()
        id = mailed.rows("ann")[0]["message_id"]
        head = lines[0].split()
        assert head[:2] == ["●", "bob"]
        assert head[-1] == id[:8]
        assert lines[1] == "    one"

    @proves("R001-4.2-read-04")
    def test_all_shows_what_was_read_before_too(self, mailed):
        mailed("read", "--limit", "2", env=ANN)
        assert texts(mailed("read", "--all", "--json", env=ANN)) == ["one", "two", "three"]
        assert read_flags(mailed) == [True, True, True]

    def test_an_empty_inbox_is_said_in_words_with_exit_code_0(self, crew):
        assert crew("read", env=ANN).out == "No new messages for ann@crew.\n"

    def test_every_line_of_a_long_text_is_indented(self, crew):
        crew("send", "ann", "a\nb\n\nc")
        assert crew("read", "ann").out.splitlines()[1:5] == ["    a", "    b", "    ", "    c"]

    def test_idle_notices_are_folded_into_one_line_a_sender(self, crew, write_rows, foreign_row):
        idle = json.dumps({"type": "idle_notification", "from": "bob"})
        write_rows("ann", foreign_row(idle), foreign_row("work"), foreign_row(idle), foreign_row(idle, sender="cat"))
        out = crew("read", env=ANN).out
        assert "bob is idle: 2 notices" in out
        assert "cat is idle: 1 notice," in out
        assert "idle_notification" not in out
        assert "work" in out

    def test_the_words_idle_notification_in_a_text_make_no_notice(self, crew):
        crew("send", "ann", "why do I get an idle_notification?")
        assert "why do I get" in crew("read", env=ANN).out

    @proves("R000-version-sensitivity-04")
    def test_a_structured_message_is_shown_as_a_sentence(self, crew, write_rows, foreign_row):
        text = json.dumps({"type": "task_assignment", "taskId": "7", "subject": "parser"})
        write_rows("ann", foreign_row(text))
        out = crew("read", env=ANN).out
        assert "    You have a new task: #7 parser\n" in out
        assert "taskId" not in out

    @proves("R001-3.1-24")
    def test_rows_that_are_no_messages_are_counted_and_kept(self, crew, write_rows, foreign_row):
        write_rows("ann", 17, {"text": "no sender"}, foreign_row("good"))
        result = crew("read", "--all", "--json", env=ANN)
        assert texts(result) == ["good"]
        assert result.json["malformed_rows"] == 2
        assert crew.rows("ann")[:2] == [17, {"text": "no sender"}]

    @proves("R000-version-sensitivity-02")
    def test_claude_codes_older_spellings_are_understood(self, crew, write_rows):
        write_rows("ann", {"from": "bob", "content": "by content", "messageId": "m-1", "timestamp": "x", "read": False})
        (message,) = crew("read", "--json", env=ANN).json["messages"]
        assert (message["text"], message["message_id"]) == ("by content", "m-1")

    def test_a_time_that_cannot_be_read_hides_nothing(self, crew, write_rows, foreign_row):
        write_rows("ann", {**foreign_row("odd"), "timestamp": "yesterday-ish"})
        assert texts(crew("read", "--since", "1m", "--json", env=ANN)) == ["odd"]

    @pytest.mark.parametrize("given", ["yesterday", "", "-5m", "5x", "²h"])
    def test_a_since_that_is_no_time_is_refused_with_examples(self, mailed, given):
        assert "2h" in mailed("read", f"--since={given}", env=ANN, code=1).err
        assert read_flags(mailed) == [False, False, False]

    @proves("R001-4.2-read-12")
    def test_since_takes_iso_times_with_any_offset(self, crew, write_rows, foreign_row):
        write_rows("ann", foreign_row("old", at=1_000_000_000), foreign_row("new", at=2_000_000_000))
        since = "2026-01-01T00:00:00+02:00"
        assert texts(crew("read", "--since", since, "--json", env=ANN)) == ["new"]

    def test_an_unknown_member_is_an_error_with_the_nearest_name(self, crew):
        assert "did you mean 'ann'" in crew("read", "anm", code=1).err

    @proves("R001-11-01")
    def test_somebody_without_an_inbox_is_told_how_to_say_who_he_is(self, crew):
        err = crew("read", code=1).err
        assert "human" in err
        assert "ATM_IDENTITY or --as" in err
        assert "atm read NAME" in err


class TestWaiting:
    def test_it_returns_as_soon_as_something_comes(self, crew):
        process = crew.start("read", "--wait", "600", "--json", env=ANN)
        crew("send", "ann", "at last")
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert [m["text"] for m in json.loads(out)["messages"]] == ["at last"]

    @proves("R004-defects-02")
    def test_mail_that_is_there_already_is_not_waited_for(self, mailed):
        mailed("read", "--wait", "600", env=ANN, timeout=60)

    def test_without_mail_it_ends_with_3(self, crew):
        started = time.monotonic()
        result = crew("read", "--wait", "0.3", "--json", env=ANN, code=3)
        assert result.json["messages"] == []
        assert time.monotonic() - started >= 0.3

    def test_waiting_no_time_at_all_is_a_look(self, crew):
        crew("read", "--wait", "0", env=ANN, code=3)

    @proves("R004-defects-02b")
    def test_mail_that_the_filter_does_not_want_does_not_end_the_wait(self, mailed):
        mailed("read", "--wait", "0.3", "--from", "nobody", env=ANN, code=3)
        assert read_flags(mailed) == [False, False, False]

    def test_an_inbox_that_does_not_exist_yet_can_be_waited_for(self, crew):
        crew.inbox("ann").unlink()
        process = crew.start("read", "--wait", "600", "--json", env=ANN)
        crew("send", "ann", "hello")
        assert b"hello" in process.communicate(timeout=60)[0]
