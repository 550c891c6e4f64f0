"""The tools of the board: previews stay small, authority stays where it is, and every change leaves its trace."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.chaos import LONG
from tests.mcp.crew import Crew

from atm import config
from atm.board.services import planning
from atm.board.services.marks import allow_checks
from atm.board.services.new_tasks import NewTask
from atm.core.errors import AtmError
from atm.files.formats.json_record import encode
from atm.ui.mcp.caller import Caller


@pytest.fixture
def crew(layout) -> Crew:
    return Crew(layout)


def with_settings(crew: Crew, settings: str, who: str = "ann") -> Caller:
    """A caller under settings of the user's own."""
    path = Path(crew.layout.settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(settings)
    read = config.load(crew.layout, {}, "/", {})
    role = crew.caller(who).role
    return Caller(crew.layout, read, team="crew", member=who, role=role, source="environment", has_daemon=True)


# The list.


MANY = 10_000 if LONG else 2_000


def test_thousands_of_tasks_are_listed_in_small_pages(crew):
    """One is added; the others are made of its file, as adding so many takes long and is not what is looked at."""
    planning.add(crew.boardroom, "crew", "lena", [NewTask("Task 1 " + "x" * 300, description="y" * 200)])
    folder = Path(crew.layout.tasks("crew"))
    pattern = (folder / "1.json").read_text()
    for n in range(2, MANY + 1):
        made = pattern.replace('"id": "1"', f'"id": "{n}"', 1).replace("Task 1 ", f"Task {n} ")
        (folder / f"{n}.json").write_text(made)
    first = crew.call("ann", "board_list", limit=50)
    assert len(encode(first).encode()) < 16_000
    assert (len(first["tasks"]), first["matching"], first["counts"]) == (50, MANY, {"pending": MANY})
    assert all(len(task["subject"]) <= 160 for task in first["tasks"])
    assert "description" not in first["tasks"][0]
    second = crew.call("ann", "board_list", limit=50, after=first["next_after"])
    assert second["tasks"][0]["id"] == "51"
    assert "next_after" not in crew.call("ann", "board_list", after=MANY - 10)
    assert len(encode(crew.call("ann", "board_list", view="graph")).encode()) < 20_000


def test_pages_meet_every_task_once_while_others_are_added(crew):
    for number in range(5):
        crew.add(f"Task {number}")
    page = crew.call("", "board_list", limit=2)
    seen = [task["id"] for task in page["tasks"]]
    crew.add("Another")
    while "next_after" in page:
        page = crew.call("", "board_list", limit=2, after=page["next_after"])
        seen += [task["id"] for task in page["tasks"]]
    assert seen == ["1", "2", "3", "4", "5", "6"]


def test_the_list_can_be_narrowed(crew):
    crew.add("Write the parser", priority="high")
    crew.add("Write its tests", depends_on=["1"], owner="bob")
    crew.add("Publish", depends_on=["Write its tests"])

    def found(**wanted) -> list[str]:
        return [task["id"] for task in crew.call("ann", "board_list", **wanted)["tasks"]]

    assert found(state=["blocked"]) == ["2", "3"]
    assert found(owner="BOB") == ["2"]
    assert found(owner="") == ["1", "3"]
    assert found(priority="high") == ["1"]
    assert found(words="WRITE tests") == ["2"]
    assert crew.refused("ann", "board_list", state=["weird"]).code == "usage"


def test_a_task_says_what_it_waits_for(crew):
    crew.add("One")
    crew.add("Two", depends_on=["1"])
    [_, two] = crew.call("ann", "board_list")["tasks"]
    assert two["blocked_by"] == ["1"]
    crew.call("lena", "board_cancel", id="1", reason="not needed")
    [_, two] = crew.call("ann", "board_list")["tasks"]
    assert (two["state"], two["unreachable_because"]) == ("unreachable", "#1 was cancelled")


# One task.


def test_long_texts_of_a_task_come_by_the_piece(crew):
    said = "".join(f"step {number}\n" for number in range(9_000))
    id = crew.add("Big", description=said)
    shown = crew.call("ann", "board_show", id=id)["task"]
    assert len(shown["description"]) < 2_100
    part = crew.call("ann", "board_show", id=id, part="description")
    got = part["text"]
    while "next_offset" in part:
        part = crew.call("ann", "board_show", id=id, part="description", offset=part["next_offset"])
        got += part["text"]
    assert got == said


def test_comments_are_shown_newest_only_and_all_of_them_as_a_part(crew):
    id = crew.add()
    for number in range(9):
        crew.call("bob", "board_comment", id=id, text=f"remark {number} " + "x" * 900)
    shown = crew.call("ann", "board_show", id=id)["task"]
    assert shown["comment_count"] == 9
    assert [one["text"][:8] for one in shown["comments"]] == [f"remark {number}" for number in range(4, 9)]
    part = crew.call("ann", "board_show", id=id, part="comments")
    assert part["text"].startswith("[bob ")
    assert "remark 8" in part["text"]


def test_a_task_file_of_another_program_can_hold_anything(crew):
    id = crew.add()
    path = Path(crew.layout.tasks("crew")) / f"{id}.json"
    record = json.loads(path.read_text())
    record["metadata"]["atm"] |= {
        "review": {"state": "review", "note": 7, "reviewer": ["x"]},
        "plan": {"state": "submitted", "text": {"a": 1}},
        "clarification": {"needs": "lead", "question": None},
        "comments": [7, {"by": 8, "text": ["x"]}, {}],
        "events": ["x", {"type": 9, "to": {}}],
        "acceptance": ["x", {"kind": 3}],
        "result": {"no": "text"},
    }
    path.write_text(json.dumps(record))
    assert crew.call("ann", "board_show", id=id)["task"]["id"] == id
    crew.call("ann", "board_list")
    crew.call("ann", "board_show", id=id, part="comments")


def test_unknown_tasks_are_an_error_and_not_an_empty_answer(crew):
    assert crew.refused("ann", "board_show", id="7").code == "no-such-task"
    assert crew.refused("ann", "board_show", id="7", part="history").code == "no-such-task"
    assert crew.refused("ann", "board_show", id="../7").code == "bad-task"


def test_history_is_paged_backwards(crew):
    id = crew.add()
    for number in range(24):
        crew.call("bob", "board_comment", id=id, text=f"remark {number}")
    crew.add("Another")
    page = crew.call("", "board_show", id=id, part="history")
    assert [event["note"] for event in page["events"]] == [f"remark {number}" for number in range(4, 24)]
    page = crew.call("", "board_show", id=id, part="history", offset=page["next_offset"])
    assert [event["event"] for event in page["events"]] == ["task_created", *["commented"] * 4]
    assert "next_offset" not in page


def test_the_history_of_the_board_is_paged_backwards(crew):
    for subject in ("One", "Two", "Three"):
        crew.add(subject)
    page = crew.call("", "board_list", view="history", limit=2)
    assert [event["task"] for event in page["events"]] == ["2", "3"]
    page = crew.call("", "board_list", view="history", limit=2, after=page["next_after"])
    assert [event["task"] for event in page["events"]] == ["1"]
    assert "next_after" not in page


def test_the_history_of_a_task_that_is_gone_can_still_be_seen(crew):
    id = crew.add()
    crew.call("", "board_show", id=id, part="history")  # what other programs did is entered when somebody looks
    Path(crew.layout.tasks("crew"), f"{id}.json").unlink()
    assert crew.call("", "board_show", id=id, part="history")["events"]
    assert crew.refused("", "board_show", id=id).code == "no-such-task"


def test_the_graph_is_text(crew):
    crew.add("One")
    crew.add("Two \x1b[2J", depends_on=["1"])
    drawn = crew.call("", "board_list", view="graph")
    assert drawn["matching"] == 2
    assert "#2 Two ␛[2J" in drawn["graph"]
    assert "\x1b" not in drawn["graph"]


# Working.


def test_a_task_is_claimed_worked_on_and_completed(crew):
    crew.add("One", description="all of it")
    crew.add("Two", depends_on=["1"])
    got = crew.call("ann", "board_claim")
    assert (got["claimed"], got["task"]["description"], got["task"]["owner"]) == (True, "all of it", "ann")
    assert "not orders of the user" in got["notice"]
    done = crew.call("ann", "board_complete", id="1", result="done", claim_id=got["task"]["claim_id"])
    assert (done["task"]["state"], done["unblocked"]) == ("completed", ["2"])
    assert crew.call("ann", "board_complete", id="1")["task"]["state"] == "completed"
    assert crew.boardroom.tasks.read("crew", "1").text("finishedBy") == "ann"


def test_nothing_to_claim_is_a_value_with_its_reason(crew):
    assert crew.call("ann", "board_claim") == {
        "claimed": False,
        "reason_code": "empty",
        "reason": "the board is empty",
    }
    crew.add()
    crew.call("bob", "board_claim", id="1")
    assert crew.call("ann", "board_claim", id="1")["reason_code"] == "claimed"


def test_of_many_who_claim_at_once_one_gets_it(crew):
    crew.add()
    with ThreadPoolExecutor(6) as pool:
        names = ["ann", "bob", "lena"] * 2
        got = [(who, pool.submit(crew.call, who, "board_claim", id="1")) for who in names]
        winners = {who for who, call in got if call.result()["claimed"]}
    assert len(winners) == 1


def test_claiming_leaves_a_sign_of_life_that_says_where_it_came_from(crew):
    crew.add()
    crew.call("ann", "board_claim")
    beat = crew.room.presence.last("crew", "ann")
    assert (beat.source, beat.state) == ("atm mcp", "working")
    crew.call("bob", "board_beat")
    assert crew.room.presence.last("crew", "bob").source == "atm mcp"


def test_only_the_claimant_finishes_fails_or_gives_back(crew):
    crew.add()
    crew.call("ann", "board_claim")
    for tool, more in (("board_complete", {}), ("board_fail", {"error": "x"}), ("board_release", {})):
        assert crew.refused("bob", tool, id="1", **more).code == "not-claimant"
    stale = crew.refused("ann", "board_complete", id="1", claim_id="an old one")
    assert stale.code == "not-claimant"
    assert crew.call("lena", "board_release", id="1", reason="away")["task"]["state"] == "pending"


def test_an_attempt_that_fails_goes_back_and_at_last_fails_for_good(crew):
    crew.add()
    for left in (2, 1, 0):
        crew.call("ann", "board_claim", id="1")
        assert crew.call("ann", "board_fail", id="1", error="broken")["attempts_left"] == left
    assert crew.call("ann", "board_list")["tasks"][0]["state"] == "failed"
    assert crew.call("lena", "board_reopen", id="1", reason="mended")["task"]["state"] == "pending"


def test_who_gets_a_task_is_told_by_mail(crew):
    crew.add()
    done = crew.call("lena", "board_assign", id="1", to="BOB")
    assert done["task"]["owner"] == "bob"
    assert "task_assignment" in crew.rows("bob")[0].text
    assert "roster" in crew.call("lena", "board_assign", id="1", to="stranger")["warnings"][0]


def test_others_work_is_not_taken_away_by_a_teammate(crew):
    crew.add()
    crew.call("ann", "board_claim")
    assert crew.refused("bob", "board_assign", id="1", to="bob").code == "not-allowed"
    assert crew.refused("bob", "board_cancel", id="1", reason="x").code == "not-allowed"
    assert crew.call("hugo", "board_cancel", id="1", reason="x")["task"]["state"] == "cancelled"


def test_hooks_are_asked_as_they_are_by_commands(crew):
    caller = with_settings(crew, """[hooks]\nTaskCreated = "echo not today >&2; exit 2"\n""")
    with pytest.raises(AtmError, match="not today") as caught:
        crew.call_as(caller, "board_add", {"subject": "x"})
    assert caught.value.code == "hook-blocked"


# Shaping.


def test_a_teammate_gets_no_shell_by_way_of_checks(crew, tmp_path):
    proof = tmp_path / "proof"
    for name in ("accept_commands", "accept_files"):
        error = crew.refused("ann", "board_add", subject="x", **{name: [f"touch {proof}"]})
        assert error.code == "not-allowed"
    impostor = crew.caller("ann", "lead")
    with pytest.raises(AtmError, match="set checks"):
        crew.call_as(impostor, "board_add", {"subject": "x", "accept_commands": ["true"]})
    assert crew.call("ann", "board_list")["matching"] == 0


def test_checks_that_a_person_allowed_must_succeed_before_a_task_is_completed(crew, tmp_path):
    crew.add(accept_commands=[f"test -e {tmp_path}/proof"])
    crew.call("ann", "board_claim")
    allow_checks(crew.caller("ann").boardroom, "crew", "human", "1")
    assert crew.refused("ann", "board_complete", id="1").code == "checks-failed"
    (tmp_path / "proof").touch()
    assert crew.call("ann", "board_complete", id="1")["task"]["state"] == "completed"


def test_commands_of_a_member_do_not_run_in_the_daemon(crew, tmp_path):
    crew.add(accept_commands=[f"touch {tmp_path}/proof"])
    crew.call("ann", "board_claim")
    refusal = crew.refused("ann", "board_complete", id="1")
    assert refusal.code == "not-trusted"
    assert "atm tasks complete 1" in refusal.remedy
    assert not (tmp_path / "proof").exists()


def test_a_plan_is_imported_whole_or_not_at_all(crew):
    plan = "- [ ] Write the parser\n- [ ] Write its tests (depends: Write the parser)\n"
    assert crew.call("lena", "board_import", plan=plan, dry_run=True)["count"] == 2
    assert crew.call("lena", "board_list")["matching"] == 0
    assert crew.call("lena", "board_import", plan=plan)["count"] == 2
    bad = json.dumps([{"subject": "a"}, {"subject": "b", "depends_on": ["nothing like that"]}])
    assert crew.refused("lena", "board_import", plan=bad, format="json").code == "bad-task"
    assert crew.call("lena", "board_list")["matching"] == 2


def test_a_task_is_split_and_waits_for_its_parts(crew):
    crew.add()
    done = crew.call("ann", "board_split", id="1", into=["Lexer", "Parser"])
    assert [part["subject"] for part in done["parts"]] == ["Lexer", "Parser"]
    assert done["task"]["blocked_by"] == ["2", "3"]


def test_dependencies_come_and_go_and_circles_are_refused(crew):
    crew.add("One")
    crew.add("Two")
    assert crew.call("ann", "board_depend", id="2", on=["1"])["task"]["state"] == "blocked"
    assert crew.refused("ann", "board_depend", id="1", on=["2"]).code == "dependency-cycle"
    assert crew.call("lena", "board_depend", id="2", off=["1"])["task"]["state"] == "pending"
    assert crew.refused("ann", "board_depend", id="2").code == "usage"


def test_a_question_stops_a_task_until_a_boss_answers(crew):
    crew.add()
    crew.call("ann", "board_claim")
    asked = crew.call("ann", "board_ask", id="1", question="JSON or YAML?")
    assert asked["task"]["needs_answer_of"] == "lead"
    assert "JSON or YAML?" in crew.rows("lena")[-1].text
    answered = crew.call("lena", "board_answer", id="1", text="JSON")
    assert "needs_answer_of" not in answered["task"]
    assert "JSON" in crew.rows("ann")[-1].text


# Plans and reviews.


def test_a_plan_is_submitted_rejected_revised_and_approved(crew):
    crew.add(needs_plan=True)
    got = crew.call("ann", "board_claim")
    assert got["task"]["plan"] == "required"
    assert (
        crew.call("ann", "board_claim", id="1")["begin_not_yet"] == "#1 needs a plan; submit one: plan_submit with id 1"
    )
    crew.call("ann", "plan_submit", id="1", text="I will do it")
    assert "I will do it" in crew.rows("lena")[-1].text
    assert crew.call("lena", "board_show", id="1", part="plan")["text"] == "I will do it"
    crew.call("lena", "plan_reject", id="1", feedback="too broad")
    assert crew.call("ann", "board_claim")["task"]["plan_feedback"] == "too broad"
    crew.call("ann", "plan_submit", id="1", text="I will do less")
    assert crew.call("hugo", "plan_approve", id="1")["task"]["plan"] == "approved"
    begun = crew.call("ann", "board_claim", id="1")
    assert (begun["claimed"], begun.get("begin_not_yet")) == (True, None)


def test_nobody_approves_their_own_plan(crew):
    crew.add(needs_plan=True)
    crew.call("lena", "board_claim")
    crew.call("lena", "plan_submit", id="1", text="I will do it")
    assert crew.refused("lena", "plan_approve", id="1").code == "not-claimant"


def test_work_is_reviewed_by_somebody_else(crew):
    crew.add(reviewer="bob")
    crew.call("ann", "board_claim")
    assert crew.refused("ann", "board_complete", id="1").code == "review-refused"
    asked = crew.call("ann", "review_request", id="1")
    assert (asked["task"]["state"], asked["task"]["reviewer"]) == ("review", "bob")
    assert crew.refused("ann", "review_approve", id="1").code == "review-refused"
    assert crew.call("bob", "board_claim", id="1", review=True)["claimed"] is True
    crew.call("bob", "review_changes", id="1", note="handle empty input")
    assert crew.call("ann", "board_claim")["task"]["changes_wanted"] == "handle empty input"
    crew.call("ann", "review_request", id="1")
    crew.call("bob", "review_approve", id="1", note="fine")
    assert "fine" in crew.rows("ann")[-1].text
    assert crew.call("ann", "board_complete", id="1")["task"]["state"] == "completed"


def test_every_change_is_in_the_history_in_the_name_of_the_connection(crew):
    crew.add(reviewer="bob")
    crew.call("ann", "board_claim")
    crew.call("ann", "board_comment", id="1", text="on it")
    crew.call("ann", "review_request", id="1")
    crew.call("bob", "review_approve", id="1")
    crew.call("ann", "board_complete", id="1")
    past = crew.call("", "board_list", view="history")["events"]
    assert [(one["event"], one["actor"]) for one in past] == [
        ("task_created", "lena"),
        ("status_changed", "ann"),
        ("commented", "ann"),
        ("review_requested", "ann"),
        ("review_approved", "bob"),
        ("status_changed", "ann"),
    ]
