"""Who must act first, in sentences."""

from __future__ import annotations

import shlex
from dataclasses import replace

from tests.tui.lantern import LANTERN, NOW, PUSH, ago, member, open_merge, shown_seen, task

from atm.ui.views.team.attention import DONE, GROUPS, IDLE, NEEDS, PROBLEMS, UNHEARD, WORKING, attention, strip
from atm.ui.views.team.seen import (
    AgentSeen,
    AskedSeen,
    LateSeen,
    LeadSeen,
    MemberSeen,
    MergesSeen,
    TeamSeen,
)
from atm.vendors.dialogs import UNRECOGNISED


def team(**facts: object) -> TeamSeen:
    return replace(TeamSeen("crew"), **facts)  # type: ignore[arg-type]


def rows(seen: TeamSeen, group: str) -> list[tuple[str, str, str]]:
    return [(row.word, row.who, row.text) for row in attention(seen, NOW) if row.group == group]


def test_groups_come_in_the_order_of_who_must_act():
    found = [row.group for row in attention(LANTERN, NOW)]
    assert found == sorted(found, key=GROUPS.index)
    assert {*found} == {*GROUPS} - {UNHEARD}


def test_a_command_for_a_person_needs_you_and_says_how_long_it_waits_yet():
    (row,) = [row for row in attention(LANTERN, NOW) if row.word == "command"]
    assert (row.who, row.vendor, row.task, row.right) == ("kite", "CX", "6", "11:42 left")


def test_what_the_lead_may_answer_is_the_leads_while_it_is_there():
    asked = replace(PUSH, tier="lead")
    there = team(lead=LeadSeen("heron"), members=[member("heron")], approvals=[asked])
    assert rows(there, NEEDS) == []
    away = replace(there, members=[member("heron", liveness="offline")])
    assert [who for _, who, _ in rows(away, NEEDS)] == ["kite"]


def test_a_plan_waits_for_the_lead_or_for_you():
    seen = team(tasks=[task(1, "pool", "planning", "wren")], asked=[AskedSeen("1", "plan", "lead", "wren", ago(1320))])
    assert rows(seen, NEEDS) == [("plan waits", "wren", "pool")]
    assert attention(seen, NOW)[0].right == "waits 22 min"
    led = replace(seen, lead=LeadSeen("heron"), members=[member("heron")])
    assert rows(led, NEEDS) == []


def test_a_question_to_the_user_is_yours_also_if_there_is_a_lead_and_stands_there_in_its_words():
    asked = AskedSeen("1", "question", "user", "ann", ago(60), "which colour?")
    seen = team(lead=LeadSeen("heron"), members=[member("heron")], asked=[asked])
    assert rows(seen, NEEDS) == [("question", "ann", "which colour?")]


def test_unread_mail_of_a_person_needs_that_person_and_of_an_agent_nobody():
    seen = team(members=[member("ann", kind="human", unread=2), member("bob", unread=3)])
    assert rows(seen, NEEDS) == [("mail", "ann", "2 unread for ann")]


def test_a_merge_that_nobody_but_a_person_can_settle_needs_you_and_another_is_a_problem():
    queue = MergesSeen(
        needs_human=["1"], open=[open_merge("1", "conflict", "both"), open_merge("2", "conflict", "one")]
    )
    seen = team(merges=queue)
    assert rows(seen, NEEDS) == [("merge", "", "both")]
    assert rows(seen, PROBLEMS) == [("in conflict", "", "one")]


def test_who_is_gone_and_holds_a_task_is_a_problem_and_who_is_gone_without_one_rests():
    seen = team(members=[member("ann", liveness="offline", tasks=("7",)), member("bob", liveness="offline")])
    assert rows(seen, PROBLEMS) == [("gone", "ann", "is offline, and holds #7")]
    assert [(word, who) for word, who, _ in rows(seen, IDLE)] == [("offline", "bob")]


