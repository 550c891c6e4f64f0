"""
Seed 002, sections 20 to 29: what no other test proves. Reports over MCP, on real files, as section 20.4 lists them; one
way to each truth (section 28); no switches (section 22).
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import threading
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.mcp.crew import Crew
from tests.project.source_trees import MODULES, SOURCE, nodes_in, outline_of, parsed, saying
from tests.proving import proves
from tests.teamd.test_sync_work import QUIET, Stage
from tests.worksync.services.conftest import Place

from atm import config
from atm.config import known
from atm.core.errors import WriteRefused
from atm.files.formats.times import from_iso
from atm.files.ports.records import INTENTS, STATUS
from atm.mail.rules.surfacing import ShowingNote
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.mail.services.spooling import drain
from atm.roster.services.members import add_member, remove_member
from atm.team.rules.team import Member
from atm.team.services.lifecycle import advance
from atm.team.services.presence import beat
from atm.team.services.registry import find_team
from atm.teamd.parts import worksync as sync_work
from atm.ui.mcp.caller import Caller
from atm.ui.mcp.catalog import find_tool, tools_for
from atm.ui.mcp.resources import read
from atm.wiring.worksync import build_syncroom
from atm.worksync.rules import reports
from atm.worksync.rules.decisions import VALID_LEASE
from atm.worksync.services import rounds
from atm.worksync.services.reading import view
from atm.worksync.services.reconcile import reconcile
from atm.worksync.services.reports import replay
from atm.worksync.services.syncroom import SyncRoom

ROOT = Path(__file__).parents[3]
REPORT = "member_work_sync_report"
IDENTITY = {"ok", "reason", "instruction"}
"""All that somebody is told who is refused because of who they are."""


class Office(Crew):
    """`crew`, and what work-sync knows of it."""

    def __init__(self, layout: Any) -> None:
        super().__init__(layout)
        self.syncroom: SyncRoom = build_syncroom(layout, self.settings, self.boardroom)

    def client(self, member: str = "ann", *, daemon: bool = True, source: str = "environment") -> Caller:
        """A connection: of the daemon's own server, or of one that can ask nobody."""
        return Caller(
            *(self.layout, self.settings),
            team="crew",
            member=member,
            role="teammate",
            source=source,
            has_daemon=daemon,
        )

    def block(self, who: str = "ann") -> Any:
        return self.call(who, "task_briefing")["workSync"]

    def words(self, who: str = "ann", **other: Any) -> dict[str, Any]:
        seen = self.call(who, "member_work_sync_status")  # a briefing is short about whoever is caught up
        said = {key: seen[key] for key in ("agendaFingerprint", "reportToken")}
        return {"from": who, "state": "still_working", **said, **other}

    def say(self, client: Caller, words: dict[str, Any]) -> Any:
        """Past the schema that a server holds them against: the rules below it hold by themselves."""
        tool = find_tool(client.role, REPORT)
        assert tool is not None
        return tool.call(client, {key: value for key, value in words.items() if value is not None})

    @property
    def has_lease(self) -> bool:
        return view(self.syncroom, find_team(self.room, "crew"), "ann").state == VALID_LEASE

    @property
    def intents(self) -> dict[str, Any]:
        return self.syncroom.records.read("crew", INTENTS)

    @property
    def accepted(self) -> list[str]:
        """Who has an accepted report."""
        known = self.syncroom.records.read("crew", STATUS)
        return [name for name, record in known.items() if "latestAcceptedReport" in record]

    def others_files(self) -> dict[str, bytes]:
        """Everything of the team but what work-sync keeps, and signs of life."""
        roots = (Path(self.layout.team("crew")), Path(self.layout.tasks("crew")))
        ours = {".member-work-sync", "heartbeats"}
        paths = [path for root in roots for path in root.rglob("*") if path.is_file()]
        return {str(path): path.read_bytes() for path in paths if not ours & set(path.parts)}


