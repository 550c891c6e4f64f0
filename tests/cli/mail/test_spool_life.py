"""The life of a message that could not be delivered at once: queued, tried, delivered in order, given up, revived."""

from __future__ import annotations

import json
import os
import time

import pytest
from tests.proving import proves


def texts(atm, agent="ann"):
    return [row["text"] for row in atm.rows(agent)]


def entry(atm, number=0):
    return json.loads(atm.pending[number].read_text())


def edit(path, **fields):
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def failed(atm):
    return sorted((atm.home / ".config/atm/spool/failed").glob("*.json"))


@pytest.fixture
def queued(crew, block):
    """A message that waits for ann, and the way to open her inbox again."""
    reopen = block("ann")
    crew("send", "ann", "first")
    return crew, reopen


@proves(
    "R000-lock-16",
    "R000-delivery-retry-02",
    "R001-3.2-03",
    "R001-3.2-06",
    "R001-3.2-12",
    "R001-3.2-13",
    "R001-3.2-42",
    "R001-3.3-17",
)
@pytest.mark.hurried
def test_a_lock_that_somebody_holds_is_waited_for_five_seconds_then_the_message_is_queued(crew):
    lock = crew.inbox("ann").with_name("ann.json.lock")
    lock.mkdir()
    started = time.monotonic()
    result = crew("send", "ann", "hello", "--json")
    assert time.monotonic() - started >= 4.5
    assert result.json["outcome"] == "queued"
    assert "Message queued for delivery (could not write to inbox immediately)" in result.err
    assert crew.rows("ann") == []
    assert lock.is_dir(), "a live stranger's lock is never broken"
    lock.rmdir()
    crew("spool", "retry")
    assert texts(crew) == ["hello"]
    assert crew.pending == []


def test_a_lock_that_was_left_behind_long_ago_is_broken(crew):
    lock = crew.inbox("ann").with_name("ann.json.lock")
    lock.mkdir()
    os.utime(lock, (time.time() - 120, time.time() - 120))
    assert crew("send", "ann", "hello", "--json").json["outcome"] == "success"
    assert not lock.exists()


@proves("R001-3.3-02", "R001-3.3-06", "R001-3.3-19")
def test_a_message_is_whole_in_the_spool_before_the_command_says_so(queued):
    atm, _ = queued
    found = entry(atm)
    assert (found["target_team"], found["target_agent"]) == ("crew", "ann")
    assert found["message"]["text"] == "first"
    assert found["message_id"] == found["message"]["message_id"]


@proves("R001-3.3-08", "R001-3.3-19", "R004-architecture-11")
@pytest.mark.parametrize("words", [["inbox"], ["read", "ann"], ["status"], ["receipts", "x"], ["spool", "retry"]])
def test_the_next_command_delivers_it(queued, words):
    atm, reopen = queued
    reopen()
    atm(*words, code=None)
    assert texts(atm) == ["first"]
    assert atm.pending == []


@proves("R001-3.3-08")
@pytest.mark.parametrize("words", [["send", "bob", "x"], ["broadcast", "x", "--from", "ann"]])
def test_the_next_mail_to_somebody_else_delivers_it_too(queued, words):
    atm, reopen = queued
    reopen()
    atm(*words)
    assert texts(atm)[:1] == ["first"], "D8: every mail command drains what is due"


def test_a_reader_who_waits_gets_what_falls_due_meanwhile(queued):
    """Without a daemon nobody else may come by; the reader itself is there and has time."""
    atm, reopen = queued
    reopen()
    edit(atm.pending[0], next_attempt=time.time() + 0.5)
    result = atm("read", "--wait", "30", "--json", env={"ATM_IDENTITY": "ann"}, code=None)
    assert [message["text"] for message in result.json["messages"]] == ["first"]


@proves("R001-3.1-13")
def test_it_is_delivered_once_however_many_commands_try(queued):
    atm, reopen = queued
    reopen()
    edit(atm.pending[0], next_attempt=0)
    racers = [atm.start("inbox") for _ in range(5)]
    for racer in racers:
        racer.communicate(timeout=60)
    assert len(texts(atm)) <= 1, "none if each found another at it just then"
    for path in atm.pending:
        edit(path, next_attempt=0)
    atm("inbox")
    assert texts(atm) == ["first"]


def test_two_that_wait_and_a_third_that_is_sent_later_arrive_in_order(queued):
    atm, reopen = queued
    atm("send", "ann", "second")
    reopen()
    atm("send", "ann", "third")
    assert texts(atm) == ["first", "second", "third"]


@proves("R001-3.3-05")
def test_while_one_waits_later_ones_wait_behind_it(queued):
    atm, _ = queued
    result = atm("send", "ann", "second", "--json")
    assert result.json["outcome"] == "queued"
    assert "earlier mail for this recipient still waits" in result.err
    assert len(atm.pending) == 2