def test_an_agent_that_ended_with_an_error_says_it():
    seen = team(members=[member("ann", "codex", "error", error="no key")])
    assert rows(seen, PROBLEMS) == [("crashed", "ann", "no key")]


def test_a_stalled_task_says_for_how_long_and_that_its_holder_is_there():
    assert ("stalled", "tern", "no progress for 47 min, yet online") in rows(LANTERN, PROBLEMS)


def test_a_message_without_the_acknowledgement_that_was_asked_for_is_a_problem_once_somebody_was_told():
    late = LateSeen("m1", "bob", "ann", "please review", ago(1200))
    assert rows(team(unacknowledged=[late]), PROBLEMS) == []
    told = rows(team(unacknowledged=[replace(late, told="lead")]), PROBLEMS)
    assert told == [("late", "bob", "has not acknowledged please review, for ann")]


def test_a_part_that_cannot_be_read_is_a_problem():
    assert rows(team(troubles=["tasks: no permission"]), PROBLEMS) == [("trouble", "", "tasks: no permission")]


def test_failed_and_unreachable_tasks_are_problems():
    seen = team(tasks=[task(1, "a", "failed", "ann"), task(2, "b", "unreachable", unreachable_because="#1 failed")])
    assert [(word, text) for word, _, text in rows(seen, PROBLEMS)] == [("failed", "a"), ("unreachable", "#1 failed")]


def test_who_has_a_task_and_is_there_works_and_who_has_none_says_why_it_rests():
    seen = team(
        members=[member("ann", tasks=("1",)), member("bob", state="idle")],
        tasks=[task(1, "parser", "in_progress", "ann")],
    )
    assert rows(seen, WORKING) == [("working", "ann", "parser")]
    assert rows(seen, IDLE) == [("idle", "bob", "nothing is free; mail wakes it")]
    free = replace(seen, tasks=[*seen.tasks, task(2, "docs", "pending")])
    assert rows(free, IDLE) == [("idle", "bob", "a task is free to claim")]


def test_of_whom_nothing_is_known_that_is_said():
    seen = team(
        members=[
            replace(
                member("ann", state="unknown", liveness="unknown"), state_age_seconds=None, liveness_age_seconds=None
            )
        ]
    )
    assert rows(seen, UNHEARD) == [("unknown", "ann", "no sign of life is known")]
    assert attention(seen, NOW)[0].right == "unknown"


def test_who_waits_for_an_answer_is_told_of_once():
    assert [row.group for row in attention(LANTERN, NOW) if row.who == "finch" and row.group != DONE] == [NEEDS]


def test_what_somebody_did_long_ago_is_not_said_to_be_so_now():
    seen = team(members=[member("ann", age=240)])
    assert rows(seen, WORKING) == [("working", "ann", "was in a turn when it was last heard of")]
    assert rows(team(members=[member("ann")]), WORKING) == [("working", "ann", "in a turn")]


def test_done_is_merged_where_work_is_merged():
    seen = team(tasks=[task(1, "a", "completed", "ann")])
    assert rows(seen, DONE) == [("done", "ann", "a")]
    merged = team(tasks=[task(1, "a", "completed", "ann", shown=shown_seen("merged"))])
    assert rows(merged, DONE) == [("merged", "ann", "a")]


def test_the_strip_has_one_cell_for_each_task_and_says_what_holds_it_up():
    cells = dict(zip([one.id for one in LANTERN.tasks], strip(LANTERN), strict=True))
    assert [cells[id] for id in ("1", "4", "6", "7", "8", "10", "12", "13")] == [
        *("merged", "merging", "approval", "stalled", "conflict", "plan_waits", "blocked", "question")
    ]


def test_a_clock_that_jumped_back_makes_no_negative_ages():
    assert all((row.age or 0) >= 0 for row in attention(LANTERN, NOW - 100_000))