@pytest.fixture
def office(layout) -> Office:
    """ann holds #1 and has not been heard of."""
    made = Office(layout)
    made.add("Write the parser", owner="ann")
    return made


# The tool.


@proves(
    "R002-21-16",
    "R002-22-08",
    "R002-25-02",
    "R002-27.0-23",
    "R002-27.2-29",
    "R002-27.2-30",
    "R002-27.2-48",
    "R002-28-10",
)
def test_the_report_tool_is_for_whoever_works_and_takes_what_the_seed_says():
    for role in ("teammate", "lead", "human"):
        tool = find_tool(role, REPORT)
        assert tool is not None
        assert tool.group == "worksync"
        properties = tool.input["properties"]
        assert isinstance(properties, dict)
        assert "reportToken" in properties
        assert tool.input["required"] == ["from", "agendaFingerprint", "state"], "the connection proves who reports"
        assert not tool.destroys
    assert REPORT not in {tool.name for tool in tools_for("observer")}
    assert "task_briefing" in {tool.name for tool in tools_for("teammate")}


@proves("R002-20.4-01", "R002-23-09")
@pytest.mark.parametrize("missing", ["from", "agendaFingerprint", "state"])
@pytest.mark.parametrize("daemon", [True, False])
def test_a_report_without_a_name_a_fingerprint_or_a_state_is_none(office, missing, daemon):
    answer = office.say(office.client(daemon=daemon), office.words(**{missing: None}))
    assert (answer["ok"], answer["reason"]) == (False, "invalid_payload")
    assert (office.accepted, office.intents) == ([], {})


@proves("R002-23-12", "R002-23-33", "R002-25-07", "R002-27.2-33")
@pytest.mark.parametrize(
    ("more", "named"),
    [({"note": "x" * 1001}, "note"), ({"taskIds": [str(n) for n in range(1, 22)]}, "taskIds"), ({"from": 7}, "from")],
)
@pytest.mark.parametrize("daemon", [True, False])
def test_what_is_too_large_or_no_text_is_refused_without_an_echo(office, more, named, daemon):
    answer = office.say(office.client(daemon=daemon), office.words(**more))
    assert answer["reason"] == "invalid_payload"
    assert named in answer["detail"]
    assert len(str(answer)) < 400
    assert (office.accepted, office.intents) == ([], {})


# Who reports.

WRONG = {
    "user": "reserved_author",
    "System": "reserved_author",
    "codex": "unsafe_provider_alias",
    "bob": "identity_mismatch",
    "lead": "identity_mismatch",
    "team-lead": "identity_mismatch",
    "mallory": "member_inactive",
}


@proves(
    "R002-20.4-02",
    "R002-20.4-03",
    "R002-20.4-06",
    "R002-20.4-09",
    "R002-22-09",
    "R002-23-02",
    "R002-23-03",
    "R002-23-09",
    "R002-23-10",
    "R002-23-11",
    "R002-23-19",
    "R002-23-35",
    "R002-26-07",
    "R002-26-08",
    "R002-27.2-33",
    "R002-27.2-34",
    "R002-27.2-36",
    "R002-27.2-52",
    "R002-27.3-16",
)
@pytest.mark.parametrize("claimed", WRONG)
@pytest.mark.parametrize("daemon", [True, False])
def test_a_session_reports_as_nobody_but_its_own_member(office, claimed, daemon):
    """Nothing is accepted, nothing is noted, and nothing of anybody's agenda is told."""
    before = office.others_files()
    answer = office.say(office.client("ann", daemon=daemon), office.words(**{"from": claimed}))
    assert answer["reason"] == WRONG[claimed]
    assert set(answer) == IDENTITY
    assert (office.accepted, office.intents) == ([], {})
    assert office.others_files() == before


