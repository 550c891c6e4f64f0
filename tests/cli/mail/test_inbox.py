"""`atm inbox`: how much mail everybody has, without reading it."""

from __future__ import annotations

import json
import os
import select
import time

import pytest
from tests.proving import proves

from atm.mail.services.following import Followers
from atm.ui.cli.mail.inbox_watch import show
from atm.ui.cli.session import Session

ANN = {"ATM_IDENTITY": "ann"}
IDLE = json.dumps({"type": "idle_notification", "from": "bob", "idleReason": "available"})


def counts(result, team=0):
    return {one["agent"]: (one["unread"], one["total"]) for one in result.json["teams"][team]["inboxes"]}


@proves(
    "R001-4.1-06",
    "R001-4.2-inbox-01",
    "R001-4.2-inbox-02",
    "R001-4.2-inbox-05",
    "R001-4.2-inbox-06",
    "R001-4.2-inbox-07",
    "R001-4.2-inbox-08",
    "R001-4.2-inbox-09",
    "R001-8.3-05",
)
def test_the_table_is_the_seeds(crew, write_rows, foreign_row):
    now = time.time()
    write_rows("ann", *[foreign_row(str(i), at=now - 130 - i, read=i > 2) for i in range(12)])
    write_rows("bob", foreign_row("x", at=now - 3700, read=True))
    assert crew("inbox").out.splitlines() == [
        "Team: crew",
        "",
        "  Agent  Unread  Total  Latest",
        "  ────────────────────────────",
        "  ann         3     12  2m ago",
        "  bob         0      1  1h ago",
    ]


@proves("R001-4.2-inbox-01")
def test_looking_marks_nothing(crew):
    crew("send", "ann", "hello")
    crew("inbox", env=ANN)
    assert crew.rows("ann")[0]["read"] is False


def test_json_has_a_number_for_everything(crew, write_rows, foreign_row):
    write_rows("ann", foreign_row("a"), foreign_row("b", read=True), foreign_row(IDLE), 17)
    one = crew("inbox", "--json").json["teams"][0]["inboxes"][0]
    assert one["agent"] == "ann"
    assert (one["unread"], one["total"], one["idle_notifications"], one["malformed_rows"]) == (1, 3, 1, 1)
    assert one["latest"].endswith("Z")
    assert one["bytes"] == crew.inbox("ann").stat().st_size


def test_idle_noise_and_unknown_rows_are_collapsed_into_one_line_each(crew, write_rows, foreign_row):
    write_rows("ann", *[foreign_row(IDLE)] * 30, foreign_row("work"), 17, "x")
    out = crew("inbox").out
    assert ["ann", "1", "31"] in [line.split()[:3] for line in out.splitlines()]
    assert out.count("idle") == 1
    assert "ann: 30 idle notices, not counted as unread" in out
    assert "ann: 2 rows are not messages" in out


def test_one_idle_notice_is_one(crew, write_rows, foreign_row):
    write_rows("ann", foreign_row(IDLE))
    assert "ann: 1 idle notice, not counted as unread" in crew("inbox").out


def test_an_idle_notice_does_not_count_as_the_latest_word(crew, write_rows, foreign_row):
    now = time.time()
    write_rows("ann", foreign_row("work", at=now - 7300), foreign_row(IDLE, at=now))
    assert "2h ago" in crew("inbox").out


def test_an_empty_inbox_has_no_latest(crew):
    assert ["ann", "0", "0", "-"] in [line.split() for line in crew("inbox").out.splitlines()]


@proves("R001-4.2-inbox-03", "R001-4.4-02")
def test_a_team_can_be_named(crew):
    crew("teams", "create", "other", "--lead", "zoe")
    out = crew("inbox", "--team", "other").out
    assert "zoe" in out
    assert "ann" not in out


@proves("R001-4.2-inbox-04")
def test_all_teams_are_shown_one_after_the_other(crew):
    crew("teams", "create", "other", "--lead", "zoe")
    out = crew("inbox", "--all-teams").out
    assert out.index("Team: crew") < out.index("Team: other")
    assert [team["team"] for team in crew("inbox", "-A", "--json").json["teams"]] == ["crew", "other"]


def test_all_of_no_teams_says_how_to_make_one(atm):
    assert "atm teams create" in atm("inbox", "--all-teams").out


def test_one_broken_team_does_not_hide_the_others(crew):
    broken = crew.home / ".claude/teams/broken"
    broken.mkdir()
    (broken / "config.json").write_text("{")
    result = crew("inbox", "--all-teams", code=None)
    assert "ann" in result.out
    assert "broken" in result.out + result.err


def test_an_unreadable_inbox_is_shown_as_such_beside_the_others(crew):
    crew.inbox("ann").write_text('{"an": "object"}')
    crew("send", "bob", "x")
    result = crew("inbox")
    lines = [line.split() for line in result.out.splitlines()]
    assert ["ann", "?", "?", "unreadable"] in lines
    assert ["bob", "1", "1"] in [line[:3] for line in lines]
    broken = crew("inbox", "--json").json["teams"][0]["inboxes"][0]
    assert broken["error"]["code"] == "unreadable-file"