def test_order_holds_for_every_name_that_may_be_created(crew, block):
    """`.json` inside a name: the spool's file names are cut at the first one."""
    crew("teams", "add-member", "crew", "a.json")
    reopen = block("a.json")
    crew("send", "a.json", "first")
    reopen()
    crew("send", "a.json", "second")
    assert texts(crew, "a.json") == ["first", "second"]


def test_others_are_not_held_up(queued):
    atm, _ = queued
    assert atm("send", "bob", "x", "--json").json["outcome"] == "success"


def test_a_long_queue_for_one_does_not_hold_up_a_short_one_for_another(queued, block):
    atm, _ = queued
    path, found = atm.pending[0], entry(atm)
    for number in range(25):
        id = f"{number:08d}{found['message_id'][8:]}"
        message = {**found["message"], "message_id": id, "msg_id": id}
        later = int(path.name.split("-")[0]) + number + 1
        copy = path.with_name(f"{later:019d}-{id[:8]}-ann@crew.json")
        copy.write_text(json.dumps({**found, "message_id": id, "message": message}))
    reopen_bob = block("bob")
    atm("send", "bob", "for bob")
    reopen_bob()
    atm("inbox")
    assert texts(atm, "bob") == ["for bob"]


def test_many_whose_time_has_not_come_do_not_hold_up_one_whose_time_has(queued):
    """Twenty recipients in their pauses cost nothing to pass over; they must not use up what a command may try."""
    atm, _ = queued
    path, found = atm.pending[0], {**entry(atm), "life": ""}  # ann's, and these are for others
    for number, agent in enumerate([*(f"m{n}" for n in range(25)), "bob"]):
        id = f"{number:08d}{found['message_id'][8:]}"
        message = {**found["message"], "message_id": id, "msg_id": id}
        later = int(path.name.split("-")[0]) + number + 1
        due = 0 if agent == "bob" else time.time() + 900
        waiting = {**found, "message_id": id, "message": message, "target_agent": agent, "next_attempt": due}
        path.with_name(f"{later:019d}-{id[:8]}-{agent}@crew.json").write_text(json.dumps(waiting))
    atm("inbox")
    assert texts(atm, "bob") == ["first"]


class TestRetries:
    @proves("R001-3.3-11")
    def test_each_try_waits_longer_than_the_last(self, queued):
        atm, _ = queued
        edit(atm.pending[0], retry_count=0)
        waits = []
        for _ in range(3):
            edit(atm.pending[0], next_attempt=0)
            atm("inbox")
            found = entry(atm)
            waits.append(found["next_attempt"] - found["last_attempt"])
        assert found["retry_count"] == 3
        assert [low <= wait <= high for wait, low, high in zip(waits, (3, 7, 15), (7, 13, 26), strict=True)] == [
            True
        ] * 3

    def test_before_its_time_nothing_is_tried(self, queued):
        atm, reopen = queued
        reopen()
        edit(atm.pending[0], next_attempt=time.time() + 3600, retry_count=4)
        atm("inbox")
        assert texts(atm) == []
        assert entry(atm)["retry_count"] == 4

    @proves("R001-3.3-28", "R001-3.3-29")
    def test_retry_does_not_wait_for_the_time(self, queued):
        atm, reopen = queued
        reopen()
        edit(atm.pending[0], next_attempt=time.time() + 3600)
        result = atm("spool", "retry", "--json")
        assert result.json == {"action": "spool-retry", "delivered": 1, "waiting": 0, "failed": 0}
        assert texts(atm) == ["first"]

    @proves("R001-3.3-29")
    def test_retry_says_what_still_waits_and_ends_with_2(self, queued):
        atm, _ = queued
        assert "0 delivered, 1 waiting, 0 given up" in atm("spool", "retry", code=2).out

    @proves("R000-delivery-retry-06", "R001-3.3-03", "R001-3.3-12", "R001-3.3-14")
    def test_the_tenth_try_is_the_last_and_nothing_is_deleted(self, queued):
        atm, _ = queued
        edit(atm.pending[0], retry_count=9)
        atm("spool", "retry", code=2)
        assert atm.pending == []
        assert [json.loads(path.read_text())["message"]["text"] for path in failed(atm)] == ["first"]

    @proves("R001-3.3-12")
    def test_the_ninth_is_not(self, queued):
        atm, _ = queued
        edit(atm.pending[0], retry_count=8)
        atm("spool", "retry", code=2)
        assert len(atm.pending) == 1

    def test_a_burst_of_sends_does_not_use_up_the_tries(self, queued):
        """Each send tries what waits for the same recipient, whatever its next turn is."""
        atm, reopen = queued
        for number in range(10):
            atm("send", "ann", f"later {number}")
        assert failed(atm) == [], "ten sends within a second are no ten tries with growing pauses"
        reopen()
        atm("spool", "retry")
        assert texts(atm) == ["first", *(f"later {n}" for n in range(10))]

    def test_a_message_for_a_team_that_is_gone_is_given_up_and_kept(self, queued):
        atm, _ = queued
        (atm.home / ".claude/teams/crew").rename(atm.home / "gone")
        atm("spool", "retry", code=None)
        assert len(failed(atm)) + len(atm.pending) == 1