@proves("R002-13.2-21", "R002-27.2-52")
@pytest.mark.parametrize("daemon", [True, False])
def test_a_member_that_was_removed_is_refused_before_anything_is_noted(office, daemon):
    words = office.words()
    remove_member(office.room, "crew", "ann", force=True)
    answer = office.say(office.client("ann", daemon=daemon), words)
    assert (answer["reason"], set(answer), office.intents) == ("member_inactive", IDENTITY, {})


@proves("R002-20.4-03", "R002-23-11")
def test_a_vendor_may_report_where_a_member_is_called_so(office):
    add_member(office.room, "crew", Member("codex"))
    office.add("Write its tests", owner="codex")
    assert office.say(office.client("codex"), office.words("codex"))["ok"] is True


@proves("R002-20.4-04", "R002-20.4-05", "R002-25-03", "R002-25-11")
@pytest.mark.parametrize("alias", ["lead", "team-lead"])
def test_a_leads_alias_is_for_the_leads_own_agenda_only(office, alias):
    office.add("Plan the work", owner="lena")
    lead = office.client("lena")
    assert office.say(lead, office.words("lena", **{"from": alias}))["ok"] is True
    assert office.say(lead, office.words("ann"))["reason"] == "identity_mismatch"
    theirs = {**office.words("ann"), "from": alias, "reportToken": None}
    answer = office.say(lead, theirs)
    assert answer["reason"] == "stale_fingerprint", "of another agenda it says nothing"
    assert [one["taskRef"] for one in answer["currentAgendaPreview"]] == ["#2"], "and what it sees is its own"
    assert office.accepted == ["lena"]


@proves(
    "R002-20.4-08",
    "R002-23-17",
    "R002-26-09",
    "R002-26-25",
    "R002-27.2-36",
    "R002-27.2-51",
    "R002-27.2-53",
    "R002-28-19",
)
@pytest.mark.parametrize("daemon", [True, False])
def test_a_name_alone_or_a_bad_token_is_no_proof(office, daemon):
    stranger = office.client("", daemon=daemon, source="nobody")
    words = office.words()
    assert office.say(stranger, {**words, "reportToken": None})["reason"] == "identity_untrusted"
    for token in ("wrs:v1.a.b", words["reportToken"][:-3], office.words("bob")["reportToken"]):
        for client in (stranger, office.client("ann", daemon=daemon)):
            answer = office.say(client, {**words, "reportToken": token})
            assert (answer["reason"], set(answer)) == ("invalid_report_token", IDENTITY)
    assert (office.accepted, office.intents, office.has_lease) == ([], {}, False)
    assert office.say(stranger, words)["ok"] is True


# What becomes of it.


@proves("R002-20.4-10", "R002-26-05", "R002-27.2-21")
def test_a_stale_report_is_answered_with_what_is_current(office):
    words = office.words()
    office.add("Write its tests", owner="ann")
    answer = office.say(office.client(), words)
    assert answer["reason"] == "stale_fingerprint"
    assert answer["currentAgendaFingerprint"] == office.block()["agendaFingerprint"] != words["agendaFingerprint"]
    assert [one["taskRef"] for one in answer["currentAgendaPreview"]] == ["#1", "#2"]
    assert all(set(one) <= {"taskRef", "kind", "reason", "subject"} for one in answer["currentAgendaPreview"])
    assert office.accepted == []


@proves("R002-26-10")
def test_a_team_that_was_stopped_takes_nothing_over_mcp(office):
    words = office.words()
    advance(office.room, "crew", "stopped", "hugo")
    for daemon in (True, False):
        assert office.say(office.client(daemon=daemon), words)["reason"] == "team_inactive"
    assert (office.accepted, office.intents) == ([], {})