def test_a_task_that_its_holder_gave_up_and_nobody_has_is_a_problem():
    lost = replace(LANTERN.tasks[10], owner=None, failures=1, max_retries=2)
    rows = attention(replace(LANTERN, tasks=[replace(lost, shown=shown_seen("to_retry"))]), NOW)
    assert [(row.word, row.task) for row in rows if row.group == "Problems" and row.target == ("task", "11")] == [
        ("to retry", "11")
    ]
    assert not [
        row for row in attention(replace(LANTERN, tasks=[replace(lost, owner="ann")]), NOW) if row.word == "to retry"
    ]


def test_who_works_says_for_how_long_its_limit_and_its_silence():
    wren = member("wren", state="working", tasks=("1",))
    timed = replace(wren, task_since=ago(720), output_at=ago(480), task_limit=3600.0)
    seen = team(tasks=[task(1, "pool", "in_progress", "wren")], members=[timed])
    assert rows(seen, WORKING) == [("working", "wren", "12 min of 1h, no output for 8 min: pool")]
    assert rows(replace(seen, members=[wren]), WORKING) == [("working", "wren", "pool")]


def asking(name: str, asks: str | None, *, state: str = "waiting", liveness: str = "online") -> MemberSeen:
    started = AgentSeen(runtime="codex", state="waiting" if asks else "idle", asks=asks)
    return MemberSeen(name, state=state, liveness=liveness, agent=started)


def test_a_program_that_asks_a_person_needs_you_and_is_never_idle():
    seen = team(members=[asking("bob", "whether to trust this folder")])
    said = "its program asks a person whether to trust this folder: atm attach --team crew bob"
    assert rows(seen, NEEDS) == [("question", "bob", said)]
    assert rows(seen, IDLE) == []


def test_a_window_that_atm_does_not_recognise_needs_you_and_names_the_command_that_opens_it():
    seen = team(members=[asking("bob", UNRECOGNISED)])
    ((_, _, text),) = rows(seen, NEEDS)
    assert text.startswith("no session of it is known yet, and atm does not recognise what its window shows: ")
    assert text.endswith("atm attach --team crew bob")


def test_an_agent_that_a_signal_has_stopped_needs_you_and_names_the_command_that_continues_it():
    agent = AgentSeen(runtime="script", state="suspended", task="1", continue_command="kill -CONT 77")
    seen = team(members=[MemberSeen("bob", state="working", liveness="online", agent=agent)])
    text = "a signal has stopped it (Ctrl-Z); continue it: kill -CONT 77"
    assert rows(seen, NEEDS) == [("suspended", "bob", text)]
    assert rows(seen, WORKING) == rows(seen, IDLE) == []


def test_the_question_of_an_agent_that_is_gone_waits_for_nobody():
    seen = team(members=[asking("bob", "to sign in", liveness="offline")])
    assert rows(seen, NEEDS) == []


def test_an_agent_that_waits_at_its_own_terminal_needs_you():
    """Started by a person, so there is no window of ours: its hook alone says that it waits."""
    seen = team(members=[MemberSeen("bob", state="waiting", liveness="online")])
    assert rows(seen, NEEDS) == [("question", "bob", "asks for a permission, at its own terminal")]


def test_an_agent_whose_request_is_with_the_lead_waits_and_is_not_idle():
    asked = replace(PUSH, tier="lead", requester="bob")
    lead = member("heron")
    waiting = MemberSeen("bob", state="waiting", liveness="online")
    seen = team(lead=LeadSeen("heron"), members=[lead, waiting], approvals=[asked])
    assert rows(seen, NEEDS) == []
    assert [(word, who) for word, who, _ in rows(seen, WORKING) if who == "bob"] == [("waiting", "bob")]


def test_a_name_that_is_an_option_or_a_command_stays_one_word_of_the_command():
    for name in ("--force", "a;rm -rf x"):
        seen = team(members=[asking(name, "to sign in")])
        ((_, _, text),) = rows(seen, NEEDS)
        command = text.partition(": ")[2]
        assert shlex.split(command) == ["atm", "attach", "--team", "crew", *(["--"] if name[0] == "-" else []), name]
