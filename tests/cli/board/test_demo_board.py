"""`atm demo --board` as a user runs it, small."""

from __future__ import annotations


def test_a_small_crew_finishes_and_proves_it(atm):
    said = atm("demo", "--board", "--tasks", "8", "--workers", "2", "--seed", "1", "--json", timeout=300).json
    assert (said["completed"], said["violations"], said["states"]) == (8, [], {"completed": 8})
    assert said["sandbox"] is None


def test_people_see_a_table_and_a_sentence(atm):
    shown = atm("demo", "--board", "--tasks", "4", "--workers", "2", timeout=300).out
    assert "Every task was finished exactly once" in shown


def test_two_demonstrations_at_once_are_refused(atm):
    assert "two demonstrations" in atm("demo", "--board", "--storm", code=1).err