@proves(
    "R002-20.2-15",
    "R002-20.3-26",
    "R002-20.4-11",
    "R002-20.4-12",
    "R002-22-09",
    "R002-25-08",
    "R002-26-12",
    "R002-27.2-36",
    "R002-27.2-37",
    "R002-27.2-50",
)
def test_a_server_that_can_ask_nobody_only_notes_and_the_lease_comes_with_the_validator(office):
    answer = office.say(office.client(daemon=False), office.words())
    assert (answer["ok"], answer["pendingValidation"]) == (True, True)
    assert "leaseExpiresAt" not in answer
    assert (office.accepted, office.has_lease, len(office.intents)) == ([], False, 1)
    assert replay(office.syncroom, "crew") == 1
    assert (office.accepted, office.has_lease) == (["ann"], True)


@proves("R002-20.4-12", "R002-26-30", "R002-27.2-39", "R002-27.2-41")
def test_a_note_that_went_stale_while_it_waited_never_becomes_a_lease(office):
    office.say(office.client(daemon=False), office.words())
    office.add("Write its tests", owner="ann")
    replay(office.syncroom, "crew")
    assert (office.accepted, office.has_lease) == ([], False)
    assert [one["validationReason"] for one in office.intents.values()] == ["stale_fingerprint"]


@proves("R002-20.4-13")
def test_a_connection_without_a_team_cannot_report_and_leaves_nothing(office):
    homeless = Caller(
        *(office.layout, office.settings),
        team="",
        member="ann",
        role="teammate",
        source="environment",
        has_daemon=True,
    )
    answer = office.say(homeless, office.words())
    assert (answer["ok"], answer["reason"]) == (False, "capability_unavailable")
    assert (office.accepted, office.intents) == ([], {})


@proves(
    "R002-20.4-15",
    "R002-22-03",
    "R002-22-08",
    "R002-25-13",
    "R002-26-36",
    "R002-26-37",
    "R002-27.2-24",
    "R002-28-14",
    "R002-28-15",
)
@pytest.mark.parametrize("state", ["still_working", "blocked", "caught_up"])
@pytest.mark.parametrize("daemon", [True, False])
def test_a_report_over_mcp_writes_no_comment_no_message_and_no_task(office, state, daemon):
    words = office.words(state=state, note="Done with #1! Please tell everybody and close it.", taskIds=["1"])
    before = office.others_files()
    office.say(office.client(daemon=daemon), words)
    replay(office.syncroom, "crew")
    assert office.others_files() == before
    assert any(Path(name).name == "1.json" for name in before)


@proves("R002-20.2-14", "R002-22-25")
def test_an_accepted_report_says_until_when_by_our_clock(office):
    answer = office.say(office.client(), office.words(reportedAt="2099-01-01T00:00:00Z"))
    until = from_iso(answer["leaseExpiresAt"])
    assert until is not None
    assert 0 < until - office.syncroom.now() <= 600


# Looking.


@proves(
    "R002-20.4-14",
    "R002-21-08",
    "R002-22-07",
    "R002-26-03",
    "R002-26-32",
    "R002-26-35",
    "R002-27.2-07",
    "R002-28-09",
    "R002-28-24",
)
def test_every_read_surface_gives_the_fingerprint_of_the_reconciler(office):
    (look,) = reconcile(office.syncroom, "crew", {"ann": "manual_refresh"})
    found = {office.block()["agendaFingerprint"]}
    found.add(office.call("ann", "member_work_sync_status")["agendaFingerprint"])
    found.add(office.call("lena", "member_work_sync_status", member="ann")["agendaFingerprint"])
    assert found == {look.seen.fingerprint}
    assert look.seen.fingerprint in read(office.caller("ann"), "atm://crew/agenda/ann")[1]


@proves("R002-26-04")
def test_ones_own_status_has_the_token_and_anothers_has_none_whoever_asks(office):
    assert office.call("ann", "member_work_sync_status")["reportToken"].startswith("wrs:v1.")
    for who in ("bob", "lena", "hugo", ""):
        assert "reportToken" not in office.call(who, "member_work_sync_status", member="ann")


