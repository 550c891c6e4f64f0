"""Times in files: written as JavaScript writes them, read in every form that others write."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.files.formats.times import from_iso, to_iso

LAST = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())
MILLIS = st.integers(0, LAST * 1000 + 999)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def by_datetime(millis: int) -> str:
    when = EPOCH + timedelta(milliseconds=millis)
    return when.strftime("%Y-%m-%dT%H:%M:%S.").rjust(20, "0") + f"{millis % 1000:03d}Z"


@proves("R001-4.2-send-07", "R004-messaging-M2f")
@given(MILLIS)
def test_writing_agrees_with_datetime(millis):
    assert to_iso(millis / 1000) == by_datetime(millis)


@given(MILLIS)
def test_what_is_written_is_read_back(millis):
    assert from_iso(to_iso(millis / 1000)) == millis / 1000


@given(MILLIS, MILLIS)
def test_written_times_sort_as_times_do(one, other):
    assert (to_iso(one / 1000) < to_iso(other / 1000)) == (one < other)


@given(st.floats(0, LAST, allow_nan=False))
def test_any_moment_is_rounded_to_the_nearest_millisecond(epoch):
    read = from_iso(to_iso(epoch))
    assert read is not None
    assert abs(read - epoch) <= 0.0006  # half a millisecond, and what a float cannot hold in the year 9999


@given(st.dates(min_value=datetime(1970, 1, 1).date()))
def test_every_day_of_the_calendar_is_the_right_one(day):
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
    assert to_iso(midnight) == f"{day.isoformat()}T00:00:00.000Z"


@pytest.mark.parametrize(
    ("epoch", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (0.0005, "1970-01-01T00:00:00.001Z"),
        (0.9996, "1970-01-01T00:00:01.000Z"),
        (951782400, "2000-02-29T00:00:00.000Z"),
        (4107542400, "2100-03-01T00:00:00.000Z"),
        (1787825730.123, "2026-08-27T10:15:30.123Z"),
        (LAST, "9999-12-31T23:59:59.000Z"),
    ],
)
def test_known_moments(epoch, text):
    assert to_iso(epoch) == text


@pytest.mark.parametrize(
    ("text", "epoch"),
    [
        ("2026-08-27T10:15:30.123Z", 1787825730.123),
        ("2026-08-27T10:15:30Z", 1787825730.0),
        ("2026-08-27T10:15:30+00:00", 1787825730.0),
        ("2026-08-27T12:15:30+02:00", 1787825730.0),
        ("2026-08-27T10:15:30", 1787825730.0),
        ("2026-08-27 10:15:30", 1787825730.0),
        ("2026-08-27T10:15:30.123456789Z", 1787825730.123456),
        (" 2026-08-27T10:15:30Z\n", 1787825730.0),
        ("2026-08-27", 1787788800.0),
    ],
)
def test_every_form_that_others_write_is_read(text, epoch):
    assert from_iso(text) == epoch


@pytest.mark.parametrize(
    "text",
    ["", " ", "yesterday", "1787825730", "2026-13-01T00:00:00Z", "2026-02-30", "10:15", "\ud800", "2026-08-27T25:00Z"],
)
def test_what_is_no_time_is_none(text):
    assert from_iso(text) is None


@given(st.text(max_size=30) | st.text("0123456789-:.TZ+", max_size=30) | st.datetimes().map(str))
def test_no_text_makes_reading_fail_and_what_was_read_can_be_written(text):
    found = from_iso(text)
    if found is not None:
        assert from_iso(to_iso(found)) == pytest.approx(found, abs=0.002)


@pytest.mark.parametrize(
    ("text", "epoch"),
    [
        ("0001-01-01T00:00:00+23:59", -62_135_596_800.0 - 86_340),
        ("9999-12-31T23:59:59-23:59", 253_402_300_799.0 + 86_340),
        ("0001-01-01", -62_135_596_800.0),
    ],
)
def test_the_ends_of_the_calendar_do_not_make_it_fail(text, epoch):
    assert from_iso(text) == epoch
