"""The rules of the check-up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.checkup.rules import (
    AHEAD,
    FEW_BYTES,
    FEW_INODES,
    LEAST_BYTES,
    LITTLE,
    NONE,
    PLENTY,
    in_words,
    is_from_the_future,
    judge_bytes,
    judge_inodes,
    private_mode,
    root_of,
    tops,
)


@pytest.mark.parametrize(
    ("free", "verdict"),
    [(0, NONE), (LEAST_BYTES - 1, NONE), (LEAST_BYTES, LITTLE), (FEW_BYTES - 1, LITTLE), (FEW_BYTES, PLENTY)],
)
def test_room_is_judged_by_what_an_inbox_may_need(free, verdict):
    assert judge_bytes(free) == verdict


@pytest.mark.parametrize(
    ("free", "verdict"), [(0, NONE), (1, LITTLE), (FEW_INODES - 1, LITTLE), (FEW_INODES, PLENTY), (None, PLENTY)]
)
def test_a_file_system_that_does_not_count_its_files_has_plenty(free, verdict):
    assert judge_inodes(free) == verdict


def test_a_clock_of_another_machine_may_be_a_little_ahead():
    assert not is_from_the_future(100.0 + AHEAD, 100.0)
    assert is_from_the_future(101.0 + AHEAD, 100.0)


@given(st.integers(0, 0o777), st.sampled_from(["file", "folder"]))
def test_a_mode_that_is_mended_gives_others_nothing_and_its_owner_never_less(mode, kind):
    mended = private_mode(mode, kind)
    assert mended & 0o077 == 0
    assert mended & mode & 0o700 == mode & 0o700
    assert mended & 0o600 == 0o600
    assert mended == (0o700 if kind == "folder" or mode & 0o100 else 0o600)


def test_a_folder_stands_for_what_is_in_it():
    assert tops(["/a/b", "/a", "/a/b/c", "/ab", "/a-b"]) == ["/a", "/a-b", "/ab"]
    assert tops([]) == []


@given(st.lists(st.lists(st.sampled_from("abc-"), min_size=1, max_size=4).map(lambda names: "/" + "/".join(names))))
def test_nothing_that_is_named_lies_below_something_else_that_is(paths):
    kept = tops(paths)
    assert all(any(path == top or path.startswith(f"{top}/") for top in kept) for path in paths)
    assert not [path for path in kept for top in kept if path.startswith(f"{top}/")]


def test_a_path_belongs_to_the_folder_that_it_lies_in():
    assert root_of("/home/x/a", ("/home/y", "/home/x")) == "/home/x"
    assert root_of("/home/xy", ("/home/x",)) == "/home/xy"


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "2 kB"), (12_300_000, "12.3 MB"), (4e9, "4.0 GB"), (5e12, "5.0 TB")],
)
def test_sizes_are_for_people(size, words):
    assert in_words(size) == words