@proves("R002-23-34", "R002-25-12", "R002-27.1-47", "R002-27.3-02", "R002-27.3-04", "R002-27.3-06", "R002-27.3-20")
def test_a_lead_sees_how_others_stand_and_a_teammate_no_more_than_that(office):
    office.add("A secret subject", owner="ann")
    office.call("ann", "board_comment", id="1", text="a secret remark, for #1 alone: trouble")
    office.say(office.client("ann"), office.words(note="my secret trouble"))
    of_lead = office.call("lena", "member_work_sync_status", member="ann")
    assert (of_lead["label"], [one["taskRef"] for one in of_lead["items"]]) == ("Working", ["#1", "#2"])
    assert "trouble" not in str(of_lead)
    for who in ("bob", ""):
        of_mate = office.call(who, "member_work_sync_status", member="ann")
        assert set(of_mate) == {"member", "state", "label", "actionableCount"}


@proves("R002-27.3-03", "R002-27.3-04", "R002-27.3-09", "R002-27.3-10", "R002-27.3-11", "R002-27.3-12", "R002-27.3-13")
def test_the_details_of_a_member_hold_what_section_27_3_asks_for(office):
    office.call("ann", "board_comment", id="1", text="a secret remark")
    answer = office.say(office.client("ann"), office.words(note="a secret note"))
    shown: Any = view(office.syncroom, find_team(office.room, "crew"), "ann").fields()
    assert (shown["state"], shown["label"]) == (VALID_LEASE, "Working")
    assert shown["agendaFingerprint"] == answer["agendaFingerprint"] == shown["latestReport"]["agendaFingerprint"]
    assert shown["leaseExpiresAt"] == answer["leaseExpiresAt"]
    assert [one["taskRef"] for one in shown["items"]] == ["#1"]
    assert "secret" not in str(shown)


@proves("R002-27.2-07", "R002-27.2-10")
def test_a_briefing_is_the_same_but_for_its_block_whatever_work_sync_says(office):
    before = office.call("ann", "task_briefing")
    office.say(office.client("ann"), office.words())
    advance(office.room, "crew", "stopped", "hugo")
    after = office.call("ann", "task_briefing")
    assert before.pop("workSync") != after.pop("workSync")
    assert before == after


# One way to each truth.

THE_ONE = {
    ("atm.worksync.rules.agenda", "build_agendas"): {"worksync/services/syncroom.py"},
    ("atm.worksync.services.syncroom", "read_agendas"): {"worksync/services/reconcile.py"},
    ("atm.worksync.formats.agenda_fingerprint", "fingerprint"): {"worksync/services/reconcile.py"},
    ("atm.worksync.rules.reports", "validate"): {"worksync/services/reports.py"},
    ("atm.worksync.rules.reports", "check_identity"): {"worksync/services/reports.py"},
    ("atm.worksync.formats.report_token", "verify_token"): {"worksync/services/syncroom.py"},
    ("atm.worksync.services.nudges", "plan"): {"worksync/services/rounds.py"},
    ("atm.worksync.services.nudges", "dispatch"): {"worksync/services/rounds.py"},
    ("atm.worksync.rules.decisions", "would_nudge"): {
        "worksync/services/reading.py",
        "worksync/services/reconcile.py",
    },
    ("atm.worksync.rules.decisions", "decide"): {
        *("worksync/services/reading.py", "worksync/services/reconcile.py", "worksync/services/reports.py"),
    },
}
"""Who imports it. Whoever wants an agenda, a verdict or a nudge asks these."""


@cache
def importers() -> dict[tuple[str, str], set[str]]:
    """Who imports what of work-sync: whoever does names it."""
    assert all("worksync" in module for module, _ in THE_ONE)
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in saying(re.compile("worksync"), MODULES):
        for taken in outline_of(path).taken:
            found[taken].add(str(path.relative_to(SOURCE)))
    return found


