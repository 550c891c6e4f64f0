"""Another program takes a member off the roster and tells nobody; a namesake who comes later gets nothing (D26)."""

from __future__ import annotations

import ast
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import foreign_row, write_rows
from tests.project.source_trees import MODULES, nodes_in, parsed, saying

from atm.roster.services.members import add_member
from atm.team.rules.team import Member

__all__ = ["foreign_row", "write_rows"]

SOURCE = Path(__file__).parents[2] / "src" / "atm"
SECRET = "only for the former bob"


@pytest.fixture
def crew(atm, room):
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"
    for name in ("cat", "dora"):
        add_member(room, "crew", Member(name))
    return atm


def roster(crew) -> Path:
    return Path(crew.home / ".claude/teams/crew/config.json")


def vanishes(crew, name: str = "bob") -> dict[str, Any]:
    """Its entry, as it was."""
    fields = json.loads(roster(crew).read_text())
    (entry,) = [member for member in fields["members"] if member["name"] == name]
    fields["members"].remove(entry)
    roster(crew).write_text(json.dumps(fields))
    return dict(entry)


def is_enrolled(crew, entry: dict[str, Any]) -> None:
    """By the other program, a moment later."""
    time.sleep(0.01)
    fields = json.loads(roster(crew).read_text())
    fields["members"].append({**entry, "joinedAt": int(time.time() * 1000)})
    roster(crew).write_text(json.dumps(fields))


def task(crew) -> dict[str, Any]:
    found: dict[str, Any] = crew("tasks", "show", "1", "--json").json["task"]
    return found


# Mail.


def test_mail_of_a_former_life_is_not_put_back_into_the_inbox_of_a_namesake(crew):
    crew("send", "bob", SECRET, "--from", "ann")
    entry = vanishes(crew)
    crew.inbox("bob").unlink()
    is_enrolled(crew, entry)
    crew("send", "bob", "welcome", "--from", "ann")
    assert [row["text"] for row in crew.rows("bob")] == ["welcome"]
    crew("doctor", "--fix", code=None)
    assert [row["text"] for row in crew.rows("bob")] == ["welcome"]


def test_what_a_member_got_in_this_life_is_put_back(crew):
    crew("send", "bob", "for bob", "--from", "ann")
    crew.inbox("bob").unlink()
    crew("send", "bob", "more", "--from", "ann")
    assert [row["text"] for row in crew.rows("bob")] == ["for bob", "more"]


@pytest.mark.parametrize("way", ["add-member", "join"])
def test_an_inbox_that_a_former_member_left_is_archived_and_not_the_newcomers(crew, way):
    crew("send", "bob", SECRET, "--from", "ann")
    vanishes(crew)
    words = ("add-member", "crew", "bob") if way == "add-member" else ("join", "crew", "--as", "bob")
    result = crew("teams", *words, "--json").json
    assert crew.rows("bob") == []
    assert SECRET in Path(result["archive_path"]).read_text()
    crew("send", "bob", "welcome", "--from", "ann")
    crew("doctor", "--fix", code=None)
    assert [row["text"] for row in crew.rows("bob")] == ["welcome"]


def test_the_person_who_adds_is_told_where_it_went(crew):
    crew("send", "bob", SECRET, "--from", "ann")
    vanishes(crew)
    said = crew("teams", "add-member", "crew", "bob").out
    assert "mail for a former bob is kept at " in said


def test_mail_that_came_before_anybody_of_that_name_is_the_newcomers(crew, write_rows, foreign_row):
    write_rows("zoe", foreign_row("your first task"))
    assert crew("teams", "add-member", "crew", "zoe", "--json").json["archive_path"] is None
    assert [row["text"] for row in crew.rows("zoe")] == ["your first task"]


def test_whom_another_program_enrols_keeps_what_lies_there(crew, write_rows, foreign_row):
    """It may have made the inbox a moment before the entry; we cannot know, and touch nothing."""
    entry = vanishes(crew)
    write_rows("bob", foreign_row("your first task"))
    is_enrolled(crew, entry)
    assert "your first task" in crew("read", "--as", "bob").out


def test_two_who_add_at_once_archive_no_mail_of_the_member(crew):
    processes = [crew.start("teams", "add-member", "crew", "zoe") for _ in range(4)]
    for process in processes:
        process.communicate(timeout=120)
        crew("send", "zoe", "hello", "--from", "ann", code=None)
    assert {row["text"] for row in crew.rows("zoe")} == {"hello"}
    assert not (crew.home / ".config/atm/archive/crew/zoe").exists()


# Presence.


def liveness(crew, name: str = "bob") -> tuple[str, str]:
    members = crew("members", "crew", "--json").json["members"]
    (found,) = [member for member in members if member["name"] == name]
    return found["state"], found["liveness"]


