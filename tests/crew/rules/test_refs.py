"""Names of teams, tasks and members in refs: git takes them, and they come back as they were."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.core.errors import BadName
from atm.crew.rules.refs import (
    QUEUE,
    decode,
    encode,
    folder_name,
    names_in,
    obstacles,
    parts_of_salvage,
    salvage_folder,
    salvage_ref,
    work_branch,
)

ODD = [
    *("a..b", "a...b", "a.", ".a", ".", "..", "x.lock", "x.LOCK", ".lock", "a.lock.lock", "@", "a@{b", "@{"),
    *("a b", "a~b", "a^b", "a:b", "a?b", "a*b", "a[b", "a\\b", "a/b", "a%b", "%2E", "a\x7fb", "a\tb", "-a", "--", "+"),
    *('a"b', "a<b>c|d", "Zoë", "日本", "a\ud800b", "HEAD", "refs", "a+b", "seed-003+2", "1-2", "a.b.c", "x.locks"),
]
FREE_FORM = st.text(min_size=1, max_size=20)


@pytest.mark.parametrize("name", ["ann", "bob-2", "backend", "a+b", "a.b", "a_b", "7", "x.locks", "Zoë", "a@b", "a{b}"])
def test_what_git_takes_stays_as_it_is(name):
    assert encode(name) == name


@pytest.mark.parametrize("name", ODD)
def test_git_takes_every_branch_and_every_salvage_ref(name):
    for ref in (f"refs/heads/{work_branch(name, name, name)}", salvage_ref(name, name, "20261116T184300123Z")):
        told = ref.encode("utf-8", "surrogatepass")
        done = subprocess.run([b"git", b"check-ref-format", told], check=False)
        assert done.returncode == 0, ref


@pytest.mark.parametrize(
    ("name", "told"),
    [("a..b", "a%2E.b"), ("a.", "a%2E"), ("x.lock", "x%2Elock"), ("50%", "50%25"), ("a b", "a%20b"), ("@", "%40")],
)
def test_what_it_refuses_is_written_in_percent_style(name, told):
    assert encode(name) == told


@given(FREE_FORM)
def test_every_name_comes_back(name):
    assert decode(encode(name)) == name


@given(FREE_FORM)
def test_nothing_that_git_or_a_file_system_refuses_is_left(name):
    told = encode(name)
    assert not set(told) & set(' ~^:?*[\\/"<>|\x7f')
    assert min(told) > " "
    assert not told.startswith(".")
    assert not told.endswith(".")
    assert ".." not in told
    assert not told.casefold().endswith(".lock")
    assert "@{" not in told
    assert told != "@"


@given(FREE_FORM, FREE_FORM)
def test_the_task_and_the_agent_of_a_folder_come_back(task, agent):
    assert names_in(folder_name(task, agent)) == (task, agent)


def test_the_folder_of_the_merge_queue_is_nobody_elses_and_needs_no_percent():
    """Gemini CLI reads `%2E` in the name of its folder as a dot."""
    assert "%" not in folder_name("7", QUEUE)
    assert names_in(folder_name("7", QUEUE)) == ("7", QUEUE)
    for name in ("=merge", "merge", "%3Dmerge"):
        assert folder_name("7", name) != folder_name("7", QUEUE)
        assert names_in(folder_name("7", name)) == ("7", name)


@given(FREE_FORM, FREE_FORM)
def test_the_parts_of_a_salvage_ref_come_back(team, task):
    ref = salvage_ref(team, task, "20261116T184300123Z")
    assert parts_of_salvage(ref) == (team, task, "20261116T184300123Z")
    assert ref.startswith(f"{salvage_folder(team)}/")
    assert salvage_folder(team).startswith(f"{salvage_folder('')}/")


@given(FREE_FORM, FREE_FORM)
def test_two_names_are_never_one_ref(one, other):
    assert (encode(one) == encode(other)) == (one == other)


@pytest.mark.parametrize("told", ["%", "a%2", "a%zz", "%2e", "%FF"])
def test_what_atm_never_writes_is_refused(told):
    with pytest.raises(ValueError):
        decode(told)


@pytest.mark.parametrize("folder", ["", "7", "-ann", "7-", "%-a", ".repository"])
def test_a_folder_of_another_form_is_none_of_ours(folder):
    assert names_in(folder) is None


@pytest.mark.parametrize(
    "ref",
    ["refs/atm/salvage/t/1", "refs/atm/salvage/t/1/x/y", "refs/heads/t/1/x", "refs/atm/salvage/%/1/x", "t/1/x"],
)
def test_a_ref_of_another_form_is_none_of_ours(ref):
    assert parts_of_salvage(ref) is None


def test_a_name_that_is_empty_or_too_long_is_refused():
    for name in ("", "x" * 241, "~" * 81):
        with pytest.raises(BadName):
            encode(name)
    with pytest.raises(BadName):
        folder_name("x" * 120, "y" * 121)
    assert len(folder_name("x" * 119, "y" * 120)) == 240


@pytest.mark.parametrize(
    ("taken", "ignores_case", "expected"),
    [
        ([], False, ("", True)),
        (["main", "atmosphere", "atm-work"], True, ("", True)),
        (["atm/work/t/1-ann"], True, ("", True)),  # itself: whether it may go is another question
        (["atm"], False, ("atm", False)),
        (["atm/work"], False, ("atm/work", False)),
        (["atm/work/t"], False, ("atm/work/t", False)),
        (["Atm"], False, ("", True)),
        (["Atm"], True, ("Atm", False)),
        (["atm/work/t/1-ann/old"], False, ("atm/work/t/1-ann/old", True)),
        (["ATM/work/t/1-ann/old"], True, ("ATM/work/t/1-ann/old", True)),
        (["Atm/Work/t/1-Ann"], False, ("Atm/Work/t/1-Ann", True)),
    ],
)
def test_what_is_in_the_way_of_a_branch(taken, ignores_case, expected):
    assert obstacles("atm/work/t/1-ann", taken, ignores_case=ignores_case) == expected