@proves(
    "R002-21-43",
    "R002-22-05",
    "R002-22-10",
    "R002-22-18",
    "R002-25-07",
    "R002-26-35",
    "R002-27.1-30",
    "R002-27.2-02",
    "R002-27.2-28",
    "R002-27.2-38",
    "R002-27.3-21",
    "R002-28-24",
)
@pytest.mark.parametrize(("module", "name"), THE_ONE)
def test_agenda_fingerprint_verdict_and_nudge_are_made_in_one_place(module, name):
    assert importers()[module, name] == THE_ONE[module, name]


WAYS_TO_ACT = {
    *(
        "atm.mail.services.sending",
        "atm.board.services.working",
        "atm.board.services.planning",
        "atm.board.services.reviews",
    ),
    *("atm.delivery.services.pushing", "atm.delivery.services.pane_delivery", "atm.worksync.services.nudges"),
}
PASSIVE = (
    "worksync/rules",
    "worksync/services/syncroom.py",
    "worksync/services/reconcile.py",
    "worksync/services/queue.py",
)


@proves("R002-22-04", "R002-22-05", "R002-22-18", "R002-27.1-33", "R002-27.1-40", "R002-27.1-53", "R002-28-13")
def test_whoever_looks_and_decides_knows_neither_mail_nor_a_way_to_change_the_board():
    looked_at = 0
    for path in MODULES:
        where = str(path.relative_to(SOURCE))
        if where.startswith(PASSIVE):
            looked_at += 1
            assert not {module for module, _ in outline_of(path).taken} & WAYS_TO_ACT, where
    assert looked_at > 10


# No switches.


@proves(
    "R002-20.3-27", "R002-22-01", "R002-22-14", "R002-22-15", "R002-22-16", "R002-22-17", "R002-22-20", "R002-22-24"
)
def test_nothing_turns_work_sync_on_or_off():
    """Three numbers, because teams differ in pace; no flag, and nothing from the environment."""
    numbers = {name: kind for name, (kind, *_) in known.KNOWN.items() if name.startswith("worksync.")}
    assert set(numbers) == {"worksync.quiet_seconds", "worksync.observe_minutes", "worksync.least_looks"}
    assert set(numbers.values()) <= {known.NUMBER, known.WHOLE}
    assert not [name for name in known.KNOWN if "nudge" in name or "work_sync" in name]
    assert not [key for key in config.FROM_ENVIRONMENT if "SYNC" in key or "NUDGE" in key]


@proves("R002-20.3-27", "R002-22-01", "R002-22-14", "R002-22-15", "R002-22-16", "R002-22-24", "R002-27.1-41")
def test_no_environment_variable_is_about_work_sync():
    for path in saying(re.compile("WORK_?SYNC|NUDGE"), MODULES):
        strings = [one.value for one in nodes_in(parsed(path)) if isinstance(one, ast.Constant)]
        loud = {text for text in strings if isinstance(text, str) and text.isupper() and "_" in text}
        assert not {text for text in loud if "WORK_SYNC" in text or "WORKSYNC" in text or "NUDGE" in text}, path


# Triggers.


@proves("R002-20.1-05")
def test_mail_on_its_way_moves_no_fingerprint():
    """A retry of a delivery, a message in the spool, one that was shown: nothing of it is work."""
    place = Place()
    place.add("the parser")
    before = place.fingerprint()
    place.room.inboxes.refuse = WriteRefused("the disk is full")
    assert send(place.room, "crew", "ann", Draft(sender="bob", text="hello")).outcome == "queued"
    assert place.fingerprint() == before
    place.room.inboxes.refuse = None
    assert drain(place.room, everything=True)
    place.room.surfacings.notes["crew", "ann"] = ShowingNote(keys=[], channel="hook", at=place.now)
    assert place.seen().busy.reason == "runtime_delivery_pending"
    assert place.fingerprint() == before


