"""Two versions of an inbox become one: nothing lost, nothing doubled, both orders kept (G2, G4)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.mail.rules.inbox_merge import additions, put_back, with_rows
from atm.mail.rules.messages import Message


def row(id: str | None, text: str = "x", sender: str = "ann", timestamp: str = "t") -> Message:
    return Message(id=id, sender=sender, text=text, timestamp=timestamp, read=False)


def nothing_known(message: Message) -> int | None:
    return None


def keys(rows) -> list[object]:
    return [one.key for one in rows]


def is_in_order(part: list[object], whole: list[object]) -> bool:
    left = iter(whole)
    return all(key in left for key in part)


ROWS = st.builds(
    row, st.none() | st.sampled_from([f"id-{n}" for n in range(8)]), st.sampled_from(["x", "y"]), st.sampled_from("ab")
)
LISTS = st.lists(ROWS, max_size=8)
TIMED = st.lists(
    st.builds(
        row, st.sampled_from([f"id-{n}" for n in range(9)]), st.just("x"), st.sampled_from("ab"), st.sampled_from("123")
    ),
    max_size=8,
    unique_by=lambda one: one.key,
)
DISTINCT = st.lists(ROWS, max_size=8, unique_by=lambda one: one.key)


class TestAdditions:
    @proves("R001-3.2-25")
    @given(LISTS, LISTS)
    def test_they_are_what_the_other_version_has_beyond_ours_each_once_in_its_order(self, before, after):
        new = additions(before, after)
        assert len(set(keys(new))) == len(new)
        assert set(keys(new)) == set(keys(after)) - set(keys(before))
        assert is_in_order(keys(new), keys(after))
        assert all(any(found is one for one in after) for found in new)

    @given(LISTS)
    def test_a_version_adds_nothing_to_itself(self, rows):
        assert additions(rows, rows) == []

    def test_a_row_that_was_only_marked_read_is_no_addition(self):
        unread, read = row("a"), row("a")
        read.read = True
        assert additions([unread], [read]) == []

    def test_rows_are_told_apart_by_key_and_never_by_place(self):
        a, b, c = row("a"), row("b"), row("c")
        assert additions([a, b], [b, c]) == [c]

    def test_a_row_without_an_id_is_known_by_sender_time_and_text(self):
        assert keys(additions([row(None, "x")], [row(None, "x"), row(None, "y")])) == [("ann", "t", "y")]


class TestWithRows:
    @given(LISTS, LISTS)
    def test_ours_come_first_and_stay_and_theirs_follow(self, rows, wanted):
        merged = with_rows(rows, wanted)
        assert merged[: len(rows)] == rows
        assert set(keys(merged)) == set(keys(rows)) | set(keys(wanted))
        assert is_in_order(keys(merged[len(rows) :]), keys(wanted))

    @proves("R001-3.3-22")
    @given(DISTINCT, LISTS)
    def test_nothing_is_doubled(self, rows, wanted):
        merged = with_rows(rows, wanted)
        assert len(set(keys(merged))) == len(merged)

    @given(LISTS, LISTS)
    def test_merging_twice_is_merging_once(self, rows, wanted):
        once = with_rows(rows, wanted)
        assert with_rows(once, wanted) == once

    @given(LISTS, LISTS, LISTS)
    def test_it_does_not_matter_in_how_many_steps_rows_arrive(self, rows, first, second):
        assert keys(with_rows(with_rows(rows, first), second)) == keys(with_rows(rows, [*first, *second]))

    def test_what_a_sender_wrote_first_is_read_first_also_if_it_comes_later(self):
        first, second, third = (row(str(n), timestamp=f"2026-11-19T11:21:0{n}.000Z") for n in range(3))
        other = row("other", sender="cat", timestamp="2026-11-19T11:21:05.000Z")
        without = row("without", timestamp="")
        assert keys(with_rows([other, second], [third, first])) == ["other", "0", "1", "2"]
        assert keys(with_rows(with_rows([third], [second]), [first])) == ["0", "1", "2"]
        assert keys(with_rows([second, first], [third, without])) == ["1", "0", "2", "without"]

    @given(TIMED, TIMED)
    def test_it_goes_right_before_the_first_newer_one_of_its_sender(self, rows, wanted):
        merged = with_rows(rows, wanted)
        assert is_in_order(keys(rows), keys(merged)), "what was there keeps its order"
        for at, one in enumerate(merged):
            if one not in rows:
                assert not any(
                    before.sender == one.sender and before.timestamp > one.timestamp for before in merged[:at]
                )

    @given(TIMED, TIMED, TIMED)
    def test_in_how_many_steps_does_not_matter_for_that_either(self, rows, first, second):
        assert keys(with_rows(with_rows(rows, first), second)) == keys(with_rows(rows, [*first, *second]))


@st.composite
def ledgers(draw):
    """Rows that the ledger numbered, rows that it does not know, and which of the former were dropped."""
    count = draw(st.integers(0, 7))
    known = [row(f"id-{n}") for n in range(count)]
    dropped = [one for one in known if draw(st.booleans())]
    left = [one for one in known if one not in dropped]
    for n in range(draw(st.integers(0, 3))):
        left.insert(draw(st.integers(0, len(left))), row(f"foreign-{n}"))
    return known, left, dropped, {one.key: n for n, one in enumerate(known, 1)}


class TestPutBack:
    def test_a_row_goes_before_a_newer_one_of_its_sender_whose_line_in_the_ledger_is_yet_to_come(self):
        first, other, newer = (
            Message(id=id, sender=sender, text=id, timestamp=f"2026-11-18T22:02:{second}.536Z", read=False)
            for id, sender, second in (("first", "ann", 39), ("other", "cat", 41), ("newer", "ann", 42))
        )
        older = Message(id="older", sender="ann", text="", timestamp="2026-11-18T22:01:00.000Z", read=False)
        result = put_back([older, other, newer], [first], lambda one: 1 if one is first else None)
        assert keys(result) == ["older", "other", "first", "newer"]

    @proves("R003-4.4-06", "R003-4.4-08")
    @given(ledgers())
    def test_dropped_rows_come_back_where_they_were_sent(self, ledger):
        known, left, dropped, seqs = ledger
        result = put_back(left, dropped, lambda one: seqs.get(one.key))
        numbered = [one for one in result if one.key in seqs]
        assert keys(numbered) == keys(known), "all of them, once, in the order of the ledger"
        assert is_in_order(keys(left), keys(result)), "what was there keeps its order"
        assert len(result) == len(left) + len(dropped)

    @given(ledgers(), st.randoms())
    def test_the_order_in_which_they_are_found_missing_does_not_matter(self, ledger, random):
        known, left, dropped, seqs = ledger
        shuffled = random.sample(dropped, len(dropped))
        result = put_back(left, shuffled, lambda one: seqs.get(one.key))
        assert keys([one for one in result if one.key in seqs]) == keys(known)

    @given(ledgers())
    def test_putting_back_twice_is_putting_back_once(self, ledger):
        _, left, dropped, seqs = ledger
        once = put_back(left, dropped, lambda one: seqs.get(one.key))
        assert put_back(once, dropped, lambda one: seqs.get(one.key)) == once

    @given(LISTS, LISTS)
    def test_nothing_is_lost_or_doubled_even_where_the_ledger_knows_nothing(self, rows, dropped):
        result = put_back(rows, dropped, nothing_known)
        assert result[: len(rows)] == rows
        assert set(keys(result)) == set(keys(rows)) | set(keys(dropped))
        assert len(result) - len(rows) == len(set(keys(dropped)) - set(keys(rows)))

    def test_a_row_goes_before_the_first_that_was_written_after_it(self):
        seqs = {"a": 1, "b": 2, "c": 3}
        left = [row("a"), row("foreign"), row("c")]
        assert keys(put_back(left, [row("b")], lambda one: seqs.get(str(one.key)))) == ["a", "foreign", "b", "c"]

    def test_a_row_that_the_ledger_does_not_know_goes_to_the_end(self):
        assert keys(put_back([row("a")], [row("x")], lambda one: {"a": 1}.get(str(one.key)))) == ["a", "x"]

    def test_the_given_rows_are_left_alone(self):
        left = [row("a")]
        put_back(left, [row("b")], nothing_known)
        assert keys(left) == ["a"]
