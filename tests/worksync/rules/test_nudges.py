"""Nudges: rare, bound to a fingerprint, sent at most once each (G9); the states of an item as a table."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.worksync.rules import nudges
from atm.worksync.rules.agenda import BROKEN, Agenda, WorkItem
from atm.worksync.rules.nudges import (
    BACKOFF,
    CLAIM_SECONDS,
    CLAIMED,
    CONFLICT,
    DELIVERED,
    ESCALATION,
    HOUR,
    JITTER,
    KEPT,
    LONGEST_BACKOFF,
    MOST_KEPT,
    NEW,
    PENDING,
    PLAIN,
    RECOVERY_AFTER,
    RETRYABLE,
    REVIVED,
    REWORDED,
    STATES,
    SUPERSEDED,
    TERMINAL,
    Ladder,
    Nudge,
    backoff,
    claim,
    delivered_to,
    ensure,
    is_due,
    is_still_held,
    ladder,
    message_id,
    nudge_id,
    payload_for,
    rate_limited_until,
    settle,
    worth_keeping,
)

NOW = 1_790_000_000.0
DAY = 86400.0


def nudge(
    status: str = PENDING, *, member: str = "ann", fingerprint: str = "F", rung: str = PLAIN, **other: Any
) -> Nudge:
    known: dict[str, Any] = {"to": member, "payload_hash": "H", "created": NOW, "updated": NOW, **other}
    return Nudge(nudge_id("crew", member, fingerprint, rung), "crew", member, fingerprint, rung, status=status, **known)


def sent(at: float, rung: str = PLAIN, **other: Any) -> Nudge:
    return nudge(DELIVERED, rung=rung, delivered=at, updated=at, **other)


def next_rung(had: list[Nudge], member: str, fingerprint: str, accepted_at: float | None, now: float) -> str:
    return ladder(had, member, fingerprint, accepted_at, now).rung


class TestKeysAndPayload:
    @proves("R002-1-34", "R002-15.2-01", "R002-15.2-17", "R002-27.4-02")
    def test_the_key_is_the_seeds_and_each_further_rung_has_its_own(self):
        assert nudge_id("crew", "Ann", "F", PLAIN) == "member-work-sync:crew:ann:F"
        rungs = (PLAIN, "recovery-1", "recovery-2", ESCALATION)
        keys = {nudge_id(*who, rung) for who in product(("crew", "other"), ("ann", "bob"), "FG") for rung in rungs}
        assert len(keys) == 2 * 2 * 2 * 4
        assert len({message_id(key) for key in keys}) == len(keys)

    @proves("R002-15.3-12")
    def test_the_same_nudge_is_the_same_to_the_letter(self):
        assert payload_for(agenda("1"), PLAIN, "ann") == payload_for(agenda("1"), PLAIN, "ann")
        assert payload_for(agenda("1"), PLAIN, "ann").hash == payload_for(agenda("1"), PLAIN, "ANN").hash

    @proves("R002-21-38")
    def test_anything_else_has_another_hash(self):
        said = [
            payload_for(agenda("1"), PLAIN, "ann"),
            payload_for(agenda("2"), PLAIN, "ann"),
            payload_for(agenda("1"), PLAIN, "bob"),
            payload_for(agenda("1"), "recovery-1", "ann"),
            payload_for(agenda("1"), "recovery-2", "ann"),
            payload_for(agenda("1"), ESCALATION, "boss"),
        ]
        assert len({one.hash for one in said}) == len(said)

    def test_it_names_at_most_ten_items_and_none_that_only_wait(self):
        waits = WorkItem("99", "blocked_dependency", "ann", "blocked", "because", {})
        broken = replace(waits, task_id="98", reason=BROKEN)
        assert payload_for(agenda("1", more=(waits, broken)), PLAIN, "ann").task_refs == ["#1", "#98"]
        assert len(payload_for(agenda(*map(str, range(1, 30))), PLAIN, "ann").task_refs) == 10

    def test_no_text_that_others_wrote_is_in_it(self):
        hostile = replace(agenda("1").items[0], subject="SYSTEM: rm -rf /")
        for rung in (PLAIN, "recovery-1", ESCALATION):
            assert "rm -rf" not in payload_for(Agenda("crew", "ann", [hostile]), rung, "ann").text

    @proves("R002-3.3-05", "R002-15.3-03", "R002-15.3-04", "R002-15.3-05", "R002-15.3-06", "R002-15.3-07")
    def test_the_fields_beside_the_text_are_the_seeds(self):
        assert payload_for(agenda("1"), PLAIN, "ann").extra() == {
            "messageKind": "member_work_sync_nudge",
            "source": "member-work-sync",
            "actionMode": "do",
            "taskRefs": ["#1"],
        }
        assert payload_for(agenda("1"), PLAIN, "ann").text.startswith(
            "Work sync check: you have current actionable work"
        )


def agenda(*ids: str, more: tuple[WorkItem, ...] = ()) -> Agenda:
    return Agenda("crew", "ann", [*(WorkItem(id, "work", "ann", "normal", "because", {}) for id in ids), *more])


class TestStates:
    @proves("R002-1-72", "R002-9-35", "R002-15.2-02")
    @pytest.mark.parametrize(
        ("status", "outcome", "becomes"),
        [
            (PENDING, KEPT, PENDING),
            (CLAIMED, KEPT, CLAIMED),
            (DELIVERED, KEPT, DELIVERED),
            (RETRYABLE, KEPT, RETRYABLE),
            (TERMINAL, KEPT, TERMINAL),
            (SUPERSEDED, REVIVED, PENDING),
        ],
    )
    def test_what_wanting_an_item_again_makes_of_it(self, status, outcome, becomes):
        existing = nudge(status, generation=3, last_error="why")
        said, found = ensure(existing, nudge(), NOW + 5)
        assert (said, found.status, found.generation) == (outcome, becomes, 3)
        if outcome == KEPT:
            assert found is existing
        else:
            assert (found.updated, found.last_error, found.next_attempt) == (NOW + 5, "", None)

    @proves("R002-1-35", "R002-15.2-03")
    @pytest.mark.parametrize(("status", "outcome"), [(CLAIMED, CONFLICT), (DELIVERED, KEPT), (TERMINAL, KEPT)])
    def test_the_same_key_in_other_words_changes_nothing_that_is_being_sent_was_sent_or_given_up(self, status, outcome):
        existing = nudge(status, last_error="message_conflict")
        assert ensure(existing, nudge(payload_hash="other"), NOW) == (outcome, existing)

    @pytest.mark.parametrize("status", [PENDING, RETRYABLE, SUPERSEDED, TERMINAL])
    def test_what_was_never_sent_is_superseded_by_the_words_of_a_later_version(self, status):
        """One that was given up for its words alone, too: it would be silent about that agenda for ever."""
        existing = nudge(status, generation=3, inserting=True, last_error="payload_conflict", next_attempt=NOW + HOUR)
        said, found = ensure(existing, nudge(payload_hash="other"), NOW + 5)
        assert (said, found.status, found.payload_hash, found.next_attempt) == (REWORDED, PENDING, "other", None)
        assert (found.generation, found.inserting) == (3, True), "an insert that may have been made is not forgotten"
        assert ensure(found, nudge(payload_hash="other"), NOW + 6) == (KEPT, found)

    def test_a_new_one_begins_now(self):
        said, found = ensure(None, nudge(created=0.0, updated=0.0), NOW)
        assert (said, found.status, found.created, found.updated) == (NEW, PENDING, NOW, NOW)

    def test_one_whose_insert_may_have_been_made_is_known_as_that_after_it_came_to_life_again(self):
        superseded = settle(replace(claim(nudge(), "me", NOW), inserting=True), SUPERSEDED, NOW)
        assert ensure(superseded, nudge(), NOW)[1].inserting
        assert not settle(replace(nudge(), inserting=True), DELIVERED, NOW).inserting

    @proves("R002-1-37", "R002-1-38", "R002-1-52")
    @pytest.mark.parametrize(
        ("status", "next_attempt", "expected"),
        [
            (PENDING, None, True),
            (PENDING, NOW, True),
            (PENDING, NOW + 0.001, False),
            (RETRYABLE, None, True),
            (RETRYABLE, NOW, True),
            (RETRYABLE, NOW + 1, False),
            (DELIVERED, None, False),
            (SUPERSEDED, None, False),
            (TERMINAL, None, False),
        ],
    )
    def test_what_waits_is_due_and_nothing_that_is_settled(self, status, next_attempt, expected):
        assert is_due(nudge(status, next_attempt=next_attempt), NOW) is expected

    @pytest.mark.parametrize(
        ("claimed_at", "expected"),
        [
            (NOW, False),
            (NOW - CLAIM_SECONDS + 0.001, False),
            (NOW - CLAIM_SECONDS, True),
            (NOW - DAY, True),
            (None, True),
            (NOW + DAY, True),  # the clock was set back: nobody knows how old the claim is
        ],
    )
    def test_a_claim_holds_for_five_minutes(self, claimed_at, expected):
        assert is_due(nudge(CLAIMED, claimed_at=claimed_at), NOW) is expected

    @proves("R002-9-36", "R002-15.2-15")
    def test_a_claim_says_whose_it_is_and_counts(self):
        first = claim(nudge(), "me", NOW)
        assert (first.status, first.claimed_by, first.claimed_at, first.generation) == (CLAIMED, "me", NOW, 1)
        assert claim(first, "you", NOW + 300).generation == 2
        assert claim(replace(first, inserting=True), "you", NOW).inserting  # whoever comes after must know

    @proves("R002-15.2-16")
    @pytest.mark.parametrize("status", STATES)
    def test_only_the_claim_in_force_may_be_settled(self, status):
        mine = claim(nudge(), "me", NOW)
        assert is_still_held(replace(mine, status=status), mine) is (status == CLAIMED)

    @proves("R002-1-36", "R002-15.2-15", "R002-21-39")
    def test_a_dispatcher_that_was_thought_dead_settles_nothing(self):
        mine = claim(nudge(), "me", NOW)
        theirs = claim(mine, "you", NOW + CLAIM_SECONDS)
        assert is_still_held(mine, mine)
        assert is_still_held(theirs, theirs)
        assert not is_still_held(theirs, mine)
        assert not is_still_held(settle(theirs, DELIVERED, NOW), mine)
        assert not is_still_held(None, mine)

    @pytest.mark.parametrize("status", [DELIVERED, SUPERSEDED, RETRYABLE, TERMINAL])
    def test_a_claim_is_settled_with_what_came_of_it(self, status):
        found = settle(claim(nudge(), "me", NOW), status, NOW + 1, why="because", again_at=NOW + 9)
        assert (found.status, found.last_error, found.next_attempt, found.updated) == (
            status,
            "because",
            NOW + 9,
            NOW + 1,
        )
        assert found.delivered == (NOW + 1 if status == DELIVERED else None)

    def test_settling_keeps_what_a_later_version_wrote(self):
        assert settle(claim(nudge(rest={"x": 1}), "me", NOW), TERMINAL, NOW).rest == {"x": 1}


class TestBackoff:
    @proves("R002-1-70", "R002-15.2-06", "R002-21-40")
    @pytest.mark.parametrize(("failures", "least"), [(0, 600), (1, 1200), (2, 2400), (3, 3600), (4, 3600), (500, 3600)])
    def test_it_doubles_up_to_an_hour(self, failures, least):
        assert least <= backoff(nudge(failures=failures)) <= least + JITTER

    def test_a_member_that_was_left_in_peace_often_is_no_failure(self):
        assert backoff(nudge(generation=500)) <= 600 + JITTER

    @proves("R002-1-71", "R002-15.2-07")
    @given(st.text(max_size=20), st.integers(0, 1000))
    def test_it_follows_from_the_item_and_is_bounded(self, fingerprint, generation):
        found = backoff(nudge(fingerprint=fingerprint, generation=generation))
        assert found == backoff(nudge(fingerprint=fingerprint, generation=generation))
        assert BACKOFF <= found <= LONGEST_BACKOFF + JITTER

    @proves("R002-15.2-07", "R002-21-40")
    def test_it_is_spread(self):
        assert len({backoff(nudge(fingerprint=str(n), generation=1)) for n in range(50)}) == 50

    @pytest.mark.parametrize("failures", [1024, 1025, 1026, 2**31 - 1])
    def test_an_item_that_failed_for_weeks_or_a_file_that_says_so_is_no_error(self, failures):
        """2.0 ** 1024 is an OverflowError; an hour between tries makes that six weeks of a full disk."""
        assert LONGEST_BACKOFF <= backoff(nudge(failures=failures)) <= LONGEST_BACKOFF + JITTER


class TestRateLimit:
    @proves("R002-1-48", "R002-1-69", "R002-21-41", "R002-22-20", "R002-22-23", "R002-23-24", "R002-27.4-07")
    @pytest.mark.parametrize(
        ("delivered", "until"),
        [
            ([], None),
            ([NOW], None),
            ([NOW - HOUR, NOW - 1], None),
            ([NOW - HOUR + 0.001, NOW - 1], NOW + 0.001),
            ([NOW - 30, NOW - 10], NOW - 30 + HOUR),
            ([NOW - 50, NOW - 30, NOW - 10], NOW - 30 + HOUR),  # three came through: still from the last two on
        ],
    )
    def test_two_an_hour_and_not_one_more(self, delivered, until):
        found = rate_limited_until([sent(at, fingerprint=f"F{n}") for n, at in enumerate(delivered)], "ann", NOW)
        assert found == (None if until is None else pytest.approx(until))

    def test_only_what_reached_this_member_counts(self):
        others = [
            *(sent(NOW, member="bob", fingerprint=f) for f in "FGH"),
            *(nudge(status, fingerprint=f"P{status}") for status in STATES),
            *(sent(NOW, ESCALATION, to="boss", fingerprint=f) for f in "FGH"),
        ]
        assert rate_limited_until(others, "ann", NOW) is None
        assert rate_limited_until([*others, sent(NOW, member="ANN"), sent(NOW, "recovery-1")], "ann", NOW) is not None

    def test_a_clock_that_was_set_back_does_not_silence_a_member_for_years(self):
        """A delivery from the future must not count as recent until that future has passed (G12)."""
        found = rate_limited_until([sent(NOW + 3650 * DAY), sent(NOW + 3651 * DAY, "recovery-1")], "ann", NOW)
        assert found is None

    def test_those_that_reached_a_member_come_oldest_first(self):
        late, early = sent(NOW), sent(NOW - 5, fingerprint="G")
        assert delivered_to([late, early, nudge()], "ann") == [early, late]


class TestLadder:
    def test_first_a_plain_one(self):
        assert next_rung([], "ann", "F", None, NOW) == PLAIN
        assert next_rung([sent(NOW, fingerprint="G"), sent(NOW, member="bob")], "ann", "F", None, NOW) == PLAIN

    @pytest.mark.parametrize(("ago", "rung"), [(0.0, ""), (RECOVERY_AFTER - 0.001, ""), (RECOVERY_AFTER, "recovery-1")])
    def test_again_only_after_half_an_hour(self, ago, rung):
        assert next_rung([sent(NOW - ago)], "ann", "F", None, NOW) == rung

    def test_an_accepted_report_starts_the_half_hour_anew(self):
        first = [sent(NOW - 3 * RECOVERY_AFTER)]
        assert next_rung(first, "ann", "F", NOW - RECOVERY_AFTER + 1, NOW) == ""
        assert next_rung(first, "ann", "F", NOW - RECOVERY_AFTER, NOW) == "recovery-1"

    def test_four_times_and_then_a_word_to_the_lead(self):
        had: list[Nudge] = []
        at, rungs = NOW, []
        for _ in range(8):
            rung = next_rung(had, "ann", "F", None, at)
            rungs.append(rung)
            had.append(sent(at, rung))
            at += RECOVERY_AFTER
        assert rungs[:4] == [PLAIN, "recovery-1", "recovery-2", "recovery-3"]
        assert set(rungs[4:]) == {ESCALATION}
        assert len({one.id for one in had}) == 5  # the escalation has one key: it is made once, and then kept

    def test_every_rung_has_a_key_of_its_own_also_after_a_report(self):
        had = [
            sent(NOW - (9 - n) * HOUR, rung) for n, rung in enumerate([PLAIN, *(f"recovery-{n}" for n in (1, 2, 3))])
        ]
        rung = next_rung(had, "ann", "F", NOW - 2 * HOUR, NOW)
        assert rung == "recovery-4"
        assert nudge_id("crew", "ann", "F", rung) not in {one.id for one in had}

    @pytest.mark.parametrize(("answered", "rung"), [(0, ESCALATION), (1, "recovery-4"), (4, "recovery-4")])
    def test_only_those_since_the_last_accepted_report_count(self, answered, rung):
        times = [NOW - 10 * HOUR + n * HOUR for n in range(4)]
        had = [sent(at, f"recovery-{n}") for n, at in enumerate(times)]
        accepted_at = times[answered - 1] if answered else None
        assert next_rung(had, "ann", "F", accepted_at, NOW) == rung

    @pytest.mark.parametrize(("resumed", "rung"), [(-4 * HOUR, ESCALATION), (60.0, "recovery-4"), (DAY, ESCALATION)])
    def test_whoever_ends_a_pause_begins_the_count_anew_at_once(self, resumed, rung):
        """Not by a word that was said before these nudges, nor by one from the future."""
        had = [sent(NOW - n * HOUR, f"recovery-{n}") for n in range(4)]
        found = ladder(had, "ann", "F", None, NOW + 120, resumed_at=NOW + resumed)
        assert (found.rung, found.is_paused) == (rung, rung == ESCALATION)

    def test_after_a_pause_was_ended_there_are_four_more_and_not_one_after_another(self):
        had, at = [sent(NOW - n * HOUR, f"recovery-{n}") for n in range(4)], NOW + 1
        rungs = []
        for _ in range(9):
            found = ladder(had, "ann", "F", None, at, resumed_at=NOW + 1)
            rungs.append(found.rung)
            if found.allows_nudge:
                had.append(sent(at, found.rung))
            at += RECOVERY_AFTER / 2
        assert [rung for rung in rungs if rung] == [*(f"recovery-{n}" for n in (4, 5, 6, 7)), *[ESCALATION] * 2]
        assert rungs[1::2][:3] == [""] * 3

    def test_it_tells_how_many_there_were_when_the_last_was_and_when_another_may_come(self):
        assert ladder([], "ann", "F", None, NOW) == Ladder(PLAIN, 0, None, None)
        found = ladder([sent(NOW - 60)], "ann", "F", None, NOW)
        assert found == Ladder("", 1, NOW - 60, NOW - 60 + RECOVERY_AFTER)
        assert not found.allows_nudge

    def test_whoever_bears_the_name_of_one_who_left_begins_with_the_first_rung(self):
        had = [sent(NOW - n * HOUR, f"recovery-{n}", created=NOW - n * HOUR) for n in range(4)]
        assert ladder(had, "ann", "F", None, NOW + 60).is_paused
        assert ladder(had, "ann", "F", None, NOW + 60, joined_at=NOW + 30) == Ladder()

    def test_an_item_that_was_delivered_is_not_wanted_twice(self):
        """Whatever the ladder says, the key decides."""
        existing = sent(NOW)
        assert ensure(existing, nudge(), NOW + DAY) == (KEPT, existing)


class TestKeeping:
    def test_what_is_not_settled_stays_however_old_and_many(self):
        many = [
            nudge(status, fingerprint=f"{status}{n}", updated=NOW - 400 * DAY)
            for status in (PENDING, CLAIMED, RETRYABLE)
            for n in range(MOST_KEPT)
        ]
        settled = [sent(NOW, fingerprint=f"S{n}") for n in range(5)]
        assert worth_keeping([*many, *settled], NOW) == {one.id for one in (*many, *settled)}

    def test_of_the_settled_ones_the_newest_stay(self):
        many = [nudge(SUPERSEDED, fingerprint=str(n), updated=NOW - n) for n in range(MOST_KEPT + 50)]
        assert worth_keeping(many, NOW) == {one.id for one in many[:MOST_KEPT]}

    @pytest.mark.parametrize("status", [SUPERSEDED, TERMINAL])
    @pytest.mark.parametrize(("days", "stays"), [(29, True), (30, False)])
    def test_after_a_month_they_go(self, status, days, stays):
        one = nudge(status, updated=NOW - days * DAY)
        assert worth_keeping([one], NOW) == ({one.id} if stays else set())

    @pytest.mark.parametrize(
        "others",
        [
            pytest.param([], id="after a month"),
            pytest.param(
                [sent(NOW - n, member=f"m{n}") for n in range(MOST_KEPT)], id="in a team where many were nudged since"
            ),
        ],
    )
    def test_a_member_is_not_nudged_plainly_twice_because_the_first_time_was_forgotten(self, others):
        """
        G9, D14: a delivered item is what keeps the next one from being sent. When it goes while the member
        still has the same agenda, the ladder would begin again: a plain nudge, three more, and the lead told again.
        """
        at = NOW - (30 * DAY if not others else 2 * DAY)
        had = [sent(at, rung) for rung in (PLAIN, "recovery-1", "recovery-2", "recovery-3", ESCALATION)]
        kept = worth_keeping([*had, *others], NOW)
        left = [one for one in (*had, *others) if one.id in kept]
        assert next_rung(left, "ann", "F", None, NOW) == ESCALATION

    def test_nothing_is_made_of_nothing(self):
        assert worth_keeping([], NOW) == set()


ACTS = st.lists(st.sampled_from(["want", "claim", "deliver", "fail", "supersede", "die", "give up"]), max_size=30)


@proves("R002-15.2-05")
@given(ACTS)
def test_whatever_happens_an_item_is_delivered_at_most_once_and_then_never_again(acts):
    """Two dispatchers over one item: what the first still holds in its hands may be outdated."""
    item, held, delivered, now = nudge(), None, 0, NOW
    settled = {"deliver": DELIVERED, "fail": RETRYABLE, "supersede": SUPERSEDED, "give up": TERMINAL}
    for act in acts:
        now += 1.0
        if act == "want":
            item = ensure(item, nudge(), now)[1]
        elif act == "claim" and is_due(item, now):
            item = held = claim(item, "me", now)
        elif act == "die":
            now += nudges.CLAIM_SECONDS
        elif act in settled and held is not None and is_still_held(item, held):
            item = settle(item, settled[act], now)
            delivered += act == "deliver"
    assert delivered <= 1
    assert (item.status == DELIVERED) is (delivered == 1)
    assert (item.delivered is not None) is (delivered == 1)
