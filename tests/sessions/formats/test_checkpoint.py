"""`state.json` in the shape of seed 003 section 1.3, beside what was there before."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.proving import proves

from atm.sessions.formats.checkpoint import (
    Checkpoint,
    TailMessage,
    TaskInProgress,
    Teammate,
    checkpointed,
    created_in,
    facts_in,
    open_tasks_in,
    sequence_in,
    teammates_in,
    with_checkpoint,
)
from atm.sessions.formats.consolidation_fields import consolidation_in, with_consolidation
from atm.sessions.formats.member_checkpoint import MemberCheckpoint, decode_member, encode_member
from atm.sessions.rules.consolidation import Consolidation
from atm.team.formats.lead_fields import decode_away, decode_lead, lead_fields, with_fields
from atm.team.formats.team_state import decode_state, new_state
from atm.team.rules.lead_session import LeadSession

AT = 1_740_069_825.0
SUBJECT = "Fix YNetRunner deadlock"
BOB = Teammate(
    id="tm_1",
    index=0,
    role="engineer",
    quantum="engine",
    status="in_progress",
    task="7",
    context=45,
    heartbeat=AT + 87,
    last_message=42,
)
SAID = Checkpoint(
    lead="ann",
    teammates=[BOB],
    pending=["8", "9"],
    in_progress=[TaskInProgress(id="7", quantum="engine", owner="tm_1", needs=[], created=AT - 25, subject=SUBJECT)],
    completed=["1"],
    open_tasks=[{"id": "7", "subject": SUBJECT}],
    mailbox_seq=45,
    tail=[TailMessage(seq=40, sender="tm_1", to="tm_2", at="2026-02-20T14:24:18Z", kind="info", body="Found a race")],
    facts={"modules": "abc123", "gates": "xyz789", "shared_src": "pqr345"},
)


def begun() -> bytes:
    return new_state("t", "active", "2026-02-20T14:23:45.000Z", "ann", "team-engine+schema+test-iDs6b")


@proves(
    "R003-1.1-01",
    "R003-1.1-02",
    "R003-1.1-03",
    "R003-1.1-04",
    "R003-1.1-07",
    "R003-1.1-08",
    "R003-1.1-09",
    "R003-1.1-11",
    "R003-1.1-12",
    "R003-1.1-13",
    "R003-1.1-14",
    "R003-1.1-15",
    "R003-1.1-16",
    "R003-1.1-17",
    "R003-1.1-18",
    "R003-1.1-19",
    "R003-1.1-20",
    "R003-1.1-21",
    "R003-1.1-22",
    "R003-1.1-23",
    "R003-1.1-24",
    "R003-1.1-27",
    "R003-1.1-29",
    "R003-1.1-30",
    "R003-1.1-31",
    "R003-1.1-32",
    "R003-1.1-33",
    "R003-1.1-34",
    "R003-1.3-01",
    "R003-1.3-02",
    "R003-1.3-04",
    "R003-1.3-05",
    "R003-1.3-08",
    "R003-1.3-09",
    "R003-1.3-10",
    "R003-1.3-11",
    "R003-1.3-12",
    "R003-1.3-13",
    "R003-1.3-14",
    "R003-1.3-15",
    "R003-1.3-16",
    "R003-1.3-17",
    "R003-1.3-18",
    "R003-1.3-19",
    "R003-1.3-20",
    "R003-1.3-21",
    "R003-1.3-22",
    "R003-1.3-23",
    "R003-1.3-24",
    "R003-1.3-25",
    "R003-1.3-26",
    "R003-1.3-27",
    "R003-1.3-28",
    "R003-1.3-29",
    "R003-1.3-30",
    "R003-1.3-31",
    "R003-1.3-32",
    "R003-1.3-33",
    "R003-1.3-34",
    "R003-1.3-35",
    "R003-2.3-08",
    "R003-4.4-01",
    "R003-5.2-01",
    "R003-5.2-02",
    "R003-5.2-03",
    "R003-5.2-05",
    "R003-9-01",
    "R003-9-02",
    "R003-10-01",
)
def test_a_checkpoint_has_every_field_of_the_seed():
    found = json.loads(with_checkpoint(begun(), SAID, AT + 120, AT))
    assert found["version"] == "1.0"
    assert found["team_id"] == "team-engine+schema+test-iDs6b"
    assert (found["checkpoint_sequence"], found["status"]) == (1, "active")
    assert (found["created_utc_ms"], found["updated_utc_ms"]) == (1_740_069_825_000, 1_740_069_945_000)
    assert found["teammate_count"] == 1
    assert found["teammates"] == [
        {
            "id": "tm_1",
            "index": 0,
            "role": "engineer",
            "quantum": "engine",
            "status": "in_progress",
            "task_claimed": "7",
            "context_usage_percent": 45,
            "heartbeat_utc_ms": 1_740_069_912_000,
            "last_message_seq": 42,
            "last_checkpoint_seq": 1,
        }
    ]
    assert found["task_queue"] == {
        "pending": ["8", "9"],
        "in_progress": [
            {
                "id": "7",
                "quantum": "engine",
                "assigned_to": "tm_1",
                "dependencies": [],
                "status": "in_progress",
                "created_utc_ms": 1_740_069_800_000,
                "description": SUBJECT,
            }
        ],
        "completed": ["1"],
    }
    assert found["mailbox_seq"] == 45
    assert found["mailbox_tail"][0]["type"] == "info"
    assert found["facts_checksums"] == {"modules": "abc123", "gates": "xyz789", "shared_src": "pqr345"}
    assert found["metadata"] == {"N": 1, "divergence_detected": False}


@proves("R003-1.1-02", "R003-1.1-03", "R003-1.1-36", "R003-1.2-05", "R003-1.3-06", "R003-6-05")
def test_where_a_team_stands_and_who_leads_it_stay_as_they_were():
    led = with_fields(begun(), lead_fields(LeadSession(session="one", last_seen=AT, away_since=AT + 5, folder="/r")))
    after = with_checkpoint(led, SAID, AT, AT)
    assert decode_state(after).status == "active"
    assert decode_lead(after) == LeadSession(session="one", last_seen=AT, away_since=AT + 5, folder="/r")


@proves("R003-1.3-03")
def test_the_sequence_rises_with_every_change_and_with_nothing_else():
    one = with_checkpoint(begun(), SAID, AT, AT)
    assert with_checkpoint(one, SAID, AT + 99, AT) == one
    two = with_checkpoint(one, replace(SAID, pending=["8"]), AT + 99, AT)
    assert (sequence_in(one), sequence_in(two)) == (1, 2)
    assert created_in(two) == AT


@proves("R003-1.1-31", "R003-1.1-32", "R003-1.1-33", "R003-5.2-08")
def test_facts_stay_unless_they_are_taken_anew():
    one = with_checkpoint(begun(), SAID, AT, AT)
    two = with_checkpoint(one, replace(SAID, facts=None, completed=[]), AT, AT)
    assert facts_in(two) == SAID.facts
    assert facts_in(with_checkpoint(two, replace(SAID, facts={}), AT, AT)) == {}


@proves("R003-1.1-07", "R003-1.1-08", "R003-1.1-09")
def test_members_and_open_tasks_are_read_back():
    data = with_checkpoint(begun(), SAID, AT, AT)
    assert [(one.id, one.role, one.task) for one in teammates_in(data)] == [("tm_1", "engineer", "7")]
    assert open_tasks_in(data) == [{"id": "7", "subject": SUBJECT}]
    assert checkpointed(data) == checkpointed(with_fields(data, lead_fields(LeadSession(session="two"))))


@proves("R003-5.2-09")
def test_the_seeds_example_with_fifty_long_messages_stays_within_fifty_kilobytes():
    long = [replace(SAID.tail[0], seq=number, body="x" * 5000) for number in range(50)]
    assert len(with_checkpoint(begun(), replace(SAID, tail=long), AT, AT)) < 50_000


@proves("R003-3.3-02", "R003-3.3-03", "R003-3.3-04", "R003-3.3-05", "R003-6-08")
def test_a_members_own_checkpoint_is_read_back():
    said = MemberCheckpoint(
        member="bob",
        task="3",
        at=AT,
        worktree="/w",
        branch="b",
        salvage="refs/atm/salvage/t/3/x",
        files=["a.py"],
        command="make",
        code=2,
        output="red",
        good="c1",
        inherited_from="ann",
    )
    assert decode_member(encode_member(said)) == said
    assert decode_member(b"{}").member == ""


@proves("R003-7-team-08")
def test_a_consolidation_is_read_back_and_taken_away():
    said = Consolidation(
        step="checks", by="ann", session="one", at=AT, pid=7, began="1", boot="b", push="origin", index="t"
    )
    data = with_consolidation(begun(), said)
    assert consolidation_in(data) == said
    assert json.loads(data)["partial_consolidation"] is True
    assert consolidation_in(with_consolidation(data, None)) is None


def test_garbage_in_any_field_is_as_good_as_nothing():
    data = b'{"lead_session_id": 7, "lead_last_seen_utc_ms": "x", "lead_terminal": [], "consolidation": 3}'
    assert decode_lead(data) == LeadSession()
    assert consolidation_in(data) is None
    assert teammates_in(data) == []
    assert open_tasks_in(data) == []
    assert decode_away(b"no json") == (0, "", "")
