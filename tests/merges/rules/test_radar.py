"""Who is compared with whom, in which lines they meet, and what both are told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.merges.rules.radar import TARGET, Collision, WorkNow, common_places, meeting, owners, places_in, warning


def works(**files: str) -> list[WorkNow]:
    return [WorkNow(task=task[1:], agent=f"a{task[1:]}", files=names.split()) for task, names in files.items()]


def test_only_those_are_compared_that_have_a_file_in_common():
    found = [(a.task, b.task, paths) for a, b, paths in meeting(works(t1="x y", t2="z", t3="y x q", t4="q"))]
    assert found == [("1", "3", ["x", "y"]), ("3", "4", ["q"])]


@given(st.lists(st.sets(st.sampled_from("abcdef")), max_size=8))
def test_every_pair_with_a_common_file_is_found_once(files):
    given_works = [WorkNow(task=str(number), files=sorted(each)) for number, each in enumerate(files)]
    pairs = {(a.task, b.task): paths for a, b, paths in meeting(given_works)}
    expected = {
        (str(one), str(other)): sorted(files[one] & files[other])
        for one in range(len(files))
        for other in range(one + 1, len(files))
        if files[one] & files[other]
    }
    assert pairs == expected


def test_places_are_read_from_a_patch_without_context():
    patch = "diff --git a/x b/x\n@@ -3 +3 @@\n-a\n+b\n@@ -10,4 +10,2 @@ def f\n@@ -20,0 +21,3 @@\n"
    assert places_in(patch) == [(3, 3), (10, 13), (20, 20)]


def test_changes_that_touch_count_as_the_same_place_as_they_do_for_git():
    assert common_places([(3, 5)], [(5, 9)]) == [[5, 5]]
    assert common_places([(3, 5)], [(6, 9)]) == [[5, 6]]
    assert common_places([(3, 5)], [(7, 9)]) == []


def test_each_of_the_two_is_told_about_the_other_and_where():
    both = Collision(tasks=["1", "2"], agents=["ann", "bob"], files=["x"], conflicts=["x"], lines={"x": [[3, 5]]})
    titles = {"1": "One", "2": "Two"}
    to_ann, to_bob = (warning(both, who, titles, "atm/result/t") for who in ("ann", "bob"))
    assert "Your #1 and #2 Two (bob)" in to_ann
    assert "x (lines 3-5)" in to_ann
    assert "Your #2 and #1 One (ann)" in to_bob


def test_who_meets_the_target_is_told_so():
    one = Collision(tasks=["1", TARGET], agents=["ann", ""], files=["x"], conflicts=["x"])
    assert "atm/result/t, which was merged meanwhile" in warning(one, "ann", {}, "atm/result/t")


@proves("R004-merge-and-conflicts-G1")
def test_every_file_that_a_task_names_or_changes_has_an_owner_and_some_have_two():
    said = {"1": ("ann", ["src/*.py"]), "2": ("bob", ["docs/"])}
    found = owners(said, {"2": ["docs/x.md", "src/*.py"]})
    assert found == {"docs/": ["bob"], "docs/x.md": ["bob"], "src/*.py": ["ann", "bob"]}