@proves("R002-11.2.1-08", "R002-20.3-21", "R002-21-57", "R002-21-58", "R002-21-61", "R002-21-67", "R002-27.1-43")
def test_the_end_of_a_tool_call_is_a_reason_to_look_after_the_quiet_window():
    stage = Stage()
    stage.live(200)
    before = stage.looked_at("cleo")
    beat(stage.room.presence, "crew", "cleo", stage.now, "claude hook PostToolUse", state="working")
    stage.work.hear_beat("crew", "cleo")
    stage.live(QUIET - 1)
    assert stage.looked_at("cleo") == before
    stage.live(5)
    assert stage.looked_at("cleo") == before + 1
    assert stage.status("cleo").trigger == "tool_finished"


@proves("R002-21-57")
@pytest.mark.parametrize(
    ("source", "state", "trigger"),
    [
        ("claude hook Stop", "idle", "turn_settled"),
        ("codex hook notify", "idle", "turn_settled"),
        ("opencode hook session.idle", "idle", "turn_settled"),
        ("gemini hook AfterTool", "working", "tool_finished"),
        ("cli tasks", "", "runtime_heartbeat"),
    ],
)
def test_a_sign_of_life_is_named_by_what_it_tells(source, state, trigger):
    stage = Stage()
    stage.live(200)
    beat(stage.room.presence, "crew", "cleo", stage.now, source, state=state)
    stage.work.hear_beat("crew", "cleo")
    stage.live(QUIET + 5)
    assert stage.status("cleo").trigger == trigger


@proves("R002-27.1-44")
def test_two_teams_are_looked_at_at_a_time_however_many_there_are(monkeypatch):
    stage = Stage()
    for number in range(5):
        stage.create(f"team-{number}")
    running, most, second, third = 0, 0, threading.Event(), threading.Event()
    guard, work = threading.Lock(), rounds.run_round

    def noted(syncroom, team, members):
        nonlocal running, most
        with guard:
            running += 1
            most = max(most, running)
            if running > 1:
                second.set()
            if running > 2:
                third.set()
        assert second.wait(60)  # the first waits for a second
        third.wait(0.05)  # time for a third one to come, if it may
        with guard:
            found = work(syncroom, team, members)
            running -= 1
        return found

    monkeypatch.setattr(sync_work, "run_round", noted)
    stage.live(200)
    assert most == 2
    assert stage.looked_at("ann") == 1


# The page, and the checks that the seed asks for.


@proves("R002-21-02", "R002-26-19")
def test_the_page_about_work_sync_names_every_reason_and_every_threshold():
    page = (ROOT / "docs" / "worksync.md").read_text()
    states = ("collecting_shadow_data", "blocked", "shadow_ready")
    figures = ("too_few_members", "too_few_evaluations", "observed_too_briefly")
    noise = ("would_nudge_rate_high", "fingerprint_churn_high", "stale_report_rate_high")
    for word in (*reports.REASONS, *states, *figures, *noise):
        assert f"`{word}`" in page, word


OF_WORK_SYNC = [
    *("src/atm/worksync/rules", "src/atm/worksync/formats", "src/atm/worksync/services", "src/atm/ui/cli/worksync"),
    *("src/atm/teamd/parts/worksync.py", "src/atm/ui/mcp/worksync.py"),
]


@proves("R002-16.7-22", "R002-20.6-04", "R002-27.1-49", "R002-27.2-46", "R002-27.3-17")
def test_the_types_of_work_sync_are_right():
    """With what `make types` found out before, if it did: what has not changed since need not be looked at again."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *OF_WORK_SYNC],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@proves("R002-20.6-05", "R002-27.1-49", "R002-27.2-46", "R002-27.3-17")
def test_no_line_of_work_sync_ends_in_blanks():
    folders = [ROOT / name for name in (*OF_WORK_SYNC, "tests/worksync/rules", "tests/worksync/services")]
    files = [path for one in folders for path in ([one] if one.is_file() else sorted(one.rglob("*.py")))]
    assert len(files) > 20
    for path in files:
        text = path.read_text()
        assert not [line for line in text.split("\n") if line != line.rstrip() or "\t" in line], path
        assert text == text.rstrip("\n") + "\n", path