def test_the_inbox_of_somebody_who_is_no_member_is_listed_last(crew):
    crew.inbox("aaron").write_text("[]")
    rows = [line.split()[0] for line in crew("inbox").out.splitlines()[4:]]
    assert rows == ["ann", "bob", "aaron"]


def test_files_that_other_tools_leave_beside_inboxes_are_no_inboxes(crew):
    for name in (".lock", "ann.json.tmp", ".hidden.json", "ann.json.lock"):
        (crew.inbox("ann").parent / name).write_text("")
    assert set(counts(crew("inbox", "--json"))) == {"ann", "bob"}


@proves("R001-4.4-16")
@pytest.mark.parametrize(
    ("style", "shown"), [("iso8601", "2001-09-09T01:46:40"), ("absolute", "2001-09-09"), ("relative", "d ago")]
)
def test_times_are_shown_as_the_settings_want(crew, write_rows, foreign_row, configure, style, shown):
    write_rows("ann", foreign_row("x", at=1_000_000_000))
    configure(display={"timestamps": style})
    assert shown in crew("inbox").out


def test_a_time_in_the_future_is_called_that(crew, write_rows, foreign_row):
    write_rows("ann", foreign_row("x", at=time.time() + 90_000))
    assert "in the future" in crew("inbox").out


class TestWatching:
    def test_without_a_terminal_each_new_message_is_a_line(self, crew):
        crew("send", "ann", "old")
        process = crew.start("inbox", "--watch")
        lines = self.lines_until("bob → ann@crew", process, lambda n: crew("send", "ann", f"new {n}", "--from", "bob"))
        assert "new" in lines[-1]
        assert not any("old" in line for line in lines)

    def test_json_is_one_object_a_line(self, crew):
        process = crew.start("inbox", "--watch", "--json")
        lines = self.lines_until("new", process, lambda n: crew("send", "ann", f"new {n}"))
        message = json.loads(lines[0])
        assert (message["team"], message["agent"]) == ("crew", "ann")
        assert message["text"].startswith("new")

    def test_the_inbox_of_a_new_member_is_watched_too(self, crew):
        process = crew.start("inbox", "--watch")
        self.lines_until("ann@crew", process, lambda n: crew("send", "ann", f"m{n}"))
        crew("teams", "add-member", "crew", "cat")
        lines = self.lines_until("cat@crew", process, lambda n: crew("send", "cat", f"hello {n}"))
        assert "hello" in lines[-1]

    def test_idle_notices_are_not_reported(self, crew, write_rows, foreign_row):
        process = crew.start("inbox", "--watch")
        self.lines_until("bob@crew", process, lambda n: crew("send", "bob", f"m{n}"))
        write_rows("ann", foreign_row(IDLE))
        lines = self.lines_until("end", process, lambda n: crew("send", "bob", f"end {n}"))
        lines += self.lines_until("later", process, lambda n: crew("send", "bob", f"later {n}"))  # one more look at ann
        assert not any("idle" in line for line in lines)

    def test_the_first_message_of_an_inbox_that_could_not_be_read_at_first_is_reported(self, crew, capsys):
        """Both a team without any inbox, and one whose new inbox is just being written by another program."""
        inbox = crew.home / ".claude/teams/crew/inboxes/ann.json"
        for path in inbox.parent.glob("*.json"):
            path.unlink()
        session, followers = Session({**crew.environment, "ATM_TEAM": "crew"}), Followers()
        show(session, ["crew"], followers, begun=False)
        inbox.write_text('[{"from": "bob", "te')
        show(session, ["crew"], followers, begun=True)
        inbox.unlink()
        crew("send", "ann", "the first", "--from", "bob")
        show(session, ["crew"], followers, begun=True)
        assert capsys.readouterr().out.count("the first") == 1

    @proves("R001-8.2-08")
    def test_it_ends_after_the_given_time_with_0(self, crew):
        crew("inbox", "--watch", "--for", "0.2", timeout=60)

    @proves("R001-8.2-05")
    def test_a_team_that_vanishes_does_not_end_it_with_a_trace(self, crew):
        process = crew.start("inbox", "--watch", "--for", "1")
        (crew.home / ".claude/teams/crew").rename(crew.home / "gone")
        err = process.communicate(timeout=60)[1]
        assert b"Traceback" not in err
        assert b"bug in atm" not in err

    def lines_until(self, wanted, process, send):
        """Send until the watch reports it; it may still be starting when the first message goes."""
        lines: list[str] = []
        number, end = 0, time.monotonic() + 60
        while not lines or wanted not in lines[-1]:
            assert time.monotonic() < end, lines
            if select.select([process.stdout], [], [], 0.25 if number else 0)[0]:
                lines.append(take_line(process.stdout))
            else:
                send(number)
                number += 1
        return lines


def take_line(stream):
    """Byte by byte: what were read ahead, `select` would not see any more."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(stream.fileno(), 1)
        assert byte, f"it ended after {line!r}"
        line += byte
    return line.decode().rstrip("\n")