class TestFailed:
    @pytest.fixture
    def given_up(self, queued):
        atm, reopen = queued
        edit(atm.pending[0], retry_count=9)
        atm("spool", "retry", code=2)
        return atm, reopen

    def test_it_is_not_tried_again_by_itself(self, given_up):
        atm, reopen = given_up
        reopen()
        atm("inbox")
        atm("spool", "retry")
        assert texts(atm) == []

    @proves("R000-delivery-retry-06")
    def test_retry_failed_delivers_it(self, given_up):
        atm, reopen = given_up
        reopen()
        assert atm("spool", "retry", "--failed", "--json").json["delivered"] == 1
        assert texts(atm) == ["first"]
        assert failed(atm) == []

    def test_retry_failed_begins_to_count_anew(self, given_up):
        atm, _ = given_up
        atm("spool", "retry", "--failed", code=2)
        assert entry(atm)["retry_count"] == 1

    def test_the_list_shows_it_apart(self, given_up):
        atm, _ = given_up
        assert [one["tries"] for one in atm("spool", "list", "--json").json["failed"]] == [10]
        assert "failed" in atm("spool").out

    def test_the_doctor_names_the_command(self, given_up):
        atm, _ = given_up
        findings = {one["code"]: one for one in atm("doctor", "--json", code=1).json["findings"]}
        assert "atm spool retry --failed" in findings["spool-failed"]["command"]


class TestList:
    def test_each_message_has_its_reason(self, queued):
        atm, _ = queued
        out = atm("spool").out
        assert entry(atm)["message_id"][:8] in out
        assert "ann@crew" in out
        assert "Is a directory" in out

    def test_json_has_the_next_attempt_and_the_path(self, queued):
        atm, _ = queued
        edit(atm.pending[0], retry_count=3)
        atm("spool", "retry", code=2)
        (one,) = atm("spool", "--json").json["pending"]
        assert one["tries"] == 4
        assert one["next_attempt"].endswith("Z")
        assert one["path"] == str(atm.pending[0])

    def test_nothing_is_said_in_words(self, crew):
        assert crew("spool").out == "Nothing waits.\n"
        assert crew("spool", "list", "--json").json == {
            "action": "spool",
            "pending": [],
            "failed": [],
            "unreadable": [],
        }

    def test_looking_does_not_deliver(self, queued):
        atm, reopen = queued
        reopen()
        atm("spool", "list")
        assert len(atm.pending) == 1

    def test_a_file_that_cannot_be_read_is_not_passed_over_in_silence(self, queued):
        atm, _ = queued
        atm.pending[0].write_text("torn by a bad disk")
        seen = atm("spool").out + atm("doctor", code=None).out
        assert "Nothing waits" not in seen
        assert atm.pending[0].name in seen

    @proves("R001-3.3-05")
    def test_two_waiting_for_different_people_are_two_lines(self, queued, block):
        atm, _ = queued
        block("bob")
        atm("send", "bob", "x")
        assert [one["agent"] for one in atm("spool", "--json").json["pending"]] == ["ann", "bob"]


class TestDrop:
    def test_it_shows_first_and_drops_nothing(self, queued):
        atm, _ = queued
        result = atm("spool", "drop", entry(atm)["message_id"][:8])
        assert "would drop" in result.out
        assert "--yes" in result.out
        assert len(atm.pending) == 1

    def test_with_yes_it_is_gone(self, queued):
        atm, reopen = queued
        id = entry(atm)["message_id"]
        assert atm("spool", "drop", id, "--yes", "--json").json["dropped"][0]["message_id"] == id
        reopen()
        atm("inbox")
        assert texts(atm) == []
        assert atm.pending == []

    @pytest.mark.parametrize("words", [[], [""], ["ffffffff"]])
    def test_without_a_message_that_is_meant_nothing_goes(self, queued, words):
        atm, _ = queued
        atm("spool", "drop", *words, "--yes", code=1)
        assert len(atm.pending) == 1

    def test_all_failed_leaves_what_still_waits(self, queued, block):
        atm, _ = queued
        block("bob")
        atm("send", "bob", "given up")
        edit(atm.pending[1], retry_count=9)
        atm("spool", "retry", code=2)
        atm("spool", "drop", "--all-failed", "--yes")
        assert failed(atm) == []
        assert len(atm.pending) == 1


def test_the_spool_is_private(queued):
    atm, _ = queued
    assert atm.pending[0].stat().st_mode & 0o077 == 0
    assert atm.pending[0].parent.stat().st_mode & 0o077 == 0