@pytest.mark.parametrize("way", ["enrolled", "added"])
def test_a_heartbeat_of_a_former_life_makes_no_namesake_present(crew, way):
    crew("tasks", "add", "work")
    crew("tasks", "claim", "1", "--as", "bob")
    assert liveness(crew) == ("working", "online")
    entry = vanishes(crew)
    if way == "enrolled":
        is_enrolled(crew, entry)
    else:
        crew("teams", "add-member", "crew", "bob")
    assert liveness(crew)[1] == "unknown"
    assert liveness(crew)[0] != "working"
    crew("tasks", "beat", "--as", "bob")
    assert liveness(crew)[1] == "online"
    assert liveness(crew)[0] != "working", "nor is its first sign of life the former's next"


PRESENCE = "team/services/presence.py"
BY_NAME = {
    "roster/services/recovery.py": "asks whether anybody of that name was ever here",
    "runs/services/starting.py": "only a heartbeat that the loop of the run left, after it began, says anything",
    "roster/services/restore_pass.py": "the roster of a backup may not be there yet",
}
"""Who may ask for heartbeats by a name alone, and why."""


def by_name(path: Path) -> Iterator[str]:
    """Calls that judge signs of life without a roster, so that a former member passes for a namesake."""
    for node in nodes_in(parsed(path)):
        if not isinstance(node, ast.Call):
            continue
        said = ast.unparse(node.func)
        of_a_name = said.endswith("presence.last")
        if said.rpartition(".")[2] in ("liveness", "last_beat", "beat") and len(node.args) > 3:
            team = ast.unparse(node.args[1])
            of_a_name = team.endswith(".name") or team == "name"
        if of_a_name:
            yield f"{path.relative_to(SOURCE)}:{node.lineno} {ast.unparse(node)}"


def test_signs_of_life_are_judged_by_a_roster():
    words = re.compile(r"presence[\s)]*\.\s*last\b|\b(liveness|last_beat|beat)[\s)]*\(")
    paths = [path for path in saying(words, MODULES) if str(path.relative_to(SOURCE)) not in {PRESENCE, *BY_NAME}]
    assert [one for path in paths for one in by_name(path)] == []


# The board.


@pytest.mark.parametrize("way", ["enrolled", "added"])
@pytest.mark.parametrize("in_review", [True, False])
def test_a_claim_of_a_former_life_is_not_the_namesakes(crew, way, in_review):
    crew("tasks", "add", "work")
    crew("tasks", "claim", "1", "--as", "bob")
    if in_review:
        crew("tasks", "review", "request", "1", "--reviewer", "cat", "--as", "bob")
    entry = vanishes(crew)
    if way == "enrolled":
        is_enrolled(crew, entry)
    else:
        time.sleep(0.01)
        crew("teams", "add-member", "crew", "bob")
    found = crew("doctor", "--json", code=None).json["findings"]
    (finding,) = [one for one in found if one["code"] == "silent-claimant"]
    assert "another has that name now" in finding["message"]
    crew("tasks", "release", "--silent")
    assert (task(crew)["status"], task(crew)["owner"]) == ("pending", None)


def advice(crew, code: str) -> list[str]:
    return [one["command"] for one in crew("doctor", "--json", code=None).json["findings"] if one["code"] == code]


def test_doctor_names_a_review_that_waits_for_somebody_who_vanished_and_what_hands_it_back(crew):
    crew("tasks", "add", "work", "--reviewer", "dora", "--as", "human")
    crew("tasks", "claim", "1", "--as", "bob")
    crew("tasks", "review", "request", "1", "--as", "bob")
    assert advice(crew, "departed-reviewer") == []
    vanishes(crew, "dora")
    (command,) = advice(crew, "departed-reviewer")
    crew(*command.split()[1:])
    assert task(crew)["currentReviewer"] == "human"
    assert advice(crew, "departed-reviewer") == []
    crew("tasks", "review", "approve", "1", "--as", "dora", code=1)


def test_doctor_names_waiting_work_of_somebody_who_vanished_and_what_releases_it(crew):
    crew("tasks", "add", "work", "--as", "human")
    crew("tasks", "claim", "1", "--as", "bob")
    crew("tasks", "review", "request", "1", "--reviewer", "cat", "--as", "bob")
    vanishes(crew)
    assert advice(crew, "departed-owner") == [], "it is heard of: a script that is at work looks the same"
    (crew.home / ".claude/teams/crew/heartbeats/bob.json").unlink()
    (command,) = advice(crew, "departed-owner")
    crew(*command.split()[1:])
    assert task(crew)["owner"] is None


def test_doctor_names_work_that_was_given_to_somebody_who_vanished_and_what_gives_it_to_the_lead(crew):
    crew("tasks", "add", "work", "--owner", "bob", "--as", "human")
    assert advice(crew, "departed-owner") == []
    vanishes(crew)
    (command,) = advice(crew, "departed-owner")
    crew(*command.split()[1:])
    assert advice(crew, "departed-owner") == []
    assert task(crew)["owner"] not in ("bob", None)
