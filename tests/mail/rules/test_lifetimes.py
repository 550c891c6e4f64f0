"""Which rows may go: never what is unread or not understood (D10)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.mail.rules.lifetimes import DAY, MOST_READ, RetentionPolicy, RowFacts, removable

NOW = 1_788_000_000.0


def read_row(days_old: float | None = 100, idle: str | None = None) -> RowFacts:
    return RowFacts(read=True, at=None if days_old is None else NOW - days_old * DAY, idle_sender=idle)


def unread_row(idle: str | None = None) -> RowFacts:
    return RowFacts(read=False, at=NOW - 100 * DAY, idle_sender=idle)


def test_a_small_inbox_cannot_hold_so_many_messages_that_any_may_go():
    policy = RetentionPolicy(compact_above=1000)
    assert not policy.may_concern(63_999)
    assert policy.may_concern(64_000)


ROWS = st.lists(
    st.builds(
        RowFacts,
        read=st.booleans(),
        at=st.none() | st.floats(NOW - 20 * DAY, NOW + DAY) | st.just(NOW - 7 * DAY),
        idle_sender=st.none() | st.sampled_from(["ann", "bob"]),
        understood=st.sampled_from([True, True, True, False]),
    ),
    max_size=25,
)
POLICIES = st.builds(
    RetentionPolicy, keep_read=st.integers(0, 8), keep_days=st.sampled_from([0, 0.5, 7]), keep_idle=st.integers(0, 3)
)


class TestProperties:
    @proves("R000-compaction-04")
    @given(ROWS, POLICIES)
    def test_what_is_unread_or_not_understood_never_goes(self, rows, policy):
        for place in removable(rows, policy, NOW):
            assert rows[place].read
            assert rows[place].understood

    @given(ROWS, POLICIES)
    def test_places_are_named_once_and_in_order(self, rows, policy):
        gone = removable(rows, policy, NOW)
        assert gone == sorted(set(gone))

    @proves("R000-compaction-05", "R001-8.6-04")
    @given(ROWS, POLICIES)
    def test_the_newest_read_rows_stay(self, rows, policy):
        gone = set(removable(rows, policy, NOW))
        reads = [i for i, row in enumerate(rows) if row.read and row.understood and row.idle_sender is None]
        newest = reads[len(reads) - min(policy.keep_read, len(reads)) :]
        assert not gone & set(newest)
        assert len(set(reads) - gone) >= min(policy.keep_read, len(reads))

    @proves("R000-compaction-05", "R001-8.6-05")
    @given(ROWS, POLICIES)
    def test_the_last_days_stay(self, rows, policy):
        for place in removable(rows, policy, NOW):
            row = rows[place]
            if row.idle_sender is None:
                assert row.at is not None
                assert row.at < NOW - policy.keep_days * DAY

    @given(ROWS, POLICIES)
    def test_the_last_idle_notices_of_each_sender_stay(self, rows, policy):
        gone = set(removable(rows, policy, NOW))
        for sender in ("ann", "bob"):
            notices = [i for i, row in enumerate(rows) if row.idle_sender == sender and row.understood]
            newest = notices[len(notices) - min(policy.keep_idle, len(notices)) :]
            assert not gone & set(newest)

    @given(ROWS, POLICIES)
    def test_everything_else_goes(self, rows, policy):
        gone = set(removable(rows, policy, NOW))
        for i, row in enumerate(rows):
            if not row.read or not row.understood or i in gone:
                continue
            later = [other for other in rows[i + 1 :] if other.understood and other.idle_sender == row.idle_sender]
            if row.idle_sender is not None:
                assert len(later) < policy.keep_idle
            elif row.at is not None and sum(other.read for other in later) >= policy.keep_read:
                assert row.at >= NOW - policy.keep_days * DAY

    @given(ROWS, POLICIES)
    def test_a_second_pass_finds_nothing_more(self, rows, policy):
        gone = set(removable(rows, policy, NOW))
        left = [row for i, row in enumerate(rows) if i not in gone]
        assert removable(left, policy, NOW) == []


class TestEdges:
    @proves("R000-compaction-05", "R000-compaction-06", "R000-compaction-08")
    def test_the_numbers_of_the_design_are_the_defaults(self):
        policy = RetentionPolicy()
        assert (policy.keep_read, policy.keep_days, policy.keep_idle, policy.compact_above) == (500, 7, 10, 1000)

    def test_an_empty_inbox_has_nothing_to_remove(self):
        assert removable([], RetentionPolicy(), NOW) == []

    @proves("R001-8.6-06")
    def test_old_rows_go_only_beyond_the_newest(self):
        rows = [read_row() for _ in range(502)]
        assert removable(rows, RetentionPolicy(), NOW) == [0, 1]
        assert removable(rows[:500], RetentionPolicy(), NOW) == []

    @proves("R001-8.6-06")
    def test_young_rows_stay_however_many_there_are(self):
        assert removable([read_row(days_old=1) for _ in range(2000)], RetentionPolicy(), NOW) == []

    @pytest.mark.parametrize(("age", "gone"), [(6.99, []), (7, []), (7.01, [0])])
    def test_a_row_of_exactly_seven_days_stays(self, age, gone):
        assert removable([read_row(age)], RetentionPolicy(keep_read=0), NOW) == gone

    def test_a_row_whose_time_cannot_be_read_stays(self):
        assert removable([read_row(days_old=None)], RetentionPolicy(keep_read=0, keep_days=0), NOW) == []

    def test_a_row_from_the_future_stays(self):
        assert removable([read_row(days_old=-1)], RetentionPolicy(keep_read=0, keep_days=0), NOW) == []

    def test_unread_rows_do_not_count_among_the_newest(self):
        rows = [read_row(), read_row(), unread_row(), unread_row()]
        assert removable(rows, RetentionPolicy(keep_read=1), NOW) == [0]

    def test_with_nothing_to_keep_every_old_read_row_goes(self):
        rows = [read_row(), unread_row(), read_row(), RowFacts(read=True, at=0.0, understood=False)]
        assert removable(rows, RetentionPolicy(keep_read=0, keep_days=0, keep_idle=0), NOW) == [0, 2]

    def test_idle_notices_go_even_if_they_are_young(self):
        rows = [read_row(days_old=0, idle="ann") for _ in range(12)]
        assert removable(rows, RetentionPolicy(), NOW) == [0, 1]

    @proves("R000-compaction-06")
    def test_idle_notices_are_counted_for_each_sender(self):
        rows = [read_row(0, idle) for idle in ("ann", "bob", "ann", "bob", "ann")]
        assert removable(rows, RetentionPolicy(keep_idle=1), NOW) == [0, 1, 2]

    def test_an_unread_idle_notice_stays_but_counts(self):
        rows = [read_row(0, "ann"), unread_row("ann"), unread_row("ann"), read_row(0, "ann")]
        assert removable(rows, RetentionPolicy(keep_idle=1), NOW) == [0]

    def test_idle_notices_take_no_place_of_messages(self):
        rows = [read_row(), *[read_row(0, "ann") for _ in range(5)]]
        assert removable(rows, RetentionPolicy(keep_read=1, keep_idle=5), NOW) == []


class TestSize:
    def test_read_rows_beyond_the_most_that_may_stay_go_from_the_oldest_on_however_new_they_are(self):
        rows = [RowFacts(read=n != 1, at=NOW, size=MOST_READ // 3) for n in range(6)]
        assert removable(rows, RetentionPolicy(), NOW) == [0, 2]

    def test_unread_rows_and_rows_that_are_no_messages_stay_however_large(self):
        rows = [RowFacts(read=False, at=NOW, size=1 << 40), RowFacts(read=True, at=0.0, understood=False, size=1 << 40)]
        assert removable(rows, RetentionPolicy(), NOW) == []
