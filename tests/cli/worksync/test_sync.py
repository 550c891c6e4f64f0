"""`atm sync`: status, agenda, report, nudge, metrics, diagnose, watch; on real files, without a daemon."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.proving import proves

from atm import config
from atm.files.formats.layout import Layout
from atm.wiring.board import build_boardroom
from atm.wiring.mail import build_room
from atm.wiring.worksync import build_syncroom
from atm.worksync.services.reports import replay
from atm.worksync.services.syncroom import SyncRoom

FOLDER = ".claude/teams/crew/.member-work-sync"


@pytest.fixture
def sync(room, quickly, atm, configure) -> Callable[..., Any]:
    """
    `atm sync …` in this process, for the team `crew` of ann and bob; its exit code is checked (None: any). Nobody is
    busy with the mail that a new task brings.
    """
    configure(worksync={"quiet_seconds": 0})
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"

    def run(*words: str, code: int | None = 0, me: str = "", team: str = "crew") -> Any:
        for key, value in (("ATM_IDENTITY", me), ("ATM_TEAM", team if me else "")):
            atm.environment.pop(key, None)
            if value:
                atm.environment[key] = value
        done = quickly("sync", *words)
        for key in ("ATM_IDENTITY", "ATM_TEAM"):
            atm.environment.pop(key, None)
        assert "unexpected" not in done.err, done.err
        assert "Traceback" not in done.err
        assert code in (None, done.code), done
        return done

    return run


@pytest.fixture
def work(tasks) -> Callable[..., None]:
    """A task for somebody, who says nothing about it."""

    def give(owner: str = "ann", subject: str = "the parser", *more: str) -> None:
        tasks("add", subject, "--owner", owner, "--as", "human", *more)

    return give


@pytest.fixture
def syncroom(layout: Layout, atm) -> SyncRoom:
    """What the daemon would use."""
    settings = config.load(layout, {}, str(atm.folder), {})
    return build_syncroom(layout, settings, build_boardroom(layout, settings, build_room(layout, settings)))


def agenda(sync: Callable[..., Any], name: str = "ann") -> dict[str, Any]:
    found: dict[str, Any] = sync("agenda", "--json", me=name).json
    return found


def report(sync: Callable[..., Any], name: str = "ann", state: str = "still_working", **more: Any) -> Any:
    words = ["report", state, "--fingerprint", agenda(sync, name)["agendaFingerprint"], "--json"]
    return sync(*words, *more.pop("words", ()), **{"me": name, **more})


# Looking.


@proves("R002-1-22", "R002-25-01", "R002-27.1-47", "R002-27.3-01", "R002-27.3-02")
def test_the_status_of_everybody_in_words_and_as_json(sync, work):
    work("ann")
    said = sync("status").out
    assert "ann" in said
    assert "Needs sync" in said
    assert "Synced" in said
    found = {one["member"]: one["label"] for one in sync("status", "--json").json["members"]}
    assert found == {"ann": "Needs sync", "bob": "Synced"}
    assert sync().out == said
    assert [one["member"] for one in sync("status", "BOB", "--json").json["members"]] == ["bob"]


def test_a_member_that_is_not_there_is_an_error_that_names_those_who_are(sync):
    done = sync("status", "mallory", code=1)
    assert "no member 'mallory'" in done.err
    assert "ann, bob" in done.err


@pytest.mark.parametrize("words", [["status"], ["agenda", "ann"], ["metrics"], ["diagnose", "ann"]])
def test_a_team_that_is_not_there_is_an_error(sync, words):
    assert "no team" in sync(*words, "--team", "nobody", code=1).err


@proves("R002-1-22", "R002-1-40", "R002-1-41", "R002-16.6-16")
def test_looking_changes_no_file_but_the_secret(sync, work, atm, contents):
    work("ann")
    work("bob")

    def files() -> dict[str, bytes]:
        """Without locks, and without the index of the board: every look at a board may bring that up to date."""
        found = contents(atm.home)
        return {name: data for name, data in found.items() if not name.startswith(".local/state/atm/")}

    before = files()
    for words in (["status"], ["status", "ann", "--json"], ["metrics"], ["diagnose", "ann"], ["agenda", "ann"]):
        sync(*words)
        assert files() == before, words
    sync("agenda", me="ann")
    assert [Path(name).name for name, data in files().items() if before.get(name) != data] == [
        "report-token-secret.json"
    ]


def test_the_secret_is_for_nobody_else(sync, work, atm):
    work("ann")
    sync("agenda", me="ann")
    (secret,) = atm.home.rglob("report-token-secret.json")
    assert secret.stat().st_mode & 0o777 == 0o600


@proves("R002-26-03")
def test_ones_own_agenda_has_what_a_report_needs(sync, work):
    work("ann")
    found = agenda(sync)
    assert found["agendaFingerprint"].startswith("agenda:v1:")
    assert found["reportToken"].startswith("wrs:v1.")
    said = sync("agenda", me="ann").out
    assert found["agendaFingerprint"] in said
    assert "the parser" in said
    assert "wrs:v1." not in said, "three hundred characters are shown to whoever asks for them"
    assert "wrs:v1." in sync("agenda", "--token", me="ann").out


@proves("R002-13.1-21")
def test_the_agenda_of_another_is_for_the_lead_and_people_and_without_a_token(sync, work):
    work("ann", "the secret parser")
    refused = sync("agenda", "ann", me="bob", code=1)
    assert "not for bob" in refused.err
    assert "secret" not in refused.out + refused.err
    for boss in ("team-lead", "human"):
        found = sync("agenda", "ann", "--as", boss, "--json").json
        assert "reportToken" not in found
        assert found["actionableCount"] == 1


@proves("R002-7-31", "R002-18-01", "R002-27.3-14")
def test_the_diagnosis_of_another_is_for_the_lead_and_people(sync, work):
    work("ann")
    assert "not for bob" in sync("diagnose", "ann", me="bob", code=1).err
    assert "Needs sync" in sync("diagnose", "ann", me="ann").out
    found = sync("diagnose", "ann", "--as", "human", "--json").json
    assert {"running", "stored", "journal", "problems", "readiness"} <= set(found)


@proves("R002-13.1-21", "R002-23-34", "R002-27.3-06", "R002-27.3-20")
@pytest.mark.parametrize(
    "words", [["status", "ann", "--json"], ["status", "--json"], ["watch", "--for", "0.2", "--json"]]
)
def test_the_status_of_another_does_not_show_its_agenda(sync, work, words):
    work("ann", "the secret parser")
    assert "the secret parser" not in sync(*words, me="bob").out


@proves("R002-8.0-62")
def test_an_agent_cannot_get_the_token_of_another_by_a_flag(sync, work):
    work("ann", "the secret parser")
    done = sync("agenda", "--as", "ann", "--json", me="bob", code=None)
    assert "wrs:v1." not in done.out


def test_metrics_say_that_it_is_too_early(sync, work):
    work("ann")
    found = sync("metrics", "--json").json
    assert found["phase2Readiness"]["state"] == "collecting_shadow_data"
    assert sync("metrics").out.startswith("No nudges yet: atm first observes the team.")


def test_a_stopped_team_is_unknown_and_says_so(sync, work, quickly):
    work("ann")
    assert quickly("teams", "state", "crew", "stopped", "--by", "human").code == 0
    said = sync("status").out
    assert "Unknown" in said
    assert "stopped" in said
    assert "reportToken" not in agenda(sync)


def test_hostile_subjects_reach_no_terminal(sync, work):
    work("ann", "\x1b]0;pwned\x07 \x9b31m \u202e reversed")
    for words in (["agenda", "ann"], ["diagnose", "ann"], ["status"]):
        out = sync(*words, "--as", "human").out if words[0] != "status" else sync(*words).out
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(out)


def test_watching_tells_each_state_once_and_ends(sync, work):
    work("ann")
    said = sync("watch", "--for", "0.5").out.splitlines()
    assert sorted(line.split(":")[0] for line in said) == ["ann", "bob"]
    lines = [json.loads(line) for line in sync("watch", "--for", "0.3", "--json").out.splitlines()]
    assert {one["member"]: one["label"] for one in lines} == {"ann": "Needs sync", "bob": "Synced"}


def test_watching_shows_a_change_when_it_happens(atm, room, tasks, configure, eventually):
    configure(worksync={"quiet_seconds": 0})
    watching = atm.start("sync", "watch", "--for", "300", "--json", env={"PYTHONUNBUFFERED": "1"})
    os.set_blocking(watching.stdout.fileno(), False)
    seen = bytearray()

    def has(text: bytes) -> bool:
        seen.extend(watching.stdout.read() or b"")
        return text in seen

    eventually(lambda: seen.count(b'"member"') >= 2 or has(b"nothing yet"))
    tasks("add", "the parser", "--owner", "ann", "--as", "human")
    eventually(lambda: has(b"Needs sync"))
    watching.kill()


# Reporting.


def test_without_a_daemon_a_report_is_noted_and_validated_later(sync, work, syncroom):
    work("ann")
    done = report(sync)
    assert done.json["pendingValidation"] is True
    assert "leaseExpiresAt" not in done.json
    assert {one["label"] for one in sync("status", "ann", "--json").json["members"]} == {"Needs sync"}
    assert replay(syncroom, "crew") == 1
    assert {one["label"] for one in sync("status", "ann", "--json").json["members"]} == {"Working"}
    assert replay(syncroom, "crew") == 0


@proves("R002-17.1-03")
def test_trying_again_and_again_is_one_intent(sync, work, atm):
    work("ann")
    for _ in range(3):
        report(sync)
    kept = json.loads((atm.home / FOLDER / "report-intents.json").read_bytes())
    assert len(kept["data"]["intents"]) == 1


def test_a_token_does_where_no_launcher_vouches(sync, work, syncroom):
    work("ann")
    mine = agenda(sync)
    words = ["report", "still_working", "--fingerprint", mine["agendaFingerprint"], "--as", "ann", "--json"]
    assert sync(*words, code=1).json["reason"] == "identity_untrusted"
    told = sync(*words[:-1], code=1).out
    assert "Set ATM_TEAM=crew and ATM_IDENTITY=ann" in told
    assert "`atm sync agenda --as ann --token`" in told
    assert sync(*words, "--token", mine["reportToken"]).json["pendingValidation"] is True
    assert replay(syncroom, "crew") == 1


@proves("R002-8.0-29", "R002-8.0-90")
def test_a_report_for_another_is_refused_reveals_nothing_and_leaves_nothing(sync, work, atm, contents):
    work("ann", "the secret parser")
    mine = agenda(sync)
    before = contents(atm.home / ".claude")
    words = ["report", "still_working", "--fingerprint", mine["agendaFingerprint"], "--as", "ann"]
    for more in ([], ["--token", mine["reportToken"]]):
        done = sync(*words, *more, "--json", me="bob", code=1)
        assert done.json["reason"] == "identity_mismatch"
        assert "secret" not in done.out
    assert sync(*words, me="bob", code=1).out.startswith("Not accepted: ATM_IDENTITY says that you are not ann.")
    assert contents(atm.home / ".claude") == before


def test_a_report_from_another_team_is_refused(sync, work):
    work("ann")
    words = ["report", "still_working", "--fingerprint", agenda(sync)["agendaFingerprint"], "--team", "crew", "--json"]
    assert sync(*words, me="ann", team="other", code=1).json["reason"] == "team_mismatch"


@proves("R002-8.0-28")
@pytest.mark.parametrize("name", ["user", "system"])
def test_nobody_reports_as_the_user_or_the_system(sync, work, name):
    work("ann")
    sync("report", "still_working", "--fingerprint", "agenda:v1:x", "--as", name, code=1)


@proves("R002-8.0-47", "R002-8.0-86", "R002-10.1-38")
def test_a_stopped_team_takes_no_report(sync, work, quickly, atm):
    work("ann")
    mine = agenda(sync)
    quickly("teams", "state", "crew", "stopped", "--by", "human")
    words = ["report", "still_working", "--fingerprint", mine["agendaFingerprint"], "--json"]
    assert sync(*words, me="ann", code=1).json["reason"] == "team_inactive"
    assert not (atm.home / FOLDER / "report-intents.json").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["report"],
        ["report", "dancing", "--fingerprint", "x"],
        ["report", "still_working"],
        ["report", "still_working", "--fingerprint", ""],
        ["nudge"],
        ["diagnose"],
        ["watch", "--for", "soon"],
        ["no-such-verb"],
    ],
)
def test_words_that_make_no_sense_are_refused_with_a_remedy(sync, words):
    done = sync(*words, me="ann", code=None)
    assert done.code != 0
    assert done.err


@pytest.mark.parametrize(
    "more",
    [["--note", "x" * 1001], ["--task", "x"], ["--task", "1", "--task", "#1"], ["--blocker-comment", "x" * 200]],
)
def test_a_report_that_is_too_large_or_wrong_is_refused_and_leaves_nothing(sync, work, atm, more):
    work("ann")
    done = report(sync, words=more, code=1)
    assert done.json["reason"] == "invalid_payload"
    assert not (atm.home / FOLDER / "report-intents.json").exists()


@proves("R002-1-78", "R002-5-02", "R002-16.7-39", "R002-16.7-40", "R002-16.7-41")
def test_a_report_touches_no_task_no_message_and_no_heartbeat(sync, work, atm, contents, syncroom):
    work("ann")
    mine = agenda(sync)

    def others() -> dict[str, bytes]:
        ours = (".member-work-sync", "/atm/locks/", "/atm/boards/")
        return {name: data for name, data in contents(atm.home).items() if not any(part in name for part in ours)}

    before = others()
    sync("report", "still_working", "--fingerprint", mine["agendaFingerprint"], "--note", "tell all", me="ann")
    replay(syncroom, "crew")
    assert others() == before


# Nudging.


@pytest.fixture
def open_gate(configure) -> None:
    configure(worksync={"observe_minutes": 0, "least_looks": 1, "quiet_seconds": 0})


def test_only_the_lead_and_people_have_others_nudged(sync, work, atm):
    work("ann")
    assert "cannot have others nudged" in sync("nudge", "ann", me="bob", code=1).err
    assert not (atm.home / FOLDER / "outbox.json").exists()


def test_a_nudge_that_is_not_due_is_not_sent_and_says_why(sync, work, atm):
    work("ann")
    done = sync("nudge", "ann", "--as", "human", "--json", code=3)
    assert done.json["nudged"] is False
    assert done.json["code"] == "phase2_not_ready"
    assert done.json["why"].startswith("No nudge: ann is left alone, because the team is still being observed")
    assert "Nothing waits" in sync("nudge", "bob", "--as", "human", code=3).out
    assert all(row.get("messageKind") is None for row in atm.rows("ann"))


@proves("R002-1-51", "R002-6-03", "R002-15.3-01", "R002-21-59")
def test_a_nudge_is_sent_once_whatever_the_boss_says(sync, work, atm, open_gate):
    work("ann")
    assert sync("nudge", "ann", "--as", "human", "--json").json["nudged"] is True
    for _ in range(3):
        assert sync("nudge", "ann", "--as", "team-lead", code=3).out.startswith("No nudge")
    nudges = [row for row in atm.rows("ann") if row.get("messageKind") == "member_work_sync_nudge"]
    assert len(nudges) == 1
    assert nudges[0]["from"] == "system"


@proves("R002-8.0-76", "R002-21-70")
def test_every_guard_holds_for_a_boss_too(sync, work, atm, syncroom, open_gate, quickly):
    work("ann")
    report(sync)
    replay(syncroom, "crew")
    assert "No nudge" in sync("nudge", "ann", "--as", "human", code=3).out
    work("bob", "waits", "--depends-on", "1")
    assert "nothing to do but wait for others" in sync("nudge", "bob", "--as", "human", code=3).out
    quickly("teams", "state", "crew", "stopped", "--by", "human")
    assert "does not run" in sync("nudge", "ann", "--as", "human", code=3).out
    assert [row for row in atm.rows("ann") + atm.rows("bob") if row.get("messageKind")] == []


MACHINERY = ("lease", "shadow", "phase", "kept", "fingerprint_", "needs_sync", "suppressed", "payload", "churn")


def test_no_word_of_the_machinery_is_in_what_people_read(sync, work, syncroom, atm, open_gate):
    """Codes are in --json."""
    work("ann")
    said = [sync(*words, me="ann").out for words in (["status"], ["agenda"], ["metrics"], ["diagnose", "ann"])]
    for _ in range(3):
        said.append(sync("nudge", "ann", "--as", "human", code=None).out)
    said += [sync(*words).out for words in (["status"], ["metrics"], ["diagnose", "ann", "--as", "human"])]
    report(sync)
    replay(syncroom, "crew")
    said += [sync("status").out, sync("nudge", "ann", "--as", "human", code=3).out, sync("watch", "--for", "0.2").out]
    mine = agenda(sync)
    words = ["report", "caught_up", "--fingerprint", mine["agendaFingerprint"]]
    said += [sync(*words, me="ann", code=None).out, sync(*words, "--as", "bob", me="ann", code=1).out]
    found = [(word, text) for text in said for word in MACHINERY if word in text.casefold()]
    assert found == []
    tables = [sync(*words, me="ann").out for words in (["status"], ["agenda"], ["metrics"], ["diagnose", "ann"])]
    assert [line for text in tables for line in text.splitlines() if len(line) > 80 and "agenda:v1:" not in line] == []


def test_whoever_was_nudged_and_has_not_reported_is_told_with_times(sync, work, open_gate):
    work("ann")
    sync("nudge", "ann", "--as", "human")
    assert re.search(
        r"ann was nudged a moment ago and has not reported; atm waits until \d\d:\d\d\.", sync("status").out
    )
    again = sync("nudge", "ann", "--as", "human", "--json", code=3).json
    assert (again["code"], again["nudged"]) == ("nudged_already", False)
    assert again["why"].startswith("No nudge. ann was nudged a moment ago and has not reported; atm waits until")
    assert sync("nudge", "ann", "--again", "--as", "human", "--json", code=3).json["code"] == "nudged_already"


# Trouble with the files.

GARBAGE = [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"schemaVersion": 99}', b'{"data": {"members": 7}}']


@proves("R002-8.0-56", "R002-17.4-01", "R002-26-15")
@pytest.mark.parametrize("garbage", GARBAGE)
def test_damaged_files_stop_nobody(sync, work, atm, syncroom, open_gate, garbage):
    work("ann")
    folder = atm.home / FOLDER
    folder.mkdir(exist_ok=True)
    for name in ("status", "report-intents", "outbox"):
        (folder / f"{name}.json").write_bytes(garbage)
    (atm.home / ".claude/teams/crew/stall-monitor-journal.json").write_bytes(garbage)
    assert {one["label"] for one in sync("status", "ann", "--json").json["members"]} == {"Needs sync"}
    for words in (["metrics"], ["diagnose", "ann", "--as", "human"], ["agenda", "ann", "--as", "human"]):
        sync(*words)
    assert report(sync).json["pendingValidation"] is True
    assert replay(syncroom, "crew") == 1
    assert {one["label"] for one in sync("status", "ann", "--json").json["members"]} == {"Working"}


def test_a_damaged_secret_is_made_anew_and_old_tokens_end(sync, work, atm):
    work("ann")
    old = agenda(sync)
    (secret,) = atm.home.rglob("report-token-secret.json")
    secret.write_bytes(b"{")
    words = ["report", "still_working", "--fingerprint", old["agendaFingerprint"], "--as", "ann", "--json", "--token"]
    assert sync(*words, old["reportToken"], code=1).json["reason"] == "invalid_report_token"
    assert sync(*words, agenda(sync)["reportToken"]).json["pendingValidation"] is True


def test_a_task_file_that_cannot_be_read_is_told_to_the_lead_and_stops_nobody(sync, work, atm, quickly):
    work("ann")
    work("ann", "the printer")
    (atm.home / ".claude/tasks/crew/2.json").write_bytes(b"{")
    assert agenda(sync)["actionableCount"] == 1


def test_a_folder_that_cannot_be_written_is_an_error_and_no_traceback(sync, work, atm):
    work("ann")
    mine = agenda(sync)
    folder = atm.home / FOLDER
    for path in folder.glob("*") if folder.exists() else []:
        path.unlink()
    if folder.exists():
        folder.rmdir()
    folder.write_text("in the way")
    done = sync("report", "still_working", "--fingerprint", mine["agendaFingerprint"], me="ann", code=1)
    assert "not a folder" in done.err
    assert folder.read_text() == "in the way"
    assert "Needs sync" in sync("status").out


def test_a_link_out_of_the_team_is_not_followed(sync, work, atm, tmp_path, open_gate):
    work("ann")
    folder, elsewhere = atm.home / FOLDER, tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder.symlink_to(elsewhere)
    found = sync("status", "ann", "--json").json["members"][0]
    sync("agenda", me="ann", code=None)
    sync("report", "still_working", "--fingerprint", found["agendaFingerprint"], me="ann", code=1)
    sync("nudge", "ann", "--as", "human", code=None)
    assert list(elsewhere.iterdir()) == []


def test_a_team_deleted_and_made_anew_inherits_nothing(sync, work, atm, quickly, syncroom, open_gate):
    work("ann")
    old = agenda(sync)
    report(sync)
    replay(syncroom, "crew")
    assert quickly("teams", "delete", "crew", "--yes", "--force").code == 0
    assert quickly("teams", "create", "crew").code == 0
    assert quickly("teams", "add-member", "crew", "ann").code == 0
    work("ann")
    assert {one["label"] for one in sync("status", "ann", "--json").json["members"]} == {"Needs sync"}
    words = ["report", "still_working", "--fingerprint", old["agendaFingerprint"], "--as", "ann", "--json", "--token"]
    assert sync(*words, old["reportToken"], code=1).json["reason"] == "invalid_report_token"
    assert sync("nudge", "ann", "--as", "human", "--json").json["nudged"] is True


@proves("R002-16.7-17", "R002-27.0-18")
def test_a_session_of_claude_code_is_unknown_and_nothing_is_written_into_its_folder(sync, atm, contents):
    folder = atm.home / ".claude/teams/session-1a2b3c4d"
    folder.mkdir(parents=True)
    member = {"name": "ann", "agentId": "ann@session-1a2b3c4d"}
    (folder / "config.json").write_text(json.dumps({"name": "session-1a2b3c4d", "members": [member]}))
    before = contents(folder)
    found = sync("status", "--team", "session-1a2b3c4d", "--json").json["members"]
    assert [one["label"] for one in found] == ["Unknown"]
    sync("agenda", "--team", "session-1a2b3c4d", me="ann", team="session-1a2b3c4d")
    sync("nudge", "ann", "--team", "session-1a2b3c4d", "--as", "human", code=3)
    words = ["report", "caught_up", "--fingerprint", "agenda:v1:x", "--team", "session-1a2b3c4d", "--json"]
    assert sync(*words, me="ann", team="session-1a2b3c4d", code=1).json["reason"] == "team_inactive"
    assert contents(folder) == before
